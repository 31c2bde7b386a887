// What a text changes of a prompt, line by line. Run by test_sources.py.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.location = new URL("http://127.0.0.1/");
const { folded, linesOf } = await import("../../../web/console/source/prompts/prompt_changes.js");

const kinds = (lines) => lines.map(({ kind, text }) => `${kind} ${text}`);

test("a changed line is removed and added, the others are the same", () => {
  assert.deepEqual(kinds(linesOf("a\nb\nc\n", "a\nB\nc\n")), ["same a", "removed b", "added B", "same c"]);
  assert.deepEqual(kinds(linesOf("", "a\n")), ["added a"]);
  assert.deepEqual(linesOf("", ""), []);
});

test("lines far from a change are folded", () => {
  const same = Array.from({ length: 20 }, (_, place) => ({ kind: "same", text: String(place) }));
  same[10] = { kind: "added", text: "x" };

  assert.deepEqual(kinds(folded(same)), ["folded 7 lines are the same", "same 7", "same 8", "same 9", "added x", "same 11", "same 12", "same 13", "folded 6 lines are the same"]);
  assert.deepEqual(kinds(folded(same.slice(0, 1))), ["folded 1 line is the same"]);
});

test("texts with next to nothing in common are not compared for long", () => {
  const text = (word) => Array.from({ length: 20_000 }, (_, place) => `${word} ${place % 97} ${(place * 7919) % 997}\n`).join("");
  const lines = linesOf(text("a"), text("b"));

  assert.ok(lines.some(({ kind }) => kind === "removed") && lines.some(({ kind }) => kind === "added"));
});
