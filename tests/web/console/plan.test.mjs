// The plan as it is drawn: critical path, layout, time line. Run by test_sources.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import { criticalPath } from "../../../web/console/source/plan/critical_path.js";
import { pathOf } from "../../../web/console/source/plan/layout.js";
import { rowsOf, tickOf } from "../../../web/console/source/plan/timeline.js";
import { TurnState } from "../../../web/console/source/turn_state.js";

const step = (id, ms, ...needs) => ({ id, ms, needs });

test("the critical path is the longest by time, not by steps", () => {
  const path = criticalPath([step("end", 1, "c", "slow"), step("a", 1), step("b", 1, "a"), step("c", 1, "b"), step("slow", 9)]);

  assert.deepEqual([...path].sort(), ["end", "slow"]);
});

test("before anything has run, the critical path is the longest by steps", () => {
  assert.deepEqual([...criticalPath([step("a", null), step("b", null, "a"), step("alone", null)])].sort(), ["a", "b"]);
});

test("an unknown need, a cycle and an empty plan do no harm", () => {
  assert.deepEqual([...criticalPath([step("a", 1, "nobody")])], ["a"]);
  assert.ok(criticalPath([step("a", 1, "b"), step("b", 1, "a")]).size > 0);
  assert.equal(criticalPath([]).size, 0);
});

test("a long chain is no problem", () => {
  const chain = Array.from({ length: 20_000 }, (_, place) => step(`s${place}`, 1, ...(place ? [`s${place - 1}`] : [])));

  assert.equal(criticalPath(chain.reverse()).size, 20_000);
});

test("a line bends in the direction of the drawing", () => {
  const points = [{ x: 0, y: 0 }, { x: 10, y: 20 }];

  assert.equal(pathOf(points, false), "M0.0,0.0C5.0,0.0 5.0,20.0 10.0,20.0");
  assert.equal(pathOf(points, true), "M0.0,0.0C0.0,10.0 10.0,10.0 10.0,20.0");
});

test("the time line tells waiting and running apart", () => {
  const turn = new TurnState("t");
  turn.createdAt = 1_000;
  Object.assign(turn.step("a", "x"), { status: "succeeded", queuedAt: 1_100, startedAt: 1_150, finishedAt: 1_250 });

  const [row] = rowsOf(turn, 9_999);
  assert.deepEqual([row.from, row.begin, row.end, row.queueMs, row.runMs], [100, 150, 250, 50, 100]);
});

test("a time line has a handful of ticks, at round times", () => {
  assert.deepEqual([4, 900, 31_000, 1e9].map(tickOf), [1, 200, 10_000, 3_600_000]);
});
