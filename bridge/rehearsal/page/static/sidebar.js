// The list of channels with their threads, and who is there.

import { fill, h, patchChildren } from "./dom.js";
import { avatar } from "./message.js";
import { CATEGORY, FORUM, nameOf } from "./store.js";

const SHOWN_THREADS = 30;

export class Sidebar {
  constructor(store, open) {
    this.store = store;
    this.places = document.getElementById("places");
    this.places.addEventListener("click", (event) => {
      const entry = event.target.closest("[data-channel]");
      if (entry) open(entry.dataset.channel);
    });
    document.getElementById("menu").addEventListener("click", () => document.body.classList.toggle("menu-open"));
    document.querySelector("main").addEventListener("click", (event) => {
      if (!event.target.closest("#menu")) document.body.classList.remove("menu-open");
    });
  }

  render() {
    const { store } = this;
    const top = [...store.channels.values()].filter((channel) => "position" in channel);
    top.sort((a, b) => a.position - b.position);
    patchChildren(this.places, top.map((channel) => this.#channel(channel)));
    fill(document.getElementById("guild"), store.guild.name);
    fill(document.getElementById("self"), avatar(store.me), h("span", {}, nameOf(store.me), h("small", {}, "you")));
    const total = [...store.unread.values()].reduce((sum, count) => sum + count, 0);
    document.title = total ? `(${total}) ${store.guild.name}` : store.guild.name;
    document.body.classList.toggle("has-unread", total > 0);
  }

  #channel(channel) {
    if (channel.type === CATEGORY) return h("h2", {}, channel.name);
    const threads = this.store.threadsOf(channel.id).slice(0, SHOWN_THREADS);
    return h("div", { class: "place" },
      this.#entry(channel, channel.type === FORUM ? "▤" : "#"),
      threads.length > 0 && h("ul", {}, threads.map((thread) => h("li", {}, this.#entry(thread, "╰")))));
  }

  #entry(channel, sign) {
    const unread = this.store.unread.get(channel.id);
    const classes = [
      "entry",
      channel.id === this.store.active && "active",
      unread && "unread",
      channel.thread_metadata?.archived && "archived",
    ];
    return h("button", { type: "button", class: classes.filter(Boolean).join(" "), "data-channel": channel.id, "aria-current": channel.id === this.store.active ? "page" : null },
      h("span", { class: "sign", "aria-hidden": "true" }, channel.thread_metadata?.locked ? "⊘" : sign),
      h("span", { class: "name" }, channel.name),
      unread && h("span", { class: "badge" }, String(unread)));
  }
}
