// One turn that was run again from a step: its outcome beside the record.

import { call, mayPass, path } from "../api.js";
import { fill, h, say } from "../dom.js";
import { STEP_WORDS, duration } from "../format.js";
import { jsonView } from "../json_view.js";
import { PlanGraph } from "../plan/graph.js";
import { TurnState } from "../turn_state.js";

const EVERY_MS = 1_000;
const SIDES = { recorded: "As it was", replayed: "Run again" };
const OUTCOMES = {
  same: ["succeeded", "It goes the same way."],
  different: ["waiting_approval", "It goes another way."],
  diverged: ["failed", "It made a call that has no result, so the rest is not known."],
  failed: ["failed", "It could not be run again to its end."],
};
const MARKS = { changed: "other arguments or another end", only_here: "only on this side" };

/** The page at `#/replays/REPLAY`. It looks again until the turn has been run. */
export class ForkStory {
  #id = null;
  #timer = 0;

  constructor() {
    this.links = h("p", { class: "row" });
    this.state = h("div", { class: "row", role: "status" });
    this.problem = h("p", { class: "problem", role: "alert" });
    this.below = h("div", { class: "forked" });
    const head = h("header", { class: "bar" }, h("div", {}, this.links, h("h1", {}, "A turn run again")), this.state);
    this.element = h("div", { class: "list-page one" }, head, this.problem, this.below);
  }

  /** Show a fork. Raises Problem. */
  async open(id) {
    this.#id = id;
    fill(this.below);
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
    const told = await call("GET", path`v1/replays/${id}`);
    if (id !== this.#id) return;
    const { fork } = told;
    const turn = fork && h("a", { href: `#/turns/${fork.turn_id}` }, "The turn");
    const again = fork && h("a", { href: `#/turns/${fork.turn_id}?from=${encodeURIComponent(fork.step)}` }, "Run it again with other changes");
    fill(this.links, h("a", { href: "#/replays" }, "← Replays"), turn, again);
    if (!told.report) {
      fill(this.state, h("span", { class: "badge" }, told.status === "cancelled" ? "cancelled" : "waits for a worker of replays"));
      this.#timer = setTimeout(() => this.#again(), EVERY_MS);
    } else if (told.turn) this.#draw(told);
    else fill(this.state, h("a", { href: path`v1/replays/${id}/report.html`, target: "_blank", rel: "noopener" }, "Open the report"));
  }

  async #again() {
    if (!this.element.isConnected) return;
    const id = this.#id;
    try {
      await this.#read();
      say(this.problem, "");
    } catch (problem) {
      if (id !== this.#id) return;
      say(this.problem, problem.message);
      if (mayPass(problem)) this.#timer = setTimeout(() => this.#again(), EVERY_MS);
    }
  }

  #draw({ turn, report, fork, tools }) {
    const [tone, words] = OUTCOMES[turn.outcome];
    fill(this.state, h("span", { class: `badge ${tone}` }, words));
    const chosen = h("section", { class: "part", "aria-label": "Step", hidden: true });
    const open = (id) => {
      chosen.hidden = false;
      fill(chosen, h("h2", {}, `Step ${id}`), sides(turn, (record) => stepParts(record, id)));
      for (const graph of graphs) graph.choose(id);
      chosen.scrollIntoView({ block: "nearest" });
    };
    const graphs = [];
    const drawn = sides(turn, (record, side) => [h("p", { class: "reply" }, record.reply ?? "No reply."), drawPlan(record, side, open, graphs)]);
    fill(
      this.below,
      h("p", {}, `From step ${fork.step} on. Nothing was sent, and nothing was changed.`),
      turn.reason && h("p", { class: "problem" }, sentence(turn.reason)),
      turn.unused.length > 0 && h("p", { class: "problem" }, `No call has taken the result of ${turn.unused.join(", ")}.`),
      differences(turn),
      drawn,
      stepTable(turn, report.listed[0], tools === "live-read" ? "a call made now" : "given", open),
      chosen,
    );
  }
}

function differences({ differences: found }) {
  const items = found.map(({ aspect, text }) => h("li", {}, h("strong", {}, aspect), ` ${text}`));
  const none = h("p", { class: "hint" }, "Nothing that is compared differs: tools, arguments, edges, slots, artifacts, question, grounding. Wording is not compared.");
  return h("section", { class: "part" }, h("h2", {}, "What differs"), items.length > 0 ? h("ul", { class: "notes" }, ...items) : none);
}

/** Return the record and the rerun beside each other. `of(record, side)` returns what is shown of one. */
function sides(turn, of) {
  const shown = Object.entries(SIDES).map(([side, name]) => {
    const record = turn[side];
    return h("section", { class: "part", "aria-label": name }, h("h3", {}, name), ...(record ? of(record, side) : [h("p", { class: "hint" }, "There is nothing of it.")]));
  });
  return h("div", { class: "sides" }, ...shown);
}

function drawPlan(record, side, open, graphs) {
  const graph = new PlanGraph({ onChoose: open, onPoint: () => {} });
  graphs.push(graph);
  const state = stateOf(record, side);
  graph.show(state, null);
  return graph.element;
}

function stateOf(record, side) {
  const state = new TurnState(side);
  state.status = "succeeded";
  for (const { id, tool, needs, status, args, result, error, effect, duration_ms } of record.steps) {
    Object.assign(state.step(id, tool), { isDraft: false, needs, status, args, result, error, effect, durationMs: duration_ms });
  }
  return state;
}

/** `other`: where a result comes from that is none of the recorded ones. */
function stepTable(turn, listed, other, open) {
  const [before, after] = [turn.recorded, turn.replayed].map((record) => new Map((record?.steps ?? []).map((step) => [step.id, step])));
  const marks = new Map((listed?.after ?? []).map(({ id, mark }) => [id, MARKS[mark]]));
  const gone = new Map((listed?.before ?? []).map(({ id, mark }) => [id, MARKS[mark]]));
  const rows = [...new Set([...before.keys(), ...after.keys()])].map((id) => {
    const [was, is] = [before.get(id), after.get(id)];
    const button = h("button", { type: "button", class: "link", on: { click: () => open(id) } }, id);
    const mark = is ? marks.get(id) : (gone.get(id) && "only as it was");
    const isCalled = is && (is.recorded || ["succeeded", "needs_input"].includes(is.status));
    const from = !isCalled ? "–" : is.recorded ? `recorded step ${is.recorded}` : other;
    const cells = [(is ?? was).tool, was ? ended(was) : "–", is ? ended(is) : "–", from, mark ?? "–"];
    return h("tr", {}, h("th", { scope: "row" }, button), ...cells.map((cell) => h("td", {}, cell)));
  });
  if (rows.length === 0) return null;
  const head = h("tr", {}, ...["Step", "Tool", "As it was", "Run again", "Result from", "Differs"].map((name) => h("th", { scope: "col" }, name)));
  const table = h("table", {}, h("caption", { class: "unseen" }, "Steps, as they were and run again"), h("thead", {}, head), h("tbody", {}, ...rows));
  return h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Steps" }, table);
}

function ended({ status, duration_ms }) {
  return `${STEP_WORDS[status] ?? status}, ${duration(duration_ms)}`;
}

function stepParts(record, id) {
  const step = record.steps.find((each) => each.id === id);
  if (!step) return [h("p", { class: "hint" }, "It has no such step.")];
  const parts = [["Arguments", step.args], ["Error", step.error], ["Result", step.result]].filter(([, value]) => value !== null && value !== undefined);
  return parts.flatMap(([name, value]) => [h("h4", {}, name), jsonView(value)]);
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}
