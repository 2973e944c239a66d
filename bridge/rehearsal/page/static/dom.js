// Building and updating DOM trees. Content is only ever set as text, never as HTML.

/** An element: h("a", {class: "x", onclick: f, disabled: true}, "text", [more], null). */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...present(children));
  return element;
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Replace what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
  return element;
}

// What a reader has opened stays open while the message is edited.
const KEPT = new Set(["open", "data-revealed"]);

/** Make `old` equal to `next`, touching only what differs, so that nothing flickers. */
export function patch(old, next) {
  if (old.isEqualNode(next)) return;
  if (old.nodeName !== next.nodeName) {
    old.replaceWith(next);
  } else if (old.nodeType === Node.TEXT_NODE) {
    old.data = next.data;
  } else {
    patchAttributes(old, next);
    patchChildren(old, [...next.childNodes]);
  }
}

function patchAttributes(old, next) {
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !KEPT.has(name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

export function patchChildren(old, wanted) {
  const present = [...old.childNodes];
  wanted.forEach((node, index) => {
    if (index < present.length) patch(present[index], node);
    else old.append(node);
  });
  for (const extra of present.slice(wanted.length)) extra.remove();
}

/** A short notice that goes away by itself. */
export function toast(message) {
  const note = h("div", { class: "toast" }, message);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), 6000);
}
