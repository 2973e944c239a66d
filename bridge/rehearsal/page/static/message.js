// One message as a list item.

import { h } from "./dom.js";
import { components } from "./components.js";
import { attachments, embeds } from "./embeds.js";
import { markdown, inline } from "./markdown.js";
import { EPHEMERAL, LOADING, isThread, nameOf } from "./store.js";

const GROUP_MS = 7 * 60_000;
const PINNED = 6, THREAD_STARTED = 18, STARTER = 21;
const HUES = 6;

/** The row of a message; `previous` decides whether it repeats its author. */
export function row(message, previous, store) {
  if (message.type === STARTER && message.referenced_message) {
    return row({ ...message.referenced_message, id: message.id, reactions: {} }, null, store);
  }
  if (message.type === THREAD_STARTED || message.type === PINNED) return notice(message, store);
  const grouped = continues(message, previous);
  return h(
    "li",
    { class: classes(message, grouped, store), "data-id": message.id, tabindex: "-1" },
    reference(message, store),
    grouped ? h("time", { class: "aside" }, clock(message)) : [avatar(message.author), heading(message)],
    h("div", { class: "body" }, body(message, store)),
    toolbar(message, store),
  );
}

function classes(message, grouped, store) {
  const mentioned = message.mentions?.some((user) => user.id === store.me.id) || message.mention_everyone;
  return [
    "message",
    grouped && "grouped",
    message.flags & EPHEMERAL && "ephemeral",
    mentioned && "mentioned",
  ].filter(Boolean).join(" ");
}

function continues(message, previous) {
  return Boolean(
    previous && previous.author.id === message.author.id && !message.referenced_message &&
    !message.interaction_metadata && ![THREAD_STARTED, PINNED, STARTER].includes(previous.type) &&
    (previous.flags & EPHEMERAL) === (message.flags & EPHEMERAL) &&
    new Date(message.timestamp) - new Date(previous.timestamp) < GROUP_MS,
  );
}

export function avatar(user) {
  const hue = Number(BigInt(user.id) % BigInt(HUES));
  return h("span", { class: `avatar hue-${user.bot ? "bot" : hue}`, "aria-hidden": "true" }, nameOf(user)[0].toUpperCase());
}

function heading(message) {
  return h(
    "header", {},
    h("b", { class: message.author.bot ? "by-bot" : null }, nameOf(message.author)),
    message.author.bot && h("span", { class: "tag" }, "APP"),
    h("time", { datetime: message.timestamp, title: new Date(message.timestamp).toLocaleString() }, clock(message)),
  );
}

function clock(message) {
  const date = new Date(message.timestamp);
  const time = date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString()} ${time}`;
}

/** Above the message: what it answers, or the command that called for it. */
function reference(message, store) {
  const quoted = message.referenced_message;
  if (quoted) {
    const snippet = quoted.content.replace(/```\w*|\s+/g, " ").slice(0, 120) || "(attachment)";
    return h("button", { class: "reference", type: "button", "data-act": "jump", "data-target": quoted.id },
      h("b", {}, nameOf(quoted.author)), " ", inline(snippet, store));
  }
  const ran = message.interaction;
  if (!ran) return null;
  return h("div", { class: "reference" }, h("b", {}, nameOf(ran.user)), " used ", h("span", { class: "mention" }, `/${ran.name}`));
}

/** Everything that an edit may change. */
function body(message, store) {
  if (message.flags & LOADING) {
    const who = nameOf(message.author);
    return [h("div", { class: "thinking" }, dots(), `${who} is thinking…`), ephemeral(message)];
  }
  return [
    message.content && h("div", { class: "content" }, markdown(message.content, store), edited(message)),
    !message.content && message.components.length === 0 && message.embeds.length === 0 && edited(message),
    attachments(message.attachments),
    embeds(message.embeds, store),
    components(message, store),
    reactions(message, store),
    threadChip(message, store),
    ephemeral(message),
    store.failed.has(message.id) && h("div", { class: "failed" }, "This interaction failed"),
  ];
}

export function dots() {
  return h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i"));
}

function edited(message) {
  if (!message.edited_timestamp || message.flags & LOADING) return null;
  return h("small", { class: "edited", title: new Date(message.edited_timestamp).toLocaleString() }, "(edited)");
}

function ephemeral(message) {
  if (!(message.flags & EPHEMERAL)) return null;
  return h("small", { class: "only-you" }, "Only you can see this · ",
    h("button", { type: "button", class: "plain", "data-act": "dismiss" }, "Dismiss message"));
}

function reactions(message, store) {
  const found = Object.entries(message.reactions ?? {});
  if (found.length === 0) return null;
  return h("div", { class: "reactions" }, found.map(([emoji, users]) => {
    const mine = users.includes(store.me.id);
    const names = users.map((id) => nameOf(store.users.get(id) ?? { username: "someone" })).join(", ");
    return h("button", {
      type: "button", class: mine ? "reaction mine" : "reaction", title: names, "data-act": "toggle",
      "data-emoji": emoji, "aria-pressed": String(mine),
    }, emoji.split(":")[0], " ", String(users.length));
  }));
}

/** A thread that was started from a message has the message's id. */
function threadChip(message, store) {
  const thread = store.channels.get(message.id);
  if (!thread || !isThread(thread) || thread.id === message.channel_id) return null;
  const last = store.list(thread.id).at(-1);
  const preview = last?.content ? `${nameOf(last.author)}: ${last.content.replace(/\s+/g, " ").slice(0, 80)}` : "";
  return h("button", { type: "button", class: "thread-chip", "data-act": "open", "data-channel": thread.id },
    h("b", {}, thread.name), h("span", { class: "link" }, "Open thread ›"), preview && h("small", {}, preview));
}

function notice(message, store) {
  const thread = message.type === THREAD_STARTED ? message.message_reference?.channel_id : null;
  return h("li", { class: "message notice", "data-id": message.id },
    h("b", {}, nameOf(message.author)),
    message.type === PINNED ? " pinned a message." : " started a thread: ",
    thread && h("button", { type: "button", class: "plain", "data-act": "open", "data-channel": thread }, message.content),
    h("time", {}, clock(message)));
}

function toolbar(message, store) {
  if (message.flags & (EPHEMERAL | LOADING)) return null;
  const mine = message.author.id === store.me.id;
  const tool = (act, sign, label) => h("button", { type: "button", "data-act": act, title: label, "aria-label": label }, sign);
  const place = store.channels.get(message.channel_id);
  return h("div", { class: "toolbar" },
    tool("react", "☺", "Add reaction"),
    tool("reply", "↩", "Reply"),
    !isThread(place) && !store.channels.has(message.id) && tool("thread", "#", "Start a thread"),
    message.content && tool("copy", "❐", "Copy text"),
    mine && tool("edit", "✎", "Edit"),
    mine && tool("delete", "✕", "Delete"));
}
