// The open channel: its messages, what is typed in it, what may be done to a message.

import { act, history } from "./connection.js";
import { fill, h, patch, toast } from "./dom.js";
import { dots, row } from "./message.js";
import { FORUM, isThread, nameOf } from "./store.js";

const EMOJIS = "👍 👎 ❤️ 😂 🎉 😮 😢 🔥 👀 ✅ ❌ ⏳ ❓ 🚀 🙏 💡 ⭐ 🛑 🔁 🐛".split(" ");
const NEAR_BOTTOM = 80;
const PAGE = 100;

export class Chat {
  constructor(store, interactions, open, reply) {
    this.store = store;
    this.interactions = interactions;
    this.open = open;
    this.reply = reply;
    this.list = document.getElementById("messages");
    this.typing = document.getElementById("typing");
    this.stuck = true;
    this.list.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = this.list;
      this.stuck = scrollHeight - scrollTop - clientHeight < NEAR_BOTTOM;
    });
    this.list.addEventListener("load", () => this.#settle(), true);
    this.list.addEventListener("click", (event) => this.#clicked(event));
    this.list.addEventListener("change", (event) => this.#changed(event));
    new ResizeObserver(() => this.#settle()).observe(this.list);
  }

  /** Show the open channel from its end. */
  render() {
    this.renderTitle();
    this.renderStatus();
    this.renderTyping();
    const channel = this.store.channels.get(this.store.active);
    if (!channel) return fill(this.list);
    fill(this.list, channel.type === FORUM ? this.#posts(channel) : this.#rows(channel));
    this.stuck = true;
    this.#settle();
  }

  renderTitle() {
    const channel = this.store.channels.get(this.store.active);
    const parent = channel && isThread(channel) ? this.store.channels.get(channel.parent_id) : null;
    fill(document.getElementById("title"),
      parent && h("button", { type: "button", class: "plain", onclick: () => this.open(parent.id) }, `# ${parent.name}`),
      parent && h("span", { class: "crumb", "aria-hidden": "true" }, "›"),
      h("span", {}, channel ? `${parent ? "" : "# "}${channel.name}` : ""));
  }

  renderStatus() {
    const { store } = this;
    fill(document.getElementById("status"),
      h("i", { class: store.online ? "lamp on" : "lamp" }), `${nameOf(store.bot)} ${store.online ? "online" : "offline"}`);
  }

  renderTyping() {
    const typists = this.store.active ? this.store.typists(this.store.active) : [];
    const names = typists.map((user) => nameOf(user)).join(", ");
    fill(this.typing, typists.length > 0 && [dots(), h("b", {}, names), typists.length > 1 ? " are typing…" : " is typing…"]);
  }

  #rows(channel) {
    const messages = this.store.list(channel.id);
    const rows = messages.map((message, index) => row(message, messages[index - 1], this.store));
    const beginning = messages.length >= PAGE
      ? h("li", { class: "beginning" }, h("button", { type: "button", class: "plain", "data-act": "earlier" }, "Show earlier messages"))
      : h("li", { class: "beginning" }, `This is the beginning of ${isThread(channel) ? "" : "#"}${channel.name}.`);
    return [beginning, ...rows, ...this.interactions.rows(channel.id)];
  }

  #posts(forum) {
    return this.store.threadsOf(forum.id).map((thread) => h("li", { class: "beginning" },
      h("button", { type: "button", class: "thread-chip", "data-act": "open", "data-channel": thread.id },
        h("b", {}, thread.name), h("span", { class: "link" }, "Open post ›"))));
  }

  /** A message of the open channel is new: add its row. */
  created(message) {
    const messages = this.store.list(message.channel_id);
    const waiting = this.list.querySelector("[data-interaction]"); // commands without an answer stay last
    this.list.insertBefore(row(message, messages.at(-2), this.store), waiting);
    if (message.author.id === this.store.me.id) this.stuck = true;
    this.#settle();
  }

  /** A message changed: touch only what differs. */
  updated(id) {
    const messages = this.store.list(this.store.active);
    const index = messages.findIndex((message) => message.id === id);
    const old = this.#row(id);
    if (index < 0 || !old || old.classList.contains("editing")) return;
    patch(old, row(messages[index], messages[index - 1], this.store));
    this.#settle();
  }

  /** A message went: the one after it may need its heading now. */
  deleted(id) {
    const next = this.#row(id)?.nextElementSibling;
    this.#row(id)?.remove();
    if (next?.dataset.id) this.updated(next.dataset.id);
  }

  refreshInteractions() {
    for (const old of this.list.querySelectorAll("[data-interaction]")) old.remove();
    this.list.append(...this.interactions.rows(this.store.active));
    this.#settle();
  }

  editLast() {
    const mine = this.store.list(this.store.active).filter((message) => message.author.id === this.store.me.id);
    if (mine.length) this.#edit(mine.at(-1));
  }

  #row(id) {
    return this.list.querySelector(`[data-id="${id}"]`);
  }

  #settle() {
    if (this.stuck) this.list.scrollTop = this.list.scrollHeight;
  }

  #changed(event) {
    const menu = event.target.closest("select[data-act=select]");
    if (!menu || !menu.value) return;
    this.#component(menu, "select", { custom_id: menu.dataset.customId, values: [menu.value] });
  }

  #clicked(event) {
    const control = event.target.closest("[data-act]");
    if (!control || control.tagName === "SELECT") return;
    const id = control.closest("[data-id]")?.dataset.id;
    const message = this.store.message(id);
    const { act: name, channel, emoji, customId, target } = control.dataset;
    const deeds = {
      open: () => this.open(channel),
      reveal: () => control.toggleAttribute("data-revealed"),
      jump: () => this.#jump(target),
      earlier: () => this.#earlier(),
      react: () => this.#pickEmoji(control, message),
      toggle: () => this.#react(message, emoji),
      reply: () => this.reply(message),
      thread: () => this.#startThread(message),
      copy: () => navigator.clipboard.writeText(message.content),
      "copy-code": () => navigator.clipboard.writeText(control.parentElement.querySelector("code").textContent),
      edit: () => this.#edit(message),
      delete: () => act("delete", this.#on(message)),
      dismiss: () => { this.store.messages.get(message.channel_id).delete(id); this.deleted(id); },
      press: () => this.#component(control, "press", { custom_id: customId }),
      "select-many": () => this.#component(control, "select", { custom_id: customId, values: checked(control) }),
      "dismiss-interaction": () => { this.interactions.forget(control.closest("[data-interaction]").dataset.interaction); this.refreshInteractions(); },
    };
    Promise.resolve(deeds[name]?.()).catch((error) => toast(error.message));
  }

  #on(message) {
    return { channel: message.channel_id, message: message.id };
  }

  #react(message, emoji) {
    const add = !message.reactions?.[emoji]?.includes(this.store.me.id);
    return act("react", { ...this.#on(message), emoji, add });
  }

  async #component(control, deed, details) {
    const message = this.store.message(control.closest("[data-id]").dataset.id);
    this.store.failed.delete(message.id);
    control.classList.add("waiting");
    try {
      const interaction = await this.interactions.begin(deed, { ...this.#on(message), ...details });
      if (!(await this.interactions.outcome(interaction))) this.store.failed.add(message.id);
    } catch (error) {
      toast(error.message);
    }
    control.classList.remove("waiting");
    this.updated(message.id);
  }

  #pickEmoji(control, message) {
    const open = this.list.querySelector(".emojis");
    open?.remove();
    if (open && open.parentElement === control.parentElement) return;
    const choose = (emoji) => {
      picker.remove();
      this.#react(message, emoji).catch((error) => toast(error.message));
    };
    const picker = h("div", { class: "emojis" }, EMOJIS.map((emoji) =>
      h("button", { type: "button", onclick: () => choose(emoji) }, emoji)));
    control.parentElement.append(picker);
  }

  async #startThread(message) {
    const name = message.content.split("\n")[0].slice(0, 100) || "Thread";
    const made = await act("thread", { ...this.#on(message), name });
    this.open(made.channel);
  }

  #edit(message) {
    const item = this.#row(message.id);
    const done = () => {
      item.classList.remove("editing");
      this.updated(message.id);
    };
    const save = async () => {
      const content = area.value.trim();
      if (content && content !== message.content) {
        await act("edit", { ...this.#on(message), content }).catch((error) => toast(error.message));
      }
      done();
    };
    const area = h("textarea", { "aria-label": "Edit message", rows: String(message.content.split("\n").length) });
    area.value = message.content;
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") done();
      if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); save(); }
    });
    item.classList.add("editing");
    fill(item.querySelector(".body"), area, h("small", {}, "Enter to save, Esc to cancel"));
    area.focus();
  }

  #jump(id) {
    const target = this.#row(id);
    if (!target) return;
    target.scrollIntoView({ block: "center" });
    target.classList.add("flash");
    setTimeout(() => target.classList.remove("flash"), 1200);
  }

  async #earlier() {
    const channel = this.store.active;
    const [first] = this.store.list(channel);
    const found = await history(channel, first.id);
    this.store.prepend(channel, found);
    if (channel !== this.store.active) return;
    const height = this.list.scrollHeight;
    fill(this.list, this.#rows(this.store.channels.get(channel)));
    if (found.length < PAGE) fill(this.list.querySelector(".beginning"), "This is the beginning.");
    this.list.scrollTop = this.list.scrollHeight - height;
  }
}

const checked = (control) =>
  [...control.parentElement.querySelectorAll("input:checked")].map((input) => input.value);
