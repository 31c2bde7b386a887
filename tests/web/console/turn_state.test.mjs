// The state of a turn, from its events and its document. Run by test_sources.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import { TurnState, statusOf, timesOf } from "../../../web/console/source/turn_state.js";

const AT = "2026-11-25T10:00:0";

function told(...events) {
  const turn = new TurnState("t");
  events.forEach(([type, data, second = 0], place) => turn.apply({ id: String(place + 1), type, data: { at: `${AT}${second}Z`, ...data } }));
  return turn;
}

const PLAN = ["plan.ready", { revision: 1, action: "Go", steps: [{ id: "a", tool: "x.a", needs: [] }, { id: "b", tool: "x.b", needs: ["a"] }] }, 1];

test("a step is queued once all that it needs has ended", () => {
  const turn = told(["turn.queued", {}], PLAN);

  assert.deepEqual(turn.planned.map((step) => statusOf(step, turn)), ["queued", "pending"]);
  turn.apply({ id: "3", type: "step.finished", data: { step: "a", tool: "x.a", status: "failed", attempt: 1, at: `${AT}2Z` } });
  assert.deepEqual(turn.planned.map((step) => statusOf(step, turn)), ["failed", "queued"]);
});

test("a plan grows while it is written, and steps that the final plan lacks go", () => {
  const turn = told(["plan.started", { revision: 1 }], ["plan.step", { step: "a", tool: "x.a" }], ["plan.step", { step: "c", tool: "x.c" }]);

  assert.deepEqual(turn.planned.map((step) => [step.id, statusOf(step, turn)]), [["a", "pending"], ["c", "pending"]]);
  turn.apply({ id: "4", type: PLAN[0], data: PLAN[1] });
  assert.deepEqual([...turn.steps.keys()], ["a", "b"]);
});

test("a retry is shown until the next attempt begins", () => {
  const turn = told(PLAN, ["step.started", { step: "a", attempt: 1, worker: "w" }, 2], ["step.retry", { step: "a", attempt: 1, try: 1, code: "X" }, 2]);
  const [step] = turn.planned;

  assert.equal(statusOf(step, turn), "retrying");
  turn.apply({ id: "9", type: "step.started", data: { step: "a", attempt: 2, worker: "v", at: `${AT}3Z` } });
  assert.deepEqual([statusOf(step, turn), step.attempt, step.worker], ["running", 2, "v"]);
});

test("a document that is older than the events takes nothing back", () => {
  const turn = told(PLAN, ["step.finished", { step: "a", tool: "x.a", status: "succeeded", attempt: 1, duration_ms: 5 }, 3], ["turn.succeeded", { error: null }, 4]);
  const running = { id: "a", tool: "x.a", args: { n: 1 }, needs: [], effect: "read", status: "running", attempt: 1 };
  turn.merge({ status: "running", created_at: `${AT}0Z`, plans: [], steps: [running], reply: null });

  assert.deepEqual([turn.status, turn.steps.get("a").status, turn.steps.get("a").args], ["succeeded", "succeeded", { n: 1 }]);
});

test("a document from before a step's start does not stop it, and one from after its retry does", () => {
  const turn = told(PLAN, ["step.started", { step: "a", attempt: 1, worker: "w" }, 2]);
  const documentOf = (step) => ({ status: "running", created_at: `${AT}0Z`, plans: [], steps: [{ id: "a", tool: "x.a", needs: [], args: {}, ...step }], reply: null });

  turn.merge(documentOf({ status: "queued", attempt: 0, worker: null, started_at: null }));
  const step = turn.steps.get("a");
  assert.deepEqual([step.status, step.worker, step.startedAt], ["running", "w", Date.parse(`${AT}2Z`)]);
  turn.merge(documentOf({ status: "queued", attempt: 1, worker: null, started_at: null }));
  assert.deepEqual([statusOf(step, turn), step.worker], ["queued", null]);
});

test("the document brings what events leave out, and exact times", () => {
  const turn = told(PLAN);
  const ended = { id: "a", tool: "x.a", args: {}, needs: [], effect: "read", status: "succeeded", attempt: 1, result: [1], duration_ms: 12.5, queue_ms: 3, queued_at: `${AT}1Z`, started_at: `${AT}2Z`, finished_at: `${AT}3Z` };
  turn.merge({ status: "running", created_at: `${AT}0Z`, plans: [{ revision: 1, steps: [{ id: "a" }, { id: "b" }] }], steps: [ended], reply: null });

  const step = turn.steps.get("a");
  assert.deepEqual([step.result, timesOf(step)], [[1], { runMs: 12.5, queueMs: 3 }]);
  assert.deepEqual(turn.plans, [{ revision: 1, action: "Go", ids: ["a", "b"] }]);
});

test("steps that run grow, and steps that wait for approval do not", () => {
  const turn = told(PLAN, ["step.started", { step: "a", attempt: 1, worker: "w" }, 2]);
  const now = Date.parse(`${AT}5Z`);

  assert.deepEqual(timesOf(turn.steps.get("a"), now), { runMs: 3_000, queueMs: 1_000 });
  turn.apply({ id: "9", type: "approval.requested", data: { step: "b", tool: "x.b", args: {}, args_hash: "h", at: `${AT}4Z` } });
  assert.deepEqual(timesOf(turn.steps.get("b"), now), { runMs: null, queueMs: null });
  assert.equal(turn.status, "waiting_approval");
});

test("the order of execution is that of the starts", () => {
  const turn = told(PLAN, ["step.started", { step: "b", attempt: 1 }, 2], ["step.started", { step: "a", attempt: 1 }, 3]);

  assert.deepEqual(turn.executed, ["b", "a"]);
});
