// Slash commands: the list while one is typed, the fields of the chosen one, what is sent.

import { act } from "./connection.js";
import { fill, h } from "./dom.js";
import { nameOf } from "./store.js";

const SUB_COMMAND = 1, GROUP = 2, STRING = 3, INTEGER = 4, BOOLEAN = 5, USER = 6, CHANNEL = 7, ROLE = 8, MENTIONABLE = 9, NUMBER = 10;

/** Every command that can be run, subcommands by their full name: {name, description, options}. */
export function flat(commands) {
  return commands.flatMap((command) => leaves(command, command.name));
}

function leaves(command, name) {
  const options = command.options ?? [];
  const inner = options.filter((option) => option.type === SUB_COMMAND || option.type === GROUP);
  if (inner.length) return inner.flatMap((option) => leaves(option, `${name} ${option.name}`));
  return [{ name, description: command.description, options }];
}

/** The commands whose name begins with, or holds, what was typed. */
export function matching(commands, typed) {
  const wanted = typed.toLowerCase();
  const found = commands.filter((command) => command.name.includes(wanted));
  return found.sort((a, b) => Number(b.name.startsWith(wanted)) - Number(a.name.startsWith(wanted)));
}

/** A command written out with its options, `/new fork:True`: {command, options}, or null. */
export function parse(commands, text) {
  const command = commands
    .filter(({ name }) => text === `/${name}` || text.startsWith(`/${name} `))
    .sort((a, b) => b.name.length - a.name.length)[0];
  if (!command) return null;
  const rest = text.slice(command.name.length + 1).trim();
  const options = {};
  const known = command.options.map((option) => option.name).join("|");
  if (rest && !known) return null;
  const parts = rest ? rest.split(new RegExp(`(?:^|\\s+)(${known}):`)) : [""];
  if (parts[0].trim()) return null;
  for (let index = 1; index < parts.length; index += 2) {
    const option = command.options.find((candidate) => candidate.name === parts[index]);
    options[option.name] = typed(option, parts[index + 1].trim());
  }
  return { command, options };
}

/** A field's text as the value of its option. */
function typed(option, text) {
  if (option.type === BOOLEAN) return /^(true|yes|1|on)$/i.test(text);
  if (option.type === INTEGER || option.type === NUMBER) return Number(text);
  const choice = option.choices?.find(({ name, value }) => name === text || value === text);
  return choice ? choice.value : text.replace(/^<(?:@!?|@&|#)(\d+)>$/, "$1");
}

/** The fields of a chosen command. */
export class CommandForm {
  constructor(command, store, channel) {
    this.command = command;
    this.store = store;
    this.channel = channel;
    this.inputs = new Map();
    this.element = h("div", {},
      h("span", { class: "mention" }, `/${command.name}`),
      command.options.map((option) => this.#field(option)),
      h("button", { type: "submit", class: "button primary" }, "Run"),
      h("small", {}, command.description, " · Enter runs it, Esc cancels"));
  }

  focus() {
    const [first] = this.inputs.values();
    (first ?? document.getElementById("text")).focus();
  }

  /** The filled-in options, or an Error that names the missing one. */
  values() {
    const found = {};
    for (const option of this.command.options) {
      const text = this.inputs.get(option.name).value.trim();
      if (text) found[option.name] = typed(option, text);
      else if (option.required) throw new Error(`/${this.command.name} needs ${option.name}.`);
    }
    return found;
  }

  #field(option) {
    const input = this.#input(option);
    input.title = option.description;
    this.inputs.set(option.name, input);
    return h("label", { class: "option" }, h("b", {}, option.name, option.required && h("span", { class: "required" }, " *")), input);
  }

  #input(option) {
    const offered = choices(option, this.store);
    if (offered) {
      return h("select", { name: option.name, "aria-label": option.name },
        h("option", { value: "" }, option.required ? option.description : "—"),
        offered.map(({ name, value }) => h("option", { value }, name)));
    }
    const number = option.type === INTEGER || option.type === NUMBER;
    const input = h("input", {
      type: number ? "number" : "text", name: option.name, placeholder: option.description, "aria-label": option.name,
      step: option.type === NUMBER ? "any" : null, min: option.min_value, max: option.max_value, maxlength: option.max_length,
    });
    if (option.autocomplete) this.#complete(option, input);
    return input;
  }

  #complete(option, input) {
    const offers = h("datalist", { id: `offers-${option.name}` });
    this.element?.append(offers);
    queueMicrotask(() => this.element.append(offers));
    input.setAttribute("list", offers.id);
    let latest = 0;
    const ask = async () => {
      const mine = ++latest;
      const answer = await act("autocomplete", {
        channel: this.channel, command: this.command.name, option: option.name, value: input.value, others: this.#others(option),
      }).catch(() => ({ choices: [] }));
      if (mine === latest) fill(offers, answer.choices.map(({ name, value }) => h("option", { value: String(value) }, name)));
    };
    input.addEventListener("focus", ask);
    input.addEventListener("input", ask);
  }

  #others(focused) {
    const filled = this.command.options.filter((option) => option !== focused && this.inputs.get(option.name)?.value);
    return Object.fromEntries(filled.map((option) => [option.name, typed(option, this.inputs.get(option.name).value)]));
  }
}

/** What an option offers to choose from, or null where it is typed. */
function choices(option, store) {
  if (option.choices?.length) return option.choices.map(({ name, value }) => ({ name, value: String(value) }));
  const of = (items, label) => [...items.values()].map((item) => ({ name: label(item), value: item.id }));
  const users = () => of(store.users, (user) => `@${nameOf(user)}`);
  const roles = () => of(store.roles, (role) => `@${role.name}`);
  switch (option.type) {
    case BOOLEAN: return ["True", "False"].map((name) => ({ name, value: name }));
    case USER: return users();
    case ROLE: return roles();
    case MENTIONABLE: return [...users(), ...roles()];
    case CHANNEL: return of(store.channels, (channel) => `#${channel.name}`);
    case STRING: default: return null;
  }
}
