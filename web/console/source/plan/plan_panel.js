// Beside the chat: what the chosen turn is doing. Graph, details of a step, time line, table.

import { fill, h, icon, say } from "../dom.js";
import { TURN_WORDS, duration, number } from "../format.js";
import { FINAL_STEP } from "../turn_state.js";
import { PlanGraph } from "./graph.js";
import { StepDetails, preview } from "./step_details.js";
import { Timeline, stepTable } from "./timeline.js";

const CLOCK_MS = 250;

/**
 * The panel of a turn's plan. `show(turn)` follows a turn until another one is shown.
 *
 * `mayFork`: whether the key may run it again. `flowerUrl`: where workers are shown, if anywhere. `onDecide(stepId)`,
 * if given, decides a step of unknown outcome.
 */
export class PlanPanel {
  #turn = null;
  #redraw = () => this.#draw();
  #revision = null;
  #timesDrawn = 0;

  constructor({ onClose, mayFork, flowerUrl, onDecide }) {
    const choose = (id) => this.openStep(id);
    this.graph = new PlanGraph({ onChoose: choose, onPoint: (id, node) => this.#point(id, node) });
    this.details = new StepDetails({ onClose: () => this.#closeStep(), onChoose: choose, mayFork, flowerUrl, onDecide });
    this.timeline = new Timeline({ onChoose: choose });
    this.title = h("h2", {}, "Plan");
    this.summary = h("p", { class: "hint" });
    this.revisions = h("div", { class: "row revisions", role: "group", "aria-label": "Revisions of the plan" });
    this.hover = h("div", { class: "hover", hidden: true, "aria-hidden": "true" });
    this.rows = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Steps as a table" });
    this.table = h("details", { on: { toggle: () => this.#drawTable() } }, h("summary", {}, "Steps as a table"), this.rows);
    const close = h("button", { type: "button", class: "quiet back", on: { click: onClose } }, icon("back"), "Chat");
    const head = h("header", { class: "bar" }, close, h("div", {}, this.title, this.summary));
    this.inner = h("div", { class: "inner" }, this.revisions, h("div", { class: "stage" }, this.graph.element, this.hover, this.details.element), this.timeline.element, this.table);
    this.blank = h("p", { class: "blank" }, icon("plan"), "Send a message, and watch its plan here while it is written and carried out.");
    this.element = h("section", { class: "plan", "aria-label": "Plan", on: { keydown: (event) => event.key === "Escape" && onClose() } }, head, this.blank, this.inner);
    this.clear();
    setInterval(() => this.#tick(), CLOCK_MS);
  }

  /** Follow this turn from now on. */
  show(turn) {
    if (turn === this.#turn) return;
    this.#turn?.removeEventListener("change", this.#redraw);
    this.#turn = turn;
    this.#revision = null;
    this.#timesDrawn = 0;
    this.details.close();
    this.#reveal(true);
    turn.addEventListener("change", this.#redraw);
    this.#draw();
  }

  /** Show that no turn is chosen. */
  clear() {
    this.#turn?.removeEventListener("change", this.#redraw);
    this.#turn = null;
    this.details.close();
    this.#reveal(false);
    say(this.title, "Plan");
    say(this.summary, "");
  }

  /** Open the sheet of a step; `path` is the part of its result to mark. */
  openStep(id, path = null) {
    if (!this.#turn?.state.steps.has(id)) return;
    this.details.open(id, path);
    this.#draw();
    this.graph.choose(id);
    this.details.element.focus({ preventScroll: true });
    this.details.element.scrollIntoView({ block: "nearest" });
    const { steps } = this.#turn.state;
    if (steps.get(id).result === undefined && FINAL_STEP.has(steps.get(id).status)) this.#turn.reload().catch(() => {});
  }

  #reveal(isShown) {
    this.inner.hidden = !isShown;
    this.blank.hidden = isShown;
  }

  #closeStep() {
    const { id } = this.details;
    this.details.close();
    this.graph.choose(null);
    this.graph.focus(id);
  }

  #draw() {
    const { state } = this.#turn;
    say(this.title, state.action ?? "Plan");
    say(this.summary, summaryOf(state));
    this.#drawRevisions(state);
    this.graph.show(state, this.#revision);
    this.details.show(state);
    if (state.isFinal || performance.now() - this.#timesDrawn >= CLOCK_MS) this.#drawTimes();
  }

  /** Draw what has a row for each step. It changes with the clock anyway; many events a second are no reason to hurry. */
  #drawTimes() {
    this.#timesDrawn = performance.now();
    this.timeline.show(this.#turn.state);
    this.#drawTable();
  }

  #drawRevisions({ plans }) {
    this.revisions.hidden = plans.length < 2;
    const key = `${plans.map((plan) => plan.revision)} ${this.#revision}`;
    if (this.revisions.dataset.key === key) return;
    this.revisions.dataset.key = key;
    const choices = [[null, "All"], ...plans.map(({ revision }) => [revision, `Revision ${revision}`])];
    fill(this.revisions, choices.map(([revision, name]) => this.#revisionButton(revision, name)));
  }

  #revisionButton(revision, name) {
    const choose = () => {
      this.#revision = revision;
      this.#draw();
      this.revisions.querySelector("[aria-pressed=true]")?.focus();
    };
    return h("button", { type: "button", class: "choice", "aria-pressed": String(revision === this.#revision), on: { click: choose } }, name);
  }

  #drawTable() {
    if (!this.table.open || !this.#turn) return;
    const focused = this.rows.contains(document.activeElement) && document.activeElement.dataset.step;
    fill(this.rows, stepTable(this.#turn.state, (id) => this.openStep(id)));
    if (focused) this.rows.querySelector(`[data-step="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  #point(id, node) {
    this.hover.hidden = id === null || !this.details.element.hidden;
    if (this.hover.hidden) return;
    const { state } = this.#turn;
    fill(this.hover, preview(state.steps.get(id), state));
    const [at, stage] = [node.getBoundingClientRect(), this.hover.parentElement.getBoundingClientRect()];
    const left = Math.min(Math.max(8, at.left - stage.left), Math.max(8, stage.width - this.hover.offsetWidth - 8));
    Object.assign(this.hover.style, { left: `${left}px`, top: `${at.bottom - stage.top + 8}px` });
  }

  /** What runs grows while nothing else changes. */
  #tick() {
    if (document.hidden || !this.#turn || this.#turn.state.isFinal || !this.element.offsetParent) return;
    this.#drawTimes();
  }
}

function summaryOf(turn) {
  const done = turn.planned.filter((step) => FINAL_STEP.has(step.status)).length;
  const parts = [TURN_WORDS[turn.status], `${done} of ${turn.steps.size} steps`];
  const { timings, usage } = turn.document ?? {};
  if (turn.isFinal && timings?.total_ms) parts.push(`${duration(timings.total_ms)} in all`);
  if (turn.isFinal && timings?.critical_path_ms) parts.push(`critical path ${duration(timings.critical_path_ms)}`);
  if (usage?.llm_calls) parts.push(`${number(usage.prompt_tokens + usage.completion_tokens)} tokens`);
  if (usage?.cost) parts.push(`$${usage.cost.toFixed(4)}`);
  return parts.join(" · ");
}
