// When each part of a turn waited and ran: the plan, its steps, the reply.

import { h, say, set } from "../dom.js";
import { STEP_WORDS, duration } from "../format.js";
import { statusOf, timesOf } from "../turn_state.js";

const TICKS = 5;
const NICE_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 3_600_000];

/** Return the rows of a turn's time line in ms since its message: `{id, label, from, begin, end, status}`. Pure. */
export function rowsOf(turn, now) {
  const origin = turn.createdAt;
  if (origin === null) return [];
  const times = turn.document?.timings;
  const rows = [];
  if (times?.queued_ms != null) rows.push({ label: "planning", from: 0, begin: times.queued_ms, end: times.queued_ms + (times.planning_ms ?? 0), status: "phase" });
  for (const step of turn.planned) {
    const { runMs, queueMs } = timesOf(step, now);
    if (step.status === "waiting_approval") rows.push(asked(step, turn, now));
    if (step.status === "waiting_approval" || (step.startedAt === null && queueMs === null)) continue;
    const begin = step.startedAt === null ? step.queuedAt + queueMs - origin : step.startedAt - origin;
    rows.push({ id: step.id, label: step.id, from: begin - (queueMs ?? 0), begin, end: begin + (runMs ?? 0), status: statusOf(step, turn), runMs, queueMs });
  }
  if (times?.responding_ms != null && times.total_ms != null) rows.push({ label: "reply", from: times.total_ms - times.responding_ms, begin: times.total_ms - times.responding_ms, end: times.total_ms, status: "phase" });
  return rows;
}

/** Return the row of a step that waits for a person, who is no worker. */
function asked(step, turn, now) {
  const begin = (Date.parse(step.approval?.asked_at) || now) - turn.createdAt;
  const end = now - turn.createdAt;
  return { id: step.id, label: step.id, from: begin, begin, end, status: step.status, runMs: end - begin, queueMs: null };
}

/** Return the ms between two ticks of a time line of this length. Pure. */
export function tickOf(length) {
  return NICE_MS.find((ms) => length / ms <= TICKS) ?? NICE_MS.at(-1);
}

/** The time line. `onChoose(id)` is called when a step is chosen. */
export class Timeline {
  #rows = new Map();

  constructor({ onChoose }) {
    Object.assign(this, { onChoose, order: "planned" });
    this.list = h("ol", { class: "rows" });
    this.axis = h("div", { class: "axis", "aria-hidden": "true" });
    const choose = (event) => this.#reorder(event.target.value);
    this.select = h("select", { id: "order", on: { change: choose } }, h("option", { value: "planned" }, "as planned"), h("option", { value: "executed" }, "as they ran"));
    const legend = h("p", { class: "legend hint", "aria-hidden": "true" }, h("i", { class: "waited" }), "waited for a worker", h("i", { class: "ran" }), "ran");
    const head = h("div", { class: "row" }, h("h3", {}, "Time line"), h("label", { class: "hint", for: "order" }, "Order ", this.select), legend);
    this.element = h("section", { class: "timeline", "aria-label": "Time line" }, head, this.list, this.axis);
  }

  /** Show a turn's times. */
  show(turn, now = Date.now()) {
    this.turn = turn;
    const rows = rowsOf(turn, now);
    const length = Math.max(1, ...rows.map((row) => row.end));
    const ranks = new Map(turn.executed.map((id, place) => [id, place + 1]));
    const planned = new Map([...turn.steps.keys()].map((id, place) => [id, place + 1]));
    if (this.order === "executed") rows.sort((one, other) => one.begin - other.begin);
    const seen = new Set(rows.map((row) => row.id ?? row.label));
    for (const [key, { item }] of this.#rows) if (!seen.has(key)) item.remove(), this.#rows.delete(key);
    const items = rows.map((row) => this.#draw(row, length, planned.get(row.id), ranks.get(row.id)));
    if (items.some((item, place) => this.list.children[place] !== item)) this.list.replaceChildren(...items);
    this.#drawAxis(length);
    this.element.hidden = rows.length === 0;
  }

  #draw(row, length, planned, ran) {
    const key = row.id ?? row.label;
    if (!this.#rows.has(key)) this.#rows.set(key, this.#newRow(row));
    const { item, order, waited, bar, queued, said } = this.#rows.get(key);
    const share = (ms) => `${((100 * ms) / length).toFixed(3)}%`;
    Object.assign(waited.style, { left: share(row.from), width: share(row.begin - row.from) });
    Object.assign(bar.style, { left: share(row.begin), width: share(row.end - row.begin) });
    set(item, "class", row.status);
    const ranks = planned ? `${planned}${ran ? ` → ${ran}` : ""}` : "";
    say(order, ranks);
    set(order, "title", planned ? `planned ${planned}${ran ? `, ran as ${ran}` : ", has not run"}` : null);
    say(queued, row.queueMs >= 1 ? `${duration(row.queueMs)} + ` : "");
    say(said, duration(row.id ? row.runMs : row.end - row.begin));
    return item;
  }

  #newRow({ id, label }) {
    const name = id ? h("button", { type: "button", class: "name", on: { click: () => this.onChoose(id) } }, label) : h("span", { class: "name" }, label);
    const [order, waited, bar] = [h("span", { class: "order" }), h("i", { class: "waited" }), h("i", { class: "ran" })];
    const [queued, said] = [h("span", { class: "queued" }), h("span")];
    const item = h("li", {}, name, order, h("span", { class: "track", "aria-hidden": "true" }, waited, bar), h("span", { class: "took" }, queued, said));
    return { item, order, waited, bar, queued, said };
  }

  #drawAxis(length) {
    const tick = tickOf(length);
    const count = Math.floor(length / tick) + 1;
    const key = `${tick} ${count} ${length.toFixed(0)}`;
    if (this.axis.dataset.key === key) return;
    this.axis.dataset.key = key;
    const marks = Array.from({ length: count }, (_, place) => {
      const mark = h("span", {}, tickLabel(place * tick));
      mark.style.left = `${(100 * place * tick) / length}%`;
      return mark;
    });
    this.axis.replaceChildren(h("div", {}, ...marks));
  }

  #reorder(order) {
    this.order = order;
    if (this.turn) this.show(this.turn);
  }
}

function tickLabel(ms) {
  if (ms < 1_000 || ms % 1_000 !== 0 || ms >= 120_000) return duration(ms);
  return `${ms / 1_000} s`;
}

/** Return the steps of a turn as a table: the same as graph and time line, for those who cannot see these. */
export function stepTable(turn, onChoose) {
  const heads = ["Step", "Tool", "Status", "Needs", "Planned", "Ran", "Attempt", "Waited", "Ran for", "Worker", "Cache"];
  const ranks = new Map(turn.executed.map((id, place) => [id, place + 1]));
  const rows = turn.planned.map((step, place) => {
    const { runMs, queueMs } = timesOf(step);
    const open = h("button", { type: "button", class: "link", "data-step": step.id, on: { click: () => onChoose(step.id) } }, step.id);
    const cells = [step.tool, STEP_WORDS[statusOf(step, turn)], step.needs.join(", ") || "–", place + 1, ranks.get(step.id) ?? "–", step.attempt || "–", duration(queueMs), duration(runMs), step.worker ?? "–", step.cache ?? "–"];
    return h("tr", {}, h("th", { scope: "row" }, open), ...cells.map((cell) => h("td", {}, String(cell))));
  });
  const caption = h("caption", { class: "unseen" }, "The steps of the turn, in the order of the plan");
  const head = h("thead", {}, h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name))));
  return h("table", {}, caption, head, h("tbody", {}, ...rows));
}
