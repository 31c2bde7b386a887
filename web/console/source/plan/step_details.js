// Everything about one step; and the little of it that is shown while it is pointed at.

import { fill, h, icon } from "../dom.js";
import { workerAddress } from "../flower.js";
import { STEP_WORDS, cut, duration, timeOfDay } from "../format.js";
import { jsonView } from "../json_view.js";
import { statusOf, timesOf } from "../turn_state.js";

/** The statuses of turns that can be run again: others have no reply of the agent's own. */
const ENDED = new Set(["succeeded", "failed"]);

/** The sheet with a step's arguments, result, times. `onClose` is called when somebody closes it; the rest: PlanPanel. */
export class StepDetails {
  #shown = "";

  constructor({ onClose, onChoose, mayFork, flowerUrl, onDecide }) {
    Object.assign(this, { onClose, onChoose, mayFork, flowerUrl, onDecide, id: null, path: null });
    this.element = h("section", { class: "details", hidden: true, tabindex: "-1", on: { keydown: (event) => this.#key(event) } });
  }

  /** Open the sheet for a step. `path`: the part of its result to mark. */
  open(id, path = null) {
    Object.assign(this, { id, path });
    this.#shown = "";
    this.element.hidden = false;
  }

  close() {
    this.id = null;
    this.element.hidden = true;
  }

  /** Show the step as it stands; what has not changed stays as it is, with its scroll position. */
  show(turn) {
    const step = this.id === null ? null : turn.steps.get(this.id);
    if (!step) return this.close();
    const key = JSON.stringify([step.status, step.attempt, step.retries, step.args, step.result !== undefined, step.error, step.approval, this.path, turn.status]);
    if (key === this.#shown) return;
    this.#shown = key;
    const close = h("button", { type: "button", class: "quiet", "aria-label": "Close", on: { click: () => this.onClose() } }, icon("close"));
    const head = h("header", { class: "row" }, h("h3", {}, step.id, " ", h("code", {}, step.tool)), close);
    const hadFocus = this.element.contains(document.activeElement);
    fill(this.element, head, facts(step, turn, this.flowerUrl), ...this.#parts(step, turn));
    if (hadFocus) this.element.focus({ preventScroll: true });
    this.element.setAttribute("aria-label", `Step ${step.id}`);
    this.element.querySelector("mark")?.scrollIntoView({ block: "nearest" });
  }

  #parts(step, turn) {
    const planned = turn.document?.plans.flatMap((plan) => plan.steps).find((each) => each.id === step.id);
    const needs = step.needs.map((need) => h("button", { type: "button", class: "link", on: { click: () => this.onChoose(need) } }, need));
    const hasResult = step.result !== undefined && step.result !== null;
    const again = `#/turns/${turn.turnId}?from=${encodeURIComponent(step.id)}`;
    const decide = () => this.onDecide(step.id);
    return [
      this.mayFork && ENDED.has(turn.status) && h("p", {}, h("a", { class: "button", href: again }, icon("replays"), "Run again from here…")),
      step.status === "unknown" && this.onDecide && h("button", { type: "button", on: { click: decide } }, "Decide what became of it…"),
      planned?.reason && h("p", {}, planned.reason),
      needs.length > 0 && h("p", { class: "hint" }, "Needs ", ...needs.flatMap((button, place) => (place ? [", ", button] : [button]))),
      step.error && part("Error", jsonView(step.error)),
      step.approval?.decision && part("Approval", jsonView(step.approval)),
      hasResult && part("Result", jsonView(step.result, this.path)),
      part("Arguments", step.args === null ? h("p", { class: "hint" }, "not known yet") : jsonView(step.args)),
      planned && JSON.stringify(planned.args) !== JSON.stringify(step.args) && part("Arguments in the plan", jsonView(planned.args)),
    ].filter(Boolean);
  }

  #key(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    this.onClose();
  }
}

/** Return the lines of a step that pointing at it shows. */
export function preview(step, turn) {
  const { runMs, queueMs } = timesOf(step);
  const told = step.error ? `${step.error.code}: ${step.error.message}` : step.result === undefined || step.result === null ? null : cut(JSON.stringify(step.result), 180);
  return [
    h("strong", {}, step.id),
    h("span", {}, STEP_WORDS[statusOf(step, turn)], step.attempt > 1 ? `, attempt ${step.attempt}` : "", step.cache ? `, from ${step.cache}` : ""),
    h("span", {}, `waited ${duration(queueMs)}, ran ${duration(runMs)}${step.worker ? ` on ${step.worker}` : ""}`),
    step.args && h("code", {}, cut(JSON.stringify(step.args), 140)),
    told && h("code", {}, told),
  ];
}

function facts(step, turn, flowerUrl) {
  const { runMs, queueMs } = timesOf(step);
  const shown = {
    Status: STEP_WORDS[statusOf(step, turn)],
    Effect: step.effect,
    Attempt: step.attempt || null,
    Retries: step.retries || null,
    Worker: workerOf(step.worker, flowerUrl),
    Cache: step.cache,
    Queued: step.queuedAt && timeOfDay(step.queuedAt),
    Waited: queueMs === null ? null : duration(queueMs),
    Started: step.startedAt && timeOfDay(step.startedAt),
    "Ran for": runMs === null ? null : duration(runMs),
  };
  const known = Object.entries(shown).filter(([, value]) => value !== null && value !== undefined && value !== 0);
  return h("dl", { class: "facts" }, ...known.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function workerOf(worker, flowerUrl) {
  const href = workerAddress(worker, flowerUrl);
  return href ? h("a", { href, target: "_blank", rel: "noopener" }, worker) : worker;
}

function part(name, content) {
  return h("section", { class: "part" }, h("h4", {}, name), content);
}
