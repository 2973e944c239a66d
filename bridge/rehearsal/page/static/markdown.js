// Discord's Markdown as DOM nodes. Everything that people or bots wrote ends up in text nodes.

import { h } from "./dom.js";
import { highlight } from "./highlight.js";
import { nameOf } from "./store.js";

const FENCE = /^```(?:([\w+\-.#]+)\n)?\n*([^\n][\s\S]*?)\n*```(?:[ \t]*\n)?/;
const HEADING = /^(#{1,3}) +([^\n]+)(?:\n|$)/;
const SUBTEXT = /^-# +([^\n]+)(?:\n|$)/;
const QUOTE_REST = /^>>> ?([\s\S]*)$/;
const QUOTE = /^(?:> [^\n]*(?:\n|$)|>(?:\n|$))+/;
const ITEM = /^( *)([-*]|\d+\.) +([^\n]*)(?:\n|$)/;

/** The nodes of a message's content; `store` resolves mentions. */
export function markdown(text, store) {
  return blocks(text, store, false);
}

function blocks(text, store, quoted) {
  const out = [];
  let rest = text;
  let pending = "";
  const flush = () => {
    const paragraph = pending.replace(/\n$/, "");
    if (paragraph) out.push(h("div", { class: "md-text" }, inline(paragraph, store)));
    pending = "";
  };
  const take = (match, node) => {
    flush();
    out.push(node);
    rest = rest.slice(match[0].length);
  };
  while (rest) {
    const lineStart = pending === "" || pending.endsWith("\n");
    let match;
    if ((match = FENCE.exec(rest))) {
      take(match, codeBlock(match[2], match[1] ?? ""));
    } else if (lineStart && (match = HEADING.exec(rest))) {
      take(match, h(`h${match[1].length + 1}`, {}, inline(match[2], store)));
    } else if (lineStart && (match = SUBTEXT.exec(rest))) {
      take(match, h("small", { class: "md-subtext" }, inline(match[1], store)));
    } else if (lineStart && !quoted && (match = QUOTE_REST.exec(rest))) {
      take(match, h("blockquote", {}, blocks(match[1], store, true)));
    } else if (lineStart && !quoted && (match = QUOTE.exec(rest))) {
      take(match, h("blockquote", {}, blocks(match[0].replace(/^> ?/gm, ""), store, true)));
    } else if (lineStart && ITEM.test(rest)) {
      const items = leadingItems(rest);
      take([items.source], list(items.entries, store));
    } else {
      const piece = /^(?:[^\n`]+|`+|\n)/.exec(rest)[0];
      pending += piece;
      rest = rest.slice(piece.length);
    }
  }
  flush();
  return out;
}

function codeBlock(code, language) {
  const copy = h("button", { class: "copy", type: "button", "data-act": "copy-code", title: "Copy" }, "❐");
  return h("pre", { "data-language": language || null }, h("code", {}, highlight(code, language)), copy);
}

/** The list at the beginning of a text: its source, and {indent, ordered, start, text} for each item. */
function leadingItems(text) {
  const entries = [];
  let source = "";
  let match;
  while ((match = ITEM.exec(text.slice(source.length)))) {
    source += match[0];
    const ordered = /\d/.test(match[2]);
    entries.push({ indent: match[1].length, ordered, start: parseInt(match[2], 10), text: match[3] });
  }
  return { source, entries };
}

function list(entries, store) {
  const { indent, ordered, start } = entries[0];
  const element = h(ordered ? "ol" : "ul", ordered && start !== 1 ? { start: String(start) } : {});
  let index = 0;
  while (index < entries.length) {
    const item = h("li", {}, inline(entries[index].text, store));
    let end = index + 1;
    while (end < entries.length && entries[end].indent > indent) end += 1;
    if (end > index + 1) item.append(list(entries.slice(index + 1, end), store));
    element.append(item);
    index = end;
  }
  return element;
}

// Inline rules, in the order in which they are tried at each place.
const RULES = [
  [/\\([^\w\s])/y, (m) => m[1]],
  [/(`+)([\s\S]*?[^`])\1(?!`)/y, (m) => h("code", {}, m[2].replace(/^ (?=`)|(?<=`) $/g, ""))],
  [/<t:(-?\d{1,13})(?::([tTdDfFsSR]))?>/y, (m) => timestamp(Number(m[1]), m[2] ?? "f")],
  [/<@!?(\d+)>/y, (m, store) => mention("@", store.users.get(m[1]), "unknown-user")],
  [/<@&(\d+)>/y, (m, store) => mention("@", store.roles.get(m[1]), "deleted-role")],
  [/<#(\d+)>/y, (m, store) => channelMention(m[1], store)],
  [/<\/([^:>]+):\d+>/y, (m) => h("span", { class: "mention" }, `/${m[1]}`)],
  [/<a?:(\w+):\d+>/y, (m) => `:${m[1]}:`],
  [/<(https?:\/\/[^\s<>]+)>/y, (m) => link(m[1], m[1])],
  [/\[((?:\\.|[^\[\]\\]|\[[^\]]*\])+)\]\(<?(https?:\/\/(?:[^\s()<>]|\([^\s()]*\))+)>?(?: "[^"]*")?\)/y,
    (m, store) => link(m[2], inline(m[1], store))],
  [/https?:\/\/[^\s<]+[^\s<.,:;"'\])*_~|]/y, (m) => link(m[0], m[0])],
  [/\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)/y, (m, store) => h("strong", {}, inline(m[1], store))],
  [/__((?:\\[\s\S]|[^\\])+?)__(?!_)/y, (m, store) => h("u", {}, inline(m[1], store))],
  [/\*(?=\S)((?:\\[\s\S]|\*\*|\s+(?:[^*\s]|\*\*)|[^\s*\\])+?)\*(?!\*)/y, (m, store) => h("em", {}, inline(m[1], store))],
  [/\b_((?:__|\\[\s\S]|[^\\_])+?)_\b/y, (m, store) => h("em", {}, inline(m[1], store))],
  [/~~([\s\S]+?)~~/y, (m, store) => h("s", {}, inline(m[1], store))],
  [/\|\|([\s\S]+?)\|\|/y, (m, store) => h("span", { class: "spoiler", "data-act": "reveal", role: "button" }, inline(m[1], store))],
  [/@(everyone|here)\b/y, (m) => h("span", { class: "mention" }, m[0])],
];

export function inline(text, store) {
  const out = [];
  let plain = "";
  let at = 0;
  while (at < text.length) {
    const found = firstRule(text, at);
    if (found) {
      if (plain) out.push(plain);
      plain = "";
      out.push(found.rule(found.match, store));
      at += found.match[0].length;
    } else {
      const run = /[^\\`<*_~|@[h]+|[\s\S]/y;
      run.lastIndex = at;
      const piece = run.exec(text)[0];
      plain += piece;
      at += piece.length;
    }
  }
  if (plain) out.push(plain);
  return out;
}

function firstRule(text, at) {
  for (const [pattern, rule] of RULES) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) return { match, rule };
  }
  return null;
}

function link(url, label) {
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, label);
}

function mention(sign, found, unknown) {
  const name = found ? (found.username ? nameOf(found) : found.name) : unknown;
  return h("span", { class: "mention" }, sign + name);
}

function channelMention(id, store) {
  const channel = store.channels.get(id);
  return h("button", { class: "mention", type: "button", "data-act": "open", "data-channel": id, disabled: !channel }, `#${channel?.name ?? "unknown"}`);
}

const FORMATS = {
  t: { timeStyle: "short" },
  T: { timeStyle: "medium" },
  d: { dateStyle: "short" },
  D: { dateStyle: "long" },
  f: { dateStyle: "long", timeStyle: "short" },
  F: { dateStyle: "full", timeStyle: "short" },
  s: { dateStyle: "short", timeStyle: "short" },
  S: { dateStyle: "short", timeStyle: "medium" },
};

function timestamp(seconds, style) {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return `<t:${seconds}>`;
  const full = date.toLocaleString(undefined, FORMATS.F);
  const shown = style === "R" ? relative(seconds) : date.toLocaleString(undefined, FORMATS[style]);
  return h("time", { title: full, datetime: date.toISOString() }, shown);
}

const UNITS = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]];

function relative(seconds) {
  const difference = seconds - Date.now() / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(difference) >= size) ?? UNITS.at(-1);
  return new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(Math.round(difference / size), unit);
}
