// The state of one turn, as its events and its document tell it. Pure: no DOM, no network.

export const FINAL_TURN = new Set(["succeeded", "failed", "cancelled", "superseded"]);
export const FINAL_STEP = new Set(["succeeded", "needs_input", "failed", "skipped", "cancelled", "unknown"]);

/** A turn and its steps. `apply` takes an event, `merge` the document of `GET /v1/turns/{id}`; both keep what they know. */
export class TurnState {
  constructor(turnId) {
    Object.assign(this, {
      turnId,
      status: "queued",
      action: null,
      createdAt: null,
      plans: [],
      steps: new Map(),
      told: "",
      reply: null,
      error: null,
      supersededBy: null,
      lastEventId: undefined,
      document: null,
    });
  }

  get isFinal() {
    return FINAL_TURN.has(this.status);
  }

  /** The steps in the order of the plan. */
  get planned() {
    return [...this.steps.values()];
  }

  /** Ids of the steps that have begun, in the order of their start. */
  get executed() {
    const begun = this.planned.filter((step) => step.startedAt !== null);
    return begun.sort((one, other) => one.startedAt - other.startedAt).map((step) => step.id);
  }

  /** Take one event: `{id, type, data}`. */
  apply({ id, type, data }) {
    this.lastEventId = id ?? this.lastEventId;
    const at = data.at ? Date.parse(data.at) : null;
    HANDLERS[type]?.(this, data, at);
    if (type.startsWith("turn.") && type !== "turn.queued") this.#end(type.slice("turn.".length), data);
  }

  /** Take the document of the turn. It may be older than the last events: what they began or ended stays so. */
  merge(told) {
    this.document = told;
    if (!this.isFinal) this.status = told.status;
    this.createdAt = Date.parse(told.created_at);
    this.action = told.action ?? this.action;
    this.supersededBy = told.superseded_by ?? this.supersededBy;
    this.reply = told.reply ?? this.reply;
    this.error = told.error ?? this.error;
    for (const plan of told.plans) this.notePlan(plan.revision, plan.action, plan.steps.map((step) => step.id));
    this.#arrange(told.steps);
  }

  /** Return a step, made if it is new. */
  step(id, tool) {
    if (!this.steps.has(id)) this.steps.set(id, newStep(id, tool));
    return this.steps.get(id);
  }

  /** Note a revision of the plan. */
  notePlan(revision, action, ids) {
    const known = this.plans.find((plan) => plan.revision === revision);
    if (known) Object.assign(known, { ids: [...new Set([...known.ids, ...ids])] });
    else this.plans.push({ revision, action, ids: [...ids] });
    this.plans.sort((one, other) => one.revision - other.revision);
  }

  #arrange(told) {
    const before = this.steps;
    this.steps = new Map(told.map(({ id, tool }) => [id, before.get(id) ?? newStep(id, tool)]));
    const isWritten = this.plans.length > 0;
    for (const [id, step] of before) if (!this.steps.has(id) && !(step.isDraft && isWritten)) this.steps.set(id, step);
    for (const each of told) mergeStep(this.steps.get(each.id), each);
  }

  #end(status, data) {
    this.status = status;
    this.error = data.error ?? null;
    this.supersededBy = data.superseded_by ?? this.supersededBy;
  }
}

/** Return a step's status for people: like the API's, `queued` if all that it needs has ended, `retrying` in a pause. */
export function statusOf(step, turn) {
  if (step.status === "running" && step.isRetrying) return "retrying";
  if (step.status !== "pending" || step.isDraft || turn.isFinal) return step.status;
  if (step.isRetrying) return "retrying";
  const isReady = step.needs.every((need) => FINAL_STEP.has(turn.steps.get(need)?.status));
  return isReady && ["running", "planning"].includes(turn.status) ? "queued" : "pending";
}

/** Return how long a step has run and waited so far, in ms; null for what has not begun. */
export function timesOf(step, now = Date.now()) {
  const runMs = step.durationMs ?? between(step.startedAt, step.finishedAt ?? now);
  const isWaiting = step.status === "pending" && !step.isRetrying;
  const queueMs = step.queueMs ?? between(step.queuedAt, step.startedAt ?? (isWaiting ? now : null));
  return { runMs, queueMs };
}

function newStep(id, tool) {
  return {
    id, tool, needs: [], status: "pending", isDraft: true, isRetrying: false, attempt: 0, retries: 0, worker: null,
    cache: null, effect: null, queuedAt: null, startedAt: null, finishedAt: null, durationMs: null, queueMs: null,
    args: null, result: undefined, error: null, approval: null,
  };
}

function mergeStep(step, told) {
  const isBehind = told.attempt < step.attempt || (FINAL_STEP.has(step.status) && !FINAL_STEP.has(told.status));
  Object.assign(step, { isDraft: false, tool: told.tool, needs: told.needs, args: told.args, effect: told.effect });
  if (isBehind) return;
  const status = told.status === "queued" ? "pending" : told.status;
  Object.assign(step, {
    status, attempt: told.attempt, worker: told.worker, cache: told.cache, result: told.result, error: told.error,
    approval: told.approval, durationMs: told.duration_ms, queueMs: told.queue_ms,
    queuedAt: parsed(told.queued_at), startedAt: parsed(told.started_at), finishedAt: parsed(told.finished_at),
  });
  if (told.error?.retry_at) step.isRetrying = true;
  else if (status !== "running") step.isRetrying = false;
}

const HANDLERS = {
  "turn.queued": (turn, data, at) => {
    turn.createdAt ??= at;
    if (data.code) turn.status = "queued";
  },
  "plan.started": (turn) => {
    turn.status = "planning";
  },
  "plan.step": (turn, data) => void turn.step(data.step, data.tool),
  "plan.ready": ready,
  "plan.revised": ready,
  "step.started": (turn, data, at) => {
    const step = turn.step(data.step, data.tool);
    const { tool = step.tool, attempt, worker } = data;
    Object.assign(step, { status: "running", isRetrying: false, tool, attempt, worker });
    step.queuedAt ??= readyAt(turn, step);
    step.startedAt ??= at;
  },
  "step.retry": (turn, data) => {
    const step = turn.step(data.step, data.tool);
    Object.assign(step, { isRetrying: true, retries: step.retries + 1, tool: data.tool ?? step.tool });
  },
  "approval.requested": (turn, data, at) => {
    const { args, args_hash, lapses_at } = data;
    const approval = { args_hash, lapses_at, asked_at: data.at, decision: null };
    Object.assign(turn.step(data.step, data.tool), { status: "waiting_approval", args, approval });
    turn.status = "waiting_approval";
    turn.createdAt ??= at;
  },
  "step.finished": (turn, data, at) => {
    const step = turn.step(data.step, data.tool);
    const { status, error = null, cache = null, attempt = step.attempt } = data;
    Object.assign(step, { status, error, cache, attempt, isRetrying: false, isDraft: false, finishedAt: at });
    step.durationMs = data.duration_ms ?? step.durationMs;
    if (turn.status === "waiting_approval" && !someWait(turn)) turn.status = "running";
  },
  "reply.delta": (turn, data) => {
    turn.told += data.text;
    if (turn.status === "running") turn.status = "responding";
  },
  "reply.done": (turn, data) => {
    turn.reply = data;
  },
};

function ready(turn, data, at) {
  turn.status = "running";
  turn.action = data.action ?? turn.action;
  turn.notePlan(data.revision, data.action, data.steps.map((step) => step.id));
  const planned = new Set(data.steps.map((step) => step.id));
  for (const [id, step] of turn.steps) if (step.isDraft && !planned.has(id) && !step.startedAt) turn.steps.delete(id);
  for (const { id, tool, needs } of data.steps) {
    const step = turn.step(id, tool);
    Object.assign(step, { tool, needs, isDraft: false });
    if (needs.length === 0) step.queuedAt ??= at;
  }
}

function readyAt(turn, step) {
  const ends = step.needs.map((need) => turn.steps.get(need)?.finishedAt).filter(Boolean);
  return ends.length > 0 ? Math.max(...ends) : null;
}

function someWait(turn) {
  return turn.planned.some((step) => step.status === "waiting_approval");
}

function between(begin, end) {
  return begin === null || end === null ? null : Math.max(0, end - begin);
}

function parsed(moment) {
  return moment ? Date.parse(moment) : null;
}
