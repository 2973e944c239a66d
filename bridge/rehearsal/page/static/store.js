// What the page knows of the guild; each event changes it in one place.

export const TEXT = 0, CATEGORY = 4, FORUM = 15;
export const EPHEMERAL = 64, LOADING = 128;
const THREADS = new Set([10, 11, 12]);
const TYPING_MS = 10_000;

export const isThread = (channel) => THREADS.has(channel.type);

export class Store {
  constructor() {
    this.ready = false;
    this.users = new Map();
    this.roles = new Map();
    this.channels = new Map();
    this.messages = new Map(); // channel id -> Map of message id -> message, oldest first
    this.typing = new Map(); // channel id -> Map of user id -> when it began
    this.unread = new Map(); // channel id -> how many
    this.failed = new Set(); // messages whose component got no answer
    this.online = false;
    this.active = null;
  }

  /** The snapshot: forget everything else, but stay in the same channel. */
  load(snapshot) {
    const byId = (items) => new Map(items.map((item) => [item.id, item]));
    this.guild = snapshot.guild;
    this.me = snapshot.me;
    this.bot = snapshot.bot;
    this.online = snapshot.online;
    this.commands = snapshot.commands;
    this.users = byId(snapshot.users);
    this.roles = byId(snapshot.roles);
    this.channels = byId(snapshot.channels);
    this.messages = new Map(
      Object.entries(snapshot.messages).map(([channel, messages]) => [channel, byId(messages)]),
    );
    this.typing.clear();
    this.ready = true;
    if (!this.channels.has(this.active)) this.active = this.firstChannel()?.id ?? null;
  }

  firstChannel() {
    return [...this.channels.values()].find((channel) => channel.type === TEXT);
  }

  /** Apply an event other than SNAPSHOT. */
  apply(name, data) {
    switch (name) {
      case "VISITOR_PRESENCE":
        this.online = data.online;
        break;
      case "CHANNEL_CREATE": case "CHANNEL_UPDATE": case "THREAD_CREATE": case "THREAD_UPDATE":
        this.channels.set(data.id, { ...this.channels.get(data.id), ...data });
        if (!this.messages.has(data.id)) this.messages.set(data.id, new Map());
        break;
      case "CHANNEL_DELETE": case "THREAD_DELETE":
        this.channels.delete(data.id);
        this.messages.delete(data.id);
        this.unread.delete(data.id);
        if (this.active === data.id) this.active = this.firstChannel()?.id ?? null;
        break;
      case "GUILD_MEMBER_ADD":
        this.users.set(data.user.id, data.user);
        break;
      case "GUILD_ROLE_CREATE": case "GUILD_ROLE_UPDATE":
        this.roles.set(data.role.id, data.role);
        break;
      case "MESSAGE_CREATE":
        this.#created(data);
        break;
      case "MESSAGE_UPDATE":
        this.#updated(data);
        break;
      case "MESSAGE_DELETE":
        this.messages.get(data.channel_id)?.delete(data.id);
        break;
      case "MESSAGE_DELETE_BULK":
        for (const id of data.ids) this.messages.get(data.channel_id)?.delete(id);
        break;
      case "MESSAGE_REACTION_ADD": case "MESSAGE_REACTION_REMOVE":
      case "MESSAGE_REACTION_REMOVE_ALL": case "MESSAGE_REACTION_REMOVE_EMOJI":
        this.#reacted(name, data);
        break;
      case "TYPING_START":
        if (data.user_id !== this.me.id) this.#typing(data.channel_id).set(data.user_id, Date.now());
        break;
    }
  }

  #created(message) {
    const place = this.messages.get(message.channel_id) ?? new Map();
    this.messages.set(message.channel_id, place);
    place.set(message.id, { ...message, reactions: {} });
    this.#typing(message.channel_id).delete(message.author.id);
    const channel = this.channels.get(message.channel_id);
    if (channel) channel.last_message_id = message.id;
    if (message.author.id !== this.me.id && (message.channel_id !== this.active || document.hidden)) {
      this.unread.set(message.channel_id, (this.unread.get(message.channel_id) ?? 0) + 1);
    }
  }

  #updated(message) {
    const place = this.messages.get(message.channel_id);
    const before = place?.get(message.id);
    if (before) place.set(message.id, { ...message, reactions: before.reactions });
  }

  #reacted(name, data) {
    const message = this.messages.get(data.channel_id)?.get(data.message_id);
    if (!message) return;
    const reactions = { ...message.reactions };
    const emoji = data.emoji && (data.emoji.id ? `${data.emoji.name}:${data.emoji.id}` : data.emoji.name);
    const users = reactions[emoji] ?? [];
    if (name === "MESSAGE_REACTION_ADD") reactions[emoji] = [...new Set([...users, data.user_id])];
    else if (name === "MESSAGE_REACTION_REMOVE") reactions[emoji] = users.filter((id) => id !== data.user_id);
    else if (emoji) delete reactions[emoji];
    else for (const key of Object.keys(reactions)) delete reactions[key];
    if (emoji && reactions[emoji]?.length === 0) delete reactions[emoji];
    this.messages.get(data.channel_id).set(message.id, { ...message, reactions });
  }

  #typing(channel) {
    if (!this.typing.has(channel)) this.typing.set(channel, new Map());
    return this.typing.get(channel);
  }

  /** Who types in a channel now. */
  typists(channel) {
    const now = Date.now();
    const found = [...this.#typing(channel)].filter(([, began]) => now - began < TYPING_MS);
    return found.map(([id]) => this.users.get(id)).filter(Boolean);
  }

  /** Put earlier messages before those that are known. */
  prepend(channel, earlier) {
    const known = this.messages.get(channel);
    this.messages.set(channel, new Map([...earlier.map((message) => [message.id, message]), ...known]));
  }

  list(channel) {
    return [...(this.messages.get(channel)?.values() ?? [])];
  }

  message(id) {
    return this.messages.get(this.active)?.get(id);
  }

  threadsOf(parent) {
    const found = [...this.channels.values()].filter((c) => isThread(c) && c.parent_id === parent);
    const latest = (thread) => BigInt(thread.last_message_id ?? thread.id);
    const rank = (thread) => Number(thread.thread_metadata.archived);
    return found.sort((a, b) => rank(a) - rank(b) || (latest(a) < latest(b) ? 1 : -1));
  }
}

export const nameOf = (user) => user.global_name ?? user.username;
