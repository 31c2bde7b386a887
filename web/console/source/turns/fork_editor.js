// Run a turn again from one of its steps: choose the step, change results or the plan, and send it to the workers of replays.

import { call, path } from "../api.js";
import { announce, fill, h, say } from "../dom.js";
import { STEP_WORDS } from "../format.js";

/** The page at `#/turns/TURN?from=STEP`. */
export class ForkEditor {
  #turn = null;
  #results = [];

  constructor() {
    this.back = h("a", {}, "← The turn");
    this.step = h("select", { name: "step", on: { change: () => this.#choose() } });
    this.again = h("p", { class: "hint", role: "status" });
    this.fields = h("div", { class: "parts" });
    this.plan = jsonField("plan", "Plan");
    const plan = h("details", {}, h("summary", {}, "The plan"), h("p", { class: "hint" }, "If you change it, all its steps are run, and it takes the place of all revisions. It is checked first."), this.plan.element);
    this.problem = h("div", { class: "problem", role: "alert" });
    const about = h("p", { class: "hint" }, "The step and what depends on it run again, with what you change here; all other steps keep their recorded results. A call without a result is not made. Nothing is sent, and nothing is changed.");
    const chosen = h("div", { class: "filters" }, h("label", {}, "Run again from step", this.step));
    const form = h("form", { class: "parts", on: { submit: (event) => this.#send(event) } }, chosen, this.again, h("h2", {}, "Results"), this.fields, plan, this.problem, h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, "Run it again")));
    this.element = h("div", { class: "list-page one" }, h("header", {}, this.back, h("h1", {}, "Run a turn again"), about), form);
  }

  /** Show a turn's results and plan, to be changed. Raises Problem. */
  async open(turnId, step) {
    const told = await call("GET", path`v1/turns/${turnId}`);
    this.#turn = told;
    this.back.href = `#/turns/${turnId}`;
    fill(this.problem);
    fill(this.step, told.steps.map(({ id }) => h("option", { value: id }, id)));
    this.step.value = told.steps.some(({ id }) => id === step) ? step : (told.steps[0]?.id ?? "");
    this.#results = told.steps.map((each) => ({ step: each, field: jsonField(`result-${each.id}`, `Result of step ${each.id}`) }));
    for (const { step: each, field } of this.#results) field.show(each.result);
    fill(this.fields, this.#results.map(({ step: each, field }) => resultPart(each, field)));
    this.plan.show(told.plans.length > 0 ? wholePlan(told.plans) : null);
    this.#choose();
  }

  #choose() {
    const id = this.step.value;
    const again = followers(this.#turn.steps, id);
    say(this.again, id ? `Runs again: ${again.join(", ")}.` : "The turn has no steps.");
    for (const { step, field } of this.#results) field.element.parentElement.open = step.id === id;
  }

  async #send(event) {
    event.preventDefault();
    fill(this.problem);
    try {
      const body = { step: this.step.value };
      const results = this.#results.filter(({ field }) => field.isChanged).map(({ step, field }) => [step.id, field.read()]);
      if (results.length > 0) body.results = Object.fromEntries(results);
      if (this.plan.isChanged) body.plan = this.plan.read();
      const { replay_id } = await call("POST", path`v1/turns/${this.#turn.turn_id}/forks`, body);
      announce("The turn is being run again.");
      location.hash = `#/replays/${replay_id}`;
    } catch (problem) {
      fill(this.problem, h("p", {}, problem.message), faults(problem.errors ?? []));
    }
  }
}

/** Return the steps that run again from one: itself, and those that need it. Pure. */
export function followers(steps, id) {
  const found = new Set([id]);
  for (let before = 0; before !== found.size; ) {
    before = found.size;
    for (const step of steps) if (step.needs.some((need) => found.has(need))) found.add(step.id);
  }
  return steps.map((step) => step.id).filter((each) => found.has(each));
}

/** Return the revisions of a plan as one plan: the first one with the steps of all. Pure. */
export function wholePlan(plans) {
  const { current_phase, ...first } = plans[0];
  return { ...first, steps: plans.flatMap((plan) => plan.steps).map(written) };
}

/** A step without the fields that say nothing. */
function written(step) {
  return Object.fromEntries(Object.entries(step).filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0)));
}

function resultPart(step, field) {
  const summary = h("summary", {}, step.id, " ", h("code", {}, step.tool), h("span", { class: "hint" }, ` ${STEP_WORDS[step.status]}`));
  return h("details", {}, summary, field.element);
}

/** A field whose text is JSON. `isChanged`: whether somebody has changed it since it was shown. */
function jsonField(name, label) {
  let shown = "";
  const text = h("textarea", { name, rows: "12", spellcheck: "false", "aria-label": label });
  return {
    element: h("div", { class: "wide" }, text),
    show(value) {
      shown = value === null || value === undefined ? "" : JSON.stringify(value, null, 2);
      text.value = shown;
    },
    get isChanged() {
      return text.value.trim() !== shown.trim();
    },
    /** Raises SyntaxError, with words for people. */
    read() {
      try {
        return JSON.parse(text.value);
      } catch (error) {
        text.closest("details").open = true;
        text.focus();
        throw new SyntaxError(`${label} is not JSON: ${error.message}`);
      }
    },
  };
}

function faults(errors) {
  return errors.length > 0 && h("ul", { class: "notes" }, ...errors.map(({ field, detail }) => h("li", {}, field && h("code", {}, field), ` ${detail}`)));
}
