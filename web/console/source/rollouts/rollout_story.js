// One rollout: how turns with the new text go beside those with the old one, and its end.

import { call, mayPass, path } from "../api.js";
import { announce, fill, h, say } from "../dom.js";
import { duration, moment, number, share } from "../format.js";

const EVERY_MS = 5_000;
const OUTCOMES = { stopped: "stopped", promoted: "promoted", taken_back: "taken back" };
const TONES = { stopped: "cancelled", promoted: "succeeded", taken_back: "failed" };
const COUNT = (value) => number(value);
const COST = (value) => `$${value.toFixed(5)}`;
/** What is compared: label, field of a line, how a value is written. */
const MEASURES = [
  ["Turns", "turns", COUNT],
  ["Failed", "error_rate", share],
  ["Grounded replies", "grounded_rate", share],
  ["Valid plans", "plan_validity", share],
  ["Tool calls that succeeded", "tool_success", share],
  ["Asked back", "clarifying_rate", share],
  ["First word, median", "first_word_p50_ms", duration],
  ["First word, 95 %", "first_word_p95_ms", duration],
  ["Cost a turn", "cost_per_turn", COST],
  ["Rated up", "up", COUNT],
  ["Rated down", "down", COUNT],
];

/** The page at `#/rollouts/ROLLOUT`. It looks again for as long as the rollout runs and somebody sees it. */
export class RolloutStory {
  #timer = 0;
  #id = null;
  #shown = "";

  constructor() {
    this.title = h("h1", {});
    this.state = h("div", { class: "row" });
    this.facts = h("div");
    this.problem = h("p", { class: "problem", role: "alert" });
    this.table = h("div");
    const end = (words, way, kind) => h("button", { type: "button", class: kind, on: { click: () => this.#end(way) } }, words);
    const stop = end("Stop: the old text for all", "stop");
    this.actions = h("div", { class: "row" }, end("Promote: the new text for all", "promote", "primary"), stop);
    this.text = h("pre", { class: "json", tabindex: "0" });
    const folded = h("details", {}, h("summary", {}, "The new text"), this.text);
    const head = h("header", { class: "bar" }, h("div", {}, h("a", { href: "#/rollouts" }, "← Rollouts"), this.title), this.state);
    this.element = h("div", { class: "list-page one" }, head, this.facts, this.actions, this.problem, this.table, folded);
  }

  /** Show a rollout. Raises Problem. */
  async open(id) {
    this.#id = id;
    this.#shown = "";
    say(this.problem, "");
    await this.#read();
  }

  /** Follow it no more. */
  close() {
    clearTimeout(this.#timer);
    this.#id = null;
  }

  async #read() {
    const id = this.#id;
    const told = await call("GET", path`v1/rollouts/${id}`);
    if (id !== this.#id) return;
    this.#draw(told);
    clearTimeout(this.#timer);
    if (!told.rollout.outcome) this.#timer = setTimeout(() => this.#again(), EVERY_MS);
  }

  async #again() {
    if (!this.element.isConnected) return;
    await this.#read().catch((problem) => {
      say(this.problem, problem.message);
      if (mayPass(problem)) this.#timer = setTimeout(() => this.#again(), EVERY_MS);
    });
  }

  #draw(told) {
    const key = JSON.stringify(told);
    if (key === this.#shown) return;
    this.#shown = key;
    const { rollout } = told;
    say(this.title, rollout.name);
    fill(this.state, badge(rollout));
    fill(this.facts, factList(rollout));
    this.actions.hidden = rollout.outcome !== null;
    say(this.text, rollout.text);
    fill(this.table, told.new || told.old ? comparison(told) : h("p", { class: "hint", role: "status" }, "No turn that was received since it began has ended yet."));
  }

  async #end(way) {
    say(this.problem, "");
    try {
      const { name, outcome } = await call("POST", path`v1/rollouts/${this.#id}/` + way);
      announce(`The rollout of ${name} is ${OUTCOMES[outcome]}.`);
      await this.#read();
    } catch (problem) {
      say(this.problem, problem.message);
    }
  }
}

/** Return how a rollout stands, in a word with a colour. */
export function badge({ outcome }) {
  return h("span", { class: `badge ${TONES[outcome] ?? ""}` }, OUTCOMES[outcome] ?? "running");
}

function factList(rollout) {
  const bound = `it is ${share(rollout.max_worse)} worse in failed turns or ungrounded replies, after ${number(rollout.min_turns)} turns`;
  const facts = {
    "Conversations with it": share(rollout.share),
    "Taken back if": bound,
    Started: `${moment(rollout.created_at)}, by ${rollout.created_by}`,
    Ended: rollout.ended_at && `${moment(rollout.ended_at)}${rollout.ended_by ? `, by ${rollout.ended_by}` : ""}`,
    Why: rollout.reason,
  };
  const known = Object.entries(facts).filter(([, value]) => value);
  return h("dl", { class: "facts" }, ...known.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function comparison(told) {
  const written = (line, field, write) => (line?.[field] === null || line?.[field] === undefined ? "–" : write(line[field]));
  const rows = MEASURES.map(([label, field, write]) => {
    const cells = [told.new, told.old].map((line) => h("td", { class: "figure" }, written(line, field, write)));
    return h("tr", {}, h("th", { scope: "row" }, label), ...cells);
  });
  const head = h("tr", {}, h("td"), ...["New", "Old"].map((name) => h("th", { scope: "col", class: "figure" }, name)));
  const caption = h("caption", { class: "unseen" }, "Turns with the new text beside those with the old one");
  const table = h("table", {}, caption, h("thead", {}, head), h("tbody", {}, ...rows));
  return h("div", { class: "scroller sided", tabindex: "0", role: "region", "aria-label": "Comparison" }, table);
}
