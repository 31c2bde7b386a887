// The figures of days as lines of a chart. Run by test_sources.py.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.location = new URL("http://127.0.0.1/");
const { daily } = await import("../../../web/console/source/quality/quality_page.js");

const item = (day, turns, failed) => ({ day, turns, failed, questions: 0, checked: 0, grounded: 0 });

test("the agents of a day are added up, and days are in order", () => {
  const { times, line } = daily([item("2026-11-25", 10, 1), item("2026-11-24", 4, 0), item("2026-11-25", 10, 3)]);

  assert.deepEqual(times, [Date.parse("2026-11-24") / 1_000, Date.parse("2026-11-25") / 1_000]);
  assert.deepEqual([line("turns"), line("failed")], [[4, 20], [0, 20]]);
});

test("a share of nothing is a gap", () => {
  assert.deepEqual(daily([item("2026-11-25", 10, 1)]).line("not grounded"), [null]);
});
