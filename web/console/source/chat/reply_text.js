// A reply's text, in which each figure leads to the result that it comes from.

import { h } from "../dom.js";

/** Return the pieces of a text: strings, and `{text, source}` for what has a source. Pure. */
export function piecesOf(text, sources) {
  const found = [];
  for (const source of sources) {
    const place = source.text ? placeOf(text, source.text, found) : -1;
    if (place >= 0) found.push({ begin: place, end: place + source.text.length, source });
  }
  found.sort((one, other) => one.begin - other.begin);
  const pieces = [];
  let end = 0;
  for (const { begin, end: next, source } of found) {
    if (begin > end) pieces.push(text.slice(end, begin));
    pieces.push({ text: text.slice(begin, next), source });
    end = next;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}

/** Find a text where nothing is marked yet, and where it is no part of a longer number. */
function placeOf(text, wanted, found) {
  for (let place = text.indexOf(wanted); place >= 0; place = text.indexOf(wanted, place + 1)) {
    const end = place + wanted.length;
    const isApart = found.every((other) => end <= other.begin || place >= other.end);
    const isCut = /\d/.test(text[place - 1] ?? "") && /^\d/.test(wanted) || /\d/.test(text[end] ?? "") && /\d$/.test(wanted);
    if (isApart && !isCut) return place;
  }
  return -1;
}

/** Return the nodes of a reply's text. `onSource` is called with a source that was chosen. */
export function replyNodes(reply, onSource) {
  return piecesOf(reply.text, reply.sources ?? []).map((piece) => {
    if (typeof piece === "string") return piece;
    const { step, path, stale, turn } = piece.source;
    const origin = step === "message" || step === "agent" ? `from the ${step === "agent" ? "agent's texts" : "message"}` : `from ${step}${path ? `: ${path}` : ""}`;
    const told = `${origin}${turn ? ", of an earlier turn" : ""}${stale ? ", may have changed since" : ""}`;
    const isHere = !turn && step !== "message" && step !== "agent";
    if (!isHere) return h("span", { class: "source", title: told }, piece.text);
    const choose = () => onSource(piece.source);
    return h("button", { type: "button", class: "source", title: told, on: { click: choose } }, piece.text);
  });
}
