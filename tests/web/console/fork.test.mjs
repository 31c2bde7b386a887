// What runs again from a step, and the plan that is offered to be changed. Run by test_sources.py.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.location = new URL("http://127.0.0.1/");
const { followers, wholePlan } = await import("../../../web/console/source/turns/fork_editor.js");

const step = (id, ...needs) => ({ id, needs });

test("a step runs again with all that needs it, in the order of the plan", () => {
  const steps = [step("d", "c"), step("a"), step("c", "b"), step("b", "a"), step("e")];

  assert.deepEqual(followers(steps, "b"), ["d", "c", "b"]);
  assert.deepEqual(followers(steps, "e"), ["e"]);
});

test("revisions become one plan, without what says nothing", () => {
  const first = { action: "look", current_phase: "one", steps: [{ id: "a", tool: "t", args: {}, needs: [], reason: null }] };
  const second = { action: "book", current_phase: "two", steps: [{ id: "b", tool: "t", args: { x: 1 }, needs: ["a"] }] };

  const whole = wholePlan([first, second]);

  assert.deepEqual(whole, { action: "look", steps: [{ id: "a", tool: "t", args: {} }, { id: "b", tool: "t", args: { x: 1 }, needs: ["a"] }] });
});
