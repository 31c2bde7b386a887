// Build nodes. Whatever comes from outside becomes text: nothing is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Make an HTML element: `h("button", { class: "quiet", on: { click } }, "Cancel")`. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Put other children in place of those that an element has. Null and false are left out. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Set an attribute; null and false remove it. Nothing is written if it is set already. */
export function set(element, name, value) {
  if (value === null || value === undefined || value === false) {
    element.removeAttribute(name);
  } else {
    const text = value === true ? "" : String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

/** Set an element's text, unless it is that already. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const ICONS = {
  chat: "M4 5h16v11H9l-5 4z",
  turns: "M4 6h16M4 12h16M4 18h10",
  operations: "M3 13h4l3-8 4 14 3-6h4",
  replays: "M4 12a8 8 0 1 0 2.500-5.800M4 4v4.500h4.500M12 8v4.500l3 2",
  rollouts: "M12 4a8 8 0 1 0 8 8h-8zM15 3.500v5.500h5.500a6.500 6.500 0 0 0-5.500-5.500z",
  quality: "M4 20V10h4v10M10 20V4h4v16M16 20v-7h4v7",
  prompts: "M5 4h14v16H5zM8.500 8.500h7M8.500 12h7M8.500 15.500h4",
  docs: "M6 3h9l4 4v14H6zM14 3v5h5",
  send: "M4 12l16-8-5 16-3-7z",
  up: "M7 11v9H3v-9zM7 11l4-8c2 0 3 1 3 3l-1 4h6c1 0 2 1 2 2l-2 7c0 1-1 1-2 1H7",
  down: "M17 13V4h4v9zM17 13l-4 8c-2 0-3-1-3-3l1-4H5c-1 0-2-1-2-2l2-7c0-1 1-1 2-1h10",
  stop: "M7 7h10v10H7z",
  back: "M14 6l-6 6 6 6",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  plan: "M4 6h5v5H4zM15 3h5v5h-5zM15 14h5v5h-5zM9 8h3V5.500h3M12 8v8.500h3",
  out: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
  door: "M10 4H5v16h5M15 8l4 4-4 4M19 12H9",
};

/** Draw an icon that says nothing to screen readers: what it stands for is beside it, or is its button's label. */
export function icon(name) {
  const box = { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" };
  return svg("svg", box, svg("path", { d: ICONS[name] }));
}

/** Say something to screen readers only. */
export function announce(text) {
  const region = document.getElementById("announcements");
  if (region) say(region, text);
}

function filled(element, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  for (const [kind, listener] of Object.entries(on)) element.addEventListener(kind, listener);
  return fill(element, ...children);
}
