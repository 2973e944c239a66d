// Where the visitor writes: text, files, replies and slash commands.

import { act, commands, say } from "./connection.js";
import { fill, h, toast } from "./dom.js";
import { CommandForm, flat, matching, parse } from "./slash.js";
import { FORUM, isThread, nameOf } from "./store.js";

const TYPING_EVERY_MS = 8000;
const byId = (id) => document.getElementById(id);

export class Composer {
  constructor(store, interactions, chat) {
    this.store = store;
    this.interactions = interactions;
    this.chat = chat;
    this.text = byId("text");
    this.popup = byId("popup");
    this.files = [];
    this.replyTo = null;
    this.form = null; // the CommandForm of a chosen command
    this.offered = [];
    this.chosen = 0;
    this.typedAt = 0;
    this.drafts = new Map();
    const composer = byId("composer");
    composer.addEventListener("submit", (event) => { event.preventDefault(); this.#submit(); });
    composer.addEventListener("keydown", (event) => this.#key(event));
    this.text.addEventListener("input", () => this.#typed());
    this.text.addEventListener("paste", (event) => this.#pasted(event));
    byId("files").addEventListener("change", (event) => { this.#attach(event.target.files); event.target.value = ""; });
    for (const name of ["dragover", "drop"]) {
      document.addEventListener(name, (event) => {
        event.preventDefault();
        if (name === "drop") this.#attach(event.dataTransfer.files);
      });
    }
  }

  /** The open channel changed: keep what was typed in the other one. */
  moved(from) {
    if (from) this.drafts.set(from, this.text.value);
    this.text.value = this.drafts.get(this.store.active) ?? "";
    this.#cancel();
    this.#fit();
    const channel = this.store.channels.get(this.store.active);
    this.text.disabled = !channel;
    this.text.placeholder = !channel ? "" : channel.type === FORUM ? `New post in ${channel.name}` : `Message ${isThread(channel) ? "" : "#"}${channel.name}`;
    if (matchMedia("(hover: hover)").matches) this.text.focus();
  }

  reply(message) {
    this.replyTo = message;
    const strip = byId("replying");
    strip.hidden = false;
    fill(strip, "Replying to ", h("b", {}, nameOf(message.author)),
      h("button", { type: "button", class: "plain", "aria-label": "Cancel reply", onclick: () => this.#cancelReply() }, "✕"));
    this.text.focus();
  }

  #cancelReply() {
    this.replyTo = null;
    byId("replying").hidden = true;
  }

  #cancel() {
    this.#cancelReply();
    this.#closePopup();
    this.form = null;
    byId("command").hidden = true;
    byId("composer").classList.remove("commanding");
  }

  #fit() {
    this.text.rows = Math.min(12, this.text.value.split("\n").length);
  }

  async #typed() {
    this.#fit();
    const { value } = this.text;
    if (!/^\/[\w -]*$/.test(value)) {
      this.#closePopup();
      if (value && Date.now() - this.typedAt > TYPING_EVERY_MS) {
        this.typedAt = Date.now();
        act("typing", { channel: this.store.active }).catch(() => {});
      }
      return;
    }
    this.store.commands = await commands().catch(() => this.store.commands);
    if (this.text.value !== value) return;
    this.offered = matching(flat(this.store.commands), value.slice(1).trim());
    this.chosen = 0;
    this.#renderPopup();
  }

  #renderPopup() {
    this.popup.hidden = this.offered.length === 0;
    fill(this.popup, this.offered.map((command, index) => h("button", {
      type: "button", role: "option", class: index === this.chosen ? "chosen" : null,
      "aria-selected": String(index === this.chosen), onclick: () => this.#choose(command),
    },
    h("b", {}, `/${command.name}`),
    command.options.map((option) => h("span", { class: "option-name" }, option.name)),
    h("small", {}, command.description))));
    this.popup.querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
  }

  #closePopup() {
    this.offered = [];
    this.popup.hidden = true;
  }

  #choose(command) {
    this.#closePopup();
    this.text.value = "";
    this.#fit();
    if (command.options.length === 0) return this.#run(command, {});
    this.form = new CommandForm(command, this.store, this.store.active);
    fill(byId("command"), this.form.element).hidden = false;
    byId("composer").classList.add("commanding");
    this.form.focus();
  }

  #key(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") return this.#cancel();
    if (this.offered.length) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) {
        event.preventDefault();
        this.chosen = (this.chosen + step + this.offered.length) % this.offered.length;
        return this.#renderPopup();
      }
      if (event.key === "Tab") {
        event.preventDefault();
        return this.#choose(this.offered[this.chosen]);
      }
    }
    if (event.key === "ArrowUp" && event.target === this.text && !this.text.value) {
      event.preventDefault();
      this.chat.editLast();
    } else if (event.key === "Enter" && !event.shiftKey && event.target.tagName !== "BUTTON") {
      event.preventDefault();
      this.#submit();
    }
  }

  async #submit() {
    try {
      if (this.form) {
        const { command } = this.form;
        const options = this.form.values();
        this.#cancel();
        this.text.focus();
        await this.#run(command, options);
      } else if (this.text.value.startsWith("/") && this.files.length === 0) {
        await this.#submitCommand();
      } else {
        await this.#send();
      }
    } catch (error) {
      toast(error.message);
    }
  }

  async #submitCommand() {
    this.store.commands = await commands();
    const known = flat(this.store.commands);
    const written = this.text.value.trim();
    const found = parse(known, written);
    const [first] = matching(known, written.slice(1));
    if (found && (Object.keys(found.options).length || !found.command.options.some((option) => option.required))) {
      this.#closePopup();
      this.text.value = "";
      await this.#run(found.command, found.options);
    } else if (first || found) {
      this.#choose(this.offered[this.chosen] ?? found?.command ?? first);
    } else {
      throw new Error(`There is no command ${written.split(" ")[0]}.`);
    }
  }

  async #run(command, options) {
    const channel = this.store.active;
    try {
      const interaction = await this.interactions.begin("slash", { channel, command: command.name, options });
      this.interactions.ran(interaction, channel, command.name);
      this.chat.refreshInteractions();
    } catch (error) {
      toast(error.message);
    }
  }

  async #send() {
    const content = this.text.value;
    const channel = this.store.channels.get(this.store.active);
    if (!content.trim() && this.files.length === 0) return;
    const { files, replyTo } = this;
    this.text.value = "";
    this.files = [];
    this.#cancel();
    this.#renderUploads();
    this.#fit();
    this.typedAt = 0;
    try {
      if (channel.type === FORUM) await act("thread", { channel: channel.id, name: content.split("\n")[0].slice(0, 100), content });
      else await say(channel.id, content, files, replyTo?.id);
    } catch (error) {
      this.text.value = content;
      this.files = files;
      this.#renderUploads();
      throw error;
    }
  }

  #pasted(event) {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    this.#attach(files);
  }

  #attach(files) {
    this.files = [...this.files, ...files];
    this.#renderUploads();
    this.text.focus();
  }

  #renderUploads() {
    const strip = byId("uploads");
    strip.hidden = this.files.length === 0;
    fill(strip, this.files.map((file) => {
      const remove = () => { this.files = this.files.filter((other) => other !== file); this.#renderUploads(); };
      return h("span", { class: "upload" }, preview(file), h("b", {}, file.name),
        h("button", { type: "button", class: "plain", "aria-label": `Remove ${file.name}`, onclick: remove }, "✕"));
    }));
  }
}

function preview(file) {
  if (!file.type.startsWith("image/")) return "▤";
  const url = URL.createObjectURL(file);
  return h("img", { src: url, alt: "", onload: () => URL.revokeObjectURL(url) });
}
