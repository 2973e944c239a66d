// A modal that the bot answered with: a form in a dialog.

import { fill, h, toast } from "./dom.js";
import { markdown } from "./markdown.js";

const dialog = document.getElementById("modal");

export function showModal(id, modal, store, interactions) {
  const form = h("form", { method: "dialog" },
    h("h2", {}, modal.title),
    modal.components.map((part) => field(part, store)),
    h("menu", {},
      h("button", { type: "button", class: "button link", onclick: () => dialog.close() }, "Cancel"),
      h("button", { type: "submit", class: "button primary" }, "Submit")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const interaction = await interactions.begin("submit", { interaction: id, values: values(form) });
      dialog.close();
      if (!(await interactions.outcome(interaction))) toast("This interaction failed");
    } catch (error) {
      toast(error.message);
    }
  });
  fill(dialog, form);
  if (!dialog.open) dialog.showModal();
}

function values(form) {
  const found = {};
  for (const input of form.querySelectorAll("[name]")) {
    if (input.tagName === "SELECT") found[input.name] = [...input.selectedOptions].map((option) => option.value);
    else if (input.type !== "checkbox" && input.type !== "radio") found[input.name] = input.value;
    else if (input.type === "radio") found[input.name] = input.checked ? input.value : (found[input.name] ?? "");
    else found[input.name] = [...(found[input.name] ?? []), ...(input.checked ? [input.value] : [])];
  }
  return found;
}

function field(part, store) {
  if (part.type === 10) return h("div", { class: "content" }, markdown(part.content, store));
  const input = part.component ?? part.components[0];
  return h("label", { class: "field" },
    h("b", {}, part.label ?? input.label, input.required === false ? null : h("span", { class: "required" }, " *")),
    part.description && h("small", {}, part.description),
    control(input, store));
}

function control(input, store) {
  const name = input.custom_id;
  const required = input.required !== false;
  switch (input.type) {
    case 4: return text(input, name, required);
    case 3: return menu(input, name, required, input.options);
    case 5: case 7: return menu(input, name, required, [...store.users.values()].map((user) => ({ value: user.id, label: user.username })));
    case 6: return menu(input, name, required, [...store.roles.values()].map((role) => ({ value: role.id, label: role.name })));
    case 8: return menu(input, name, required, [...store.channels.values()].map((channel) => ({ value: channel.id, label: `#${channel.name}` })));
    case 21: case 22: return h("span", { class: "options" }, input.options.map((option) => h("label", {},
      h("input", { type: input.type === 21 ? "radio" : "checkbox", name, value: option.value, checked: option.default }), option.label)));
    default: return h("small", {}, "(this page cannot show that field)");
  }
}

function text(input, name, required) {
  const limits = { name, required, placeholder: input.placeholder, minlength: input.min_length, maxlength: input.max_length ?? 4000 };
  const element = input.style === 2 ? h("textarea", { ...limits, rows: "5" }) : h("input", { type: "text", ...limits });
  element.value = input.value ?? "";
  return element;
}

function menu(input, name, required, options) {
  return h("select", { name, required, multiple: (input.max_values ?? 1) > 1 },
    (input.max_values ?? 1) === 1 && h("option", { value: "" }, input.placeholder ?? "Make a selection"),
    options.map((option) => h("option", { value: option.value, selected: option.default }, option.label)));
}
