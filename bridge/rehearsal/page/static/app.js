// The page: events change the store, the parts show it.

import { listen } from "./connection.js";
import { Chat } from "./chat.js";
import { Composer } from "./composer.js";
import { Interactions } from "./interactions.js";
import { showModal } from "./modal.js";
import { Sidebar } from "./sidebar.js";
import { FORUM, Store } from "./store.js";

const store = new Store();
const interactions = new Interactions((id, modal) => showModal(id, modal, store, interactions));
const sidebar = new Sidebar(store, open);
const chat = new Chat(store, interactions, open, (message) => composer.reply(message));
const composer = new Composer(store, interactions, chat);

function open(channel) {
  if (!store.channels.has(channel)) return;
  const from = store.active;
  store.active = channel;
  store.unread.delete(channel);
  document.body.classList.remove("menu-open");
  history.replaceState(null, "", `#${channel}`);
  composer.moved(from);
  chat.render();
  sidebar.render();
}

function onEvent(name, data) {
  document.body.classList.toggle("disconnected", name === "DISCONNECTED");
  if (name === "DISCONNECTED") return;
  if (name === "SNAPSHOT") {
    store.active ??= location.hash.slice(1) || null;
    store.load(data);
    open(store.active);
    return;
  }
  const wasActive = store.active;
  store.apply(name, data);
  if (store.active !== wasActive) open(store.active);
  show(name, data);
  if (/^(CHANNEL|THREAD|MESSAGE_CREATE)/.test(name)) sidebar.render();
}

function show(name, data) {
  const here = data.channel_id === store.active;
  switch (name) {
    case "MESSAGE_CREATE":
      if (here) chat.created(data);
      else chat.updated(data.channel_id); // the chip of a thread shows its last message
      chat.renderTyping();
      break;
    case "MESSAGE_UPDATE":
      if (here) chat.updated(data.id);
      else chat.updated(data.channel_id);
      break;
    case "MESSAGE_DELETE":
      if (here) chat.deleted(data.id);
      break;
    case "MESSAGE_DELETE_BULK":
      chat.render();
      break;
    case "CHANNEL_UPDATE":
      chat.renderTitle();
      break;
    case "THREAD_CREATE": case "THREAD_UPDATE": case "THREAD_DELETE":
      if (data.parent_id === store.active && isForum(data.parent_id)) chat.render();
      chat.renderTitle();
      chat.updated(data.id); // the chip below the message that it was started from
      break;
    case "TYPING_START":
      chat.renderTyping();
      setTimeout(() => chat.renderTyping(), 10_100);
      break;
    case "VISITOR_PRESENCE":
      chat.renderStatus();
      break;
    case "INTERACTION_SUCCESS": case "INTERACTION_FAILURE":
      interactions.settle(data.id, name === "INTERACTION_SUCCESS");
      chat.refreshInteractions();
      break;
    case "INTERACTION_MODAL_CREATE":
      interactions.modal(data.id, data.modal);
      break;
    default:
      if (name.startsWith("MESSAGE_REACTION") && here) chat.updated(data.message_id);
  }
}

function isForum(id) {
  return store.channels.get(id)?.type === FORUM;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  store.unread.delete(store.active);
  if (store.ready) sidebar.render();
});

listen(onEvent);
