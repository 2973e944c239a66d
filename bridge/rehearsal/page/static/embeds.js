// Attachments and embeds of a message.

import { h } from "./dom.js";
import { inline, markdown } from "./markdown.js";

const SVG = "http://www.w3.org/2000/svg";

/** A file of this server by its path, so that it loads under either name of the host. */
function local(url) {
  const found = /^https?:\/\/[^/]+(\/cdn\/.*)$/.exec(url);
  return found ? found[1] : url;
}

export function image(url, description) {
  return h("img", { src: local(url), alt: description ?? "", loading: "lazy" });
}

export function attachments(files) {
  if (!files.length) return null;
  return h("div", { class: "attachments" }, files.map((file) => {
    if ((file.content_type ?? "").startsWith("image/")) {
      return h("a", { href: local(file.url), download: file.filename, title: file.filename }, image(file.url, file.description ?? file.filename));
    }
    return fileCard(file.filename, file.size, file.url);
  }));
}

export function fileCard(name, size, url) {
  return h("a", { class: "file", href: local(url), download: name },
    h("span", { "aria-hidden": "true" }, "▤"), h("b", {}, name), h("small", {}, bytes(size)));
}

function bytes(size) {
  if (size === null || size === undefined) return "";
  if (size < 1024) return `${size} B`;
  return size < 1024 ** 2 ? `${(size / 1024).toFixed(1)} KB` : `${(size / 1024 ** 2).toFixed(1)} MB`;
}

export function embeds(found, store) {
  return found.map((embed) => h("article", { class: "embed" },
    bar(embed.color),
    embed.author?.name && h("div", { class: "embed-author" }, embed.author.name),
    embed.title && h("h3", {}, embed.url ? h("a", { href: embed.url, target: "_blank", rel: "noopener noreferrer" }, embed.title) : inline(embed.title, store)),
    embed.description && h("div", { class: "content" }, markdown(embed.description, store)),
    embed.fields?.length && h("dl", {}, embed.fields.map((field) => h("div", { class: field.inline ? "inline" : null },
      h("dt", {}, inline(field.name, store)), h("dd", {}, markdown(field.value, store))))),
    embed.image?.url && image(embed.image.url),
    embed.thumbnail?.url && image(embed.thumbnail.url),
    (embed.footer?.text || embed.timestamp) && h("small", { class: "embed-footer" },
      [embed.footer?.text, embed.timestamp && new Date(embed.timestamp).toLocaleString()].filter(Boolean).join(" · "))));
}

/** The stripe of colour; drawn, because a style attribute is not allowed here. */
export function bar(colour) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "bar");
  const rect = document.createElementNS(SVG, "rect");
  for (const [name, value] of [["width", "100%"], ["height", "100%"]]) rect.setAttribute(name, value);
  rect.setAttribute("fill", colour ? `#${colour.toString(16).padStart(6, "0")}` : "#4e5058");
  svg.append(rect);
  return svg;
}
