// A turn that the page follows, over a network whose answers come when the test says so. Run by test_sources.py.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.location = { href: "http://127.0.0.1/console/" };
globalThis.requestAnimationFrame = () => 0;
const { LiveTurn } = await import("../../../web/console/source/live_turn.js");

const documentOf = (status) => ({ status, created_at: "2026-11-25T10:00:00Z", plans: [], steps: [], reply: null });

test("who asks for the document while it is read gets one that was asked for later", async () => {
  const asked = [];
  globalThis.fetch = () => new Promise((resolve) => asked.push((status) => resolve(Response.json(documentOf(status)))));
  const turn = new LiveTurn("t");

  const first = turn.reload();
  const others = Promise.all([turn.reload(), turn.reload()]);
  asked[0]("planning");
  await first;
  assert.equal(turn.state.status, "planning");
  await new Promise(setImmediate);
  assert.equal(asked.length, 2);
  asked[1]("running");
  await others;

  assert.deepEqual([turn.state.status, asked.length], ["running", 2]);
});

test("a reading that fails does not spoil the next one", async () => {
  const answers = [Response.json({ detail: "away" }, { status: 503 }), Response.json(documentOf("running"))];
  globalThis.fetch = async () => answers.shift();
  const turn = new LiveTurn("t");

  const first = turn.reload();
  const second = turn.reload();
  await assert.rejects(first, /away/);
  await second;

  assert.equal(turn.state.status, "running");
});
