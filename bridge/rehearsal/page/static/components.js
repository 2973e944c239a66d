// Buttons, select menus and the newer layout components of a message.

import { h } from "./dom.js";
import { bar, fileCard, image } from "./embeds.js";
import { markdown } from "./markdown.js";
import { nameOf } from "./store.js";

const STYLES = { 1: "primary", 2: "secondary", 3: "success", 4: "danger", 5: "link" };

export function components(message, store) {
  if (!message.components.length) return null;
  return h("div", { class: "components" }, message.components.map((part) => show(part, message, store)));
}

function show(part, message, store) {
  const inner = () => part.components.map((child) => show(child, message, store));
  switch (part.type) {
    case 1: return h("div", { class: "action-row" }, inner());
    case 2: return button(part);
    case 3: case 5: case 6: case 7: case 8: return select(part, message, store);
    case 9: return h("div", { class: "section" }, h("div", {}, inner()), show(part.accessory, message, store));
    case 10: return h("div", { class: "content" }, markdown(part.content, store));
    case 11: return h("div", { class: "thumbnail" }, image(part.media.url, part.description));
    case 12: return h("div", { class: "gallery" }, part.items.map((item) => image(item.media.url, item.description)));
    case 13: return fileCard(part.name, part.size, part.file.url);
    case 14: return part.divider === false ? h("div", { class: "gap" }) : h("hr");
    case 17: return h("div", { class: "container" }, bar(part.accent_color), inner());
    default: return h("small", {}, `(component of type ${part.type})`);
  }
}

function button(part) {
  const label = [part.emoji?.name, part.label].filter(Boolean).join(" ");
  if (part.style === 5) {
    return h("a", { class: "button link", href: part.url, target: "_blank", rel: "noopener noreferrer" }, label, " ↗");
  }
  return h("button", {
    type: "button", class: `button ${STYLES[part.style]}`, disabled: part.disabled,
    "data-act": "press", "data-custom-id": part.custom_id,
  }, label);
}

function select(part, message, store) {
  const choices = part.type === 3 ? part.options : picks(part.type, store);
  const many = part.max_values > 1;
  const labelled = (option) => [option.emoji?.name, option.label].filter(Boolean).join(" ");
  if (!many) {
    return h("select", {
      class: "select", disabled: part.disabled, "data-act": "select", "data-custom-id": part.custom_id,
      "aria-label": part.placeholder ?? "Make a selection",
    },
    h("option", { value: "", selected: !choices.some((option) => option.default) }, part.placeholder ?? "Make a selection"),
    choices.map((option) => h("option", { value: option.value, selected: option.default },
      option.description ? `${labelled(option)} — ${option.description}` : labelled(option))));
  }
  return h("details", { class: "select many" },
    h("summary", {}, part.placeholder ?? "Make a selection"),
    choices.map((option) => h("label", {},
      h("input", { type: "checkbox", value: option.value, checked: option.default }),
      h("span", {}, labelled(option), option.description && h("small", {}, option.description)))),
    h("button", {
      type: "button", class: "button primary", disabled: part.disabled, "data-act": "select-many",
      "data-custom-id": part.custom_id,
    }, "Done"));
}

/** What a menu of users (5), roles (6), both (7) or channels (8) offers. */
function picks(kind, store) {
  const users = [...store.users.values()].map((user) => ({ value: user.id, label: `@${nameOf(user)}` }));
  const roles = [...store.roles.values()].map((role) => ({ value: role.id, label: `@${role.name}` }));
  const channels = [...store.channels.values()].map((channel) => ({ value: channel.id, label: `#${channel.name}` }));
  return { 5: users, 6: roles, 7: [...users, ...roles], 8: channels }[kind];
}
