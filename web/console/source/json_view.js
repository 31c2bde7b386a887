// A JSON value as text, cut where it is very long.

import { h } from "./dom.js";

const MOST = 20_000;

/** Return the element that shows a value. `lit`: a path such as `options[0].price`, whose value is marked. */
export function jsonView(value, lit) {
  const text = JSON.stringify(value, null, 2) ?? "nothing";
  const box = h("pre", { class: "json", tabindex: "0" });
  const show = (most) => box.replaceChildren(...marked(value, text.slice(0, most), lit));
  show(MOST);
  if (text.length <= MOST) return box;
  const all = h("button", { type: "button", class: "quiet", on: { click: whole } }, `Show all ${text.length} characters`);
  function whole() {
    show(Infinity);
    all.remove();
  }
  return h("div", {}, box, all);
}

function marked(value, text, path) {
  const place = path ? placeOf(value, path) : null;
  if (place === null || place.end > text.length) return [text];
  return [text.slice(0, place.begin), h("mark", {}, text.slice(place.begin, place.end)), text.slice(place.end)];
}

/** Return where in the written JSON the value of a path stands; null if the path leads nowhere. */
export function placeOf(value, path) {
  const keys = [...path.matchAll(/([^.[\]]+)/g)].map(([key]) => key);
  const stand = keys.reduce((inner, key) => (inner && typeof inner === "object" ? inner[key] : undefined), value);
  if (stand === undefined) return null;
  const token = "\u0001here\u0001";
  const written = JSON.stringify(replaced(value, keys, token), null, 2);
  const begin = written.indexOf(JSON.stringify(token));
  const depth = "  ".repeat(keys.length);
  const text = JSON.stringify(stand, null, 2).replaceAll("\n", `\n${depth}`);
  return { begin, end: begin + text.length };
}

function replaced(value, [key, ...rest], token) {
  if (key === undefined) return token;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  copy[key] = replaced(value[key], rest, token);
  return copy;
}
