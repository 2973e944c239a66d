// The interactions that this page began, and what became of them.

import { act } from "./connection.js";
import { dots } from "./message.js";
import { h } from "./dom.js";

export class Interactions {
  /** `showModal(id, modal)` is called for a modal that answers one of this page's interactions. */
  constructor(showModal) {
    this.showModal = showModal;
    this.own = new Set();
    this.modals = new Map(); // id -> a modal whose interaction is not known to be ours (yet)
    this.outcomes = new Map(); // id -> whether it was answered in time
    this.waiting = new Map(); // id -> what to call with the outcome
    this.commands = new Map(); // id -> {channel, name} of a slash command without an answer yet
  }

  /** Do something that begins an interaction; its id. Its events may come before this returns. */
  async begin(deed, body) {
    const { interaction } = await act(deed, body);
    this.own.add(interaction);
    if (this.modals.has(interaction)) this.showModal(interaction, this.modals.get(interaction));
    this.modals.delete(interaction);
    return interaction;
  }

  modal(id, modal) {
    if (this.own.has(id)) this.showModal(id, modal);
    else this.modals.set(id, modal);
  }

  /** An event settled an interaction. */
  settle(id, answered) {
    this.outcomes.set(id, answered);
    if (answered) this.commands.delete(id);
    this.waiting.get(id)?.(answered);
    this.waiting.delete(id);
  }

  /** Whether the interaction is answered; waits until that is known. */
  outcome(id) {
    if (this.outcomes.has(id)) return Promise.resolve(this.outcomes.get(id));
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  ran(id, channel, name) {
    if (this.outcomes.get(id) !== true) this.commands.set(id, { channel, name });
  }

  forget(id) {
    this.commands.delete(id);
  }

  /** Rows for the commands that nobody has answered (yet). */
  rows(channel) {
    return [...this.commands].filter(([, command]) => command.channel === channel).map(([id, { name }]) =>
      h("li", { class: "message pending", "data-interaction": id },
        h("div", { class: "reference" }, "You used ", h("span", { class: "mention" }, `/${name}`)),
        this.outcomes.get(id) === false
          ? h("div", { class: "failed" }, "The application did not respond. ",
            h("button", { type: "button", class: "plain", "data-act": "dismiss-interaction" }, "Dismiss"))
          : h("div", { class: "thinking" }, dots(), "Sending command…")));
  }
}
