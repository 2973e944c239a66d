// The way to the loopback Discord: events in, deeds out.

const RETRY_MS = 1000;

/** Call `onEvent(name, payload)` for all that happens; each connection begins with SNAPSHOT. */
export function listen(onEvent) {
  const socket = new WebSocket(`ws://${location.host}/visitor/events`);
  socket.onmessage = ({ data }) => {
    const { t, d } = JSON.parse(data);
    onEvent(t, d);
  };
  socket.onclose = () => {
    onEvent("DISCONNECTED", {});
    setTimeout(() => listen(onEvent), RETRY_MS);
  };
}

/** Do something as the visitor; the answer's JSON, or an Error with Discord's words. */
export function act(deed, body) {
  return request(`/visitor/${deed}`, { method: "POST", body: JSON.stringify(body) });
}

export function say(channel, content, files, replyTo) {
  const form = new FormData();
  form.set("channel", channel);
  form.set("content", content);
  if (replyTo) form.set("reply_to", replyTo);
  files.forEach((file, index) => form.append(`file${index}`, file, file.name));
  return request("/visitor/say", { method: "POST", body: form });
}

export async function history(channel, before) {
  const query = new URLSearchParams({ channel, before });
  return (await request(`/visitor/history?${query}`)).messages;
}

export async function commands() {
  return (await request("/visitor/commands")).commands;
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The rehearsal does not answer. Is it still running?");
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.message ?? `HTTP ${response.status}`);
  return body;
}
