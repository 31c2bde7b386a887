// Texts from outside: streams of events, replies with sources, places in results. Run by test_sources.py.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.location = new URL("http://127.0.0.1/");
const { readEvents } = await import("../../../web/console/source/event_stream.js");
const { piecesOf } = await import("../../../web/console/source/chat/reply_text.js");
const { placeOf } = await import("../../../web/console/source/json_view.js");
const { cut, duration, plain } = await import("../../../web/console/source/format.js");

test("events are read whole, and what is cut off waits for the rest", () => {
  const { events, rest } = readEvents('retry: 1000\n\n: still here\n\nid: 7.3\nevent: reply.delta\ndata: {"text":"a: b"}\n\nid: 8\nev');

  assert.deepEqual(events, [{ id: "7.3", type: "reply.delta", data: { text: "a: b" } }]);
  assert.equal(rest, "id: 8\nev");
});

test("figures of a reply are marked once each, and never inside a longer number", () => {
  const sources = [{ text: "44", step: "a" }, { text: "440", step: "b" }, { text: "not there", step: "c" }];
  const pieces = piecesOf("₪440 or 44.", sources);

  assert.deepEqual(pieces.map((piece) => (typeof piece === "string" ? piece : [piece.text, piece.source.step])), ["₪", ["440", "b"], " or ", ["44", "a"], "."]);
});

test("a path leads to where its value is written", () => {
  const value = { options: [{ price: 1 }, { price: { ils: 440 } }] };
  const text = JSON.stringify(value, null, 2);
  const { begin, end } = placeOf(value, "options[1].price");

  assert.equal(text.slice(begin, end).replaceAll(/\s/g, ""), '{"ils":440}');
  assert.equal(placeOf(value, "options[7].price"), null);
});

test("values are written for people", () => {
  assert.deepEqual([null, true, 1234.5, ["a", 2], { a: 1 }].map(plain), ["–", "yes", (1234.5).toLocaleString(), "a, 2", '{"a":1}']);
  assert.deepEqual([8, 1_240, 185_000, 7_260_000, null].map(duration), ["8 ms", "1.24 s", "3 min 5 s", "2 h 1 min", "–"]);
  assert.equal(cut("abcdef", 4), "abc…");
});
