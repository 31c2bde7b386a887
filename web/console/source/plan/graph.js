// The plan as a picture that follows the turn: one node for each step, one line for each need.

import { fill, h, icon, say, set, svg } from "../dom.js";
import { STEP_WORDS, cut } from "../format.js";
import { statusOf, timesOf } from "../turn_state.js";
import { criticalPath } from "./critical_path.js";
import { NODE, layOut, pathOf } from "./layout.js";
import { Viewport } from "./viewport.js";

const NARROW_PX = 520;
const SPACE_PX = 72;
/** What a status looks like, in a box of 16 by 16. */
const SIGNS = {
  pending: "M8 3a5 5 0 1 0 .01 0z",
  queued: "M8 3a5 5 0 1 0 .01 0zM8 5.500v2.700l1.800 1.200",
  running: "M8 6a2 2 0 1 0 .01 0zM8 4.800a3.200 3.200 0 1 0 .01 0z",
  retrying: "M12.500 8a4.500 4.500 0 1 1-1.500-3.300M11.400 2.500v2.500h-2.500",
  waiting_approval: "M6 4v8M10 4v8",
  succeeded: "M3.500 8.500l3 3 6-7",
  needs_input: "M5.800 6a2.300 2.300 0 1 1 3.200 2.200c-.7.300-1 .7-1 1.600M8 12.300v.1",
  failed: "M4.500 4.500l7 7M11.500 4.500l-7 7",
  skipped: "M4 8h8",
  cancelled: "M8 3a5 5 0 1 0 .01 0zM4.600 4.600l6.800 6.800",
  unknown: "M8 3v6M8 12v.1",
};
const KEYS = { ArrowRight: "after", ArrowLeft: "before", ArrowDown: "next", ArrowUp: "previous" };

/** The picture. `onChoose(id)` is called when a step is chosen, `onPoint(id, node)` when one is pointed at or left. */
export class PlanGraph {
  #nodes = new Map();
  #edges = new Map();
  #places = null;
  #drawn = "";
  #nextLayout = 0;
  #timer = 0;

  constructor({ onChoose, onPoint }) {
    Object.assign(this, { onChoose, onPoint, focused: null });
    this.edges = svg("g");
    this.nodes = svg("g");
    this.content = svg("g", {}, this.edges, this.nodes);
    this.surface = svg("svg", { class: "graph", role: "group", "aria-label": "Plan. Arrow keys go from step to step, Enter opens one." }, this.content);
    this.viewport = new Viewport(this.surface, this.content);
    const button = (name, label, click) => h("button", { type: "button", class: "quiet", "aria-label": label, title: label, on: { click } }, icon(name));
    const tools = h("div", { class: "tools" }, button("plus", "Zoom in", () => this.viewport.zoom(1.3)), button("minus", "Zoom out", () => this.viewport.zoom(1 / 1.3)), button("fit", "Show all", () => this.viewport.showAll()));
    this.empty = h("p", { class: "empty" });
    this.legend = h("p", { class: "legend hint", "aria-hidden": "true" }, h("i"), "critical path");
    this.element = h("div", { class: "graph-box" }, this.surface, this.legend, tools, this.empty);
    new ResizeObserver(() => this.#resized()).observe(this.element);
  }

  /** Show a turn's steps; those of one revision stand out if it is given. */
  show(turn, revision) {
    Object.assign(this, { turn, revision });
    const shape = `${turn.turnId} ${this.#isVertical} ${turn.planned.map((step) => `${step.id}<${step.needs}`).join(";")}`;
    if (shape !== this.#drawn) this.#layOutSoon(shape);
    if (this.#places) this.#paint();
    say(this.empty, emptyWords(turn));
    this.empty.hidden = turn.steps.size > 0;
    this.legend.hidden = turn.steps.size < 2;
  }

  /** Mark the chosen step. */
  choose(id) {
    for (const [each, { group }] of this.#nodes) set(group, "aria-pressed", String(each === id));
    const at = this.#places?.nodes.get(id);
    if (at) this.viewport.reveal(at.x, at.y, NODE.width / 2);
  }

  /** Put the focus on a step's node. */
  focus(id) {
    this.#nodes.get(id)?.group.focus();
  }

  get #isVertical() {
    return this.element.clientWidth < NARROW_PX;
  }

  /** A plan that grows by many steps a second is laid out now and then, so that the page stays free. */
  #layOutSoon(shape) {
    clearTimeout(this.#timer);
    const wait = this.#nextLayout - performance.now();
    if (wait > 0) {
      this.#timer = setTimeout(() => this.show(this.turn, this.revision), wait);
      return;
    }
    const begin = performance.now();
    this.#layOut(shape);
    const { duration } = performance.measure("plan laid out", { start: begin });
    this.#nextLayout = performance.now() + 4 * duration;
  }

  #layOut(shape) {
    const isOther = this.#drawn.split(" ")[0] !== this.turn.turnId;
    this.#drawn = shape;
    this.#places = layOut(this.turn.planned, this.#isVertical);
    if (isOther) this.viewport.isMoved = false;
    this.element.style.height = `${this.#places.height + SPACE_PX}px`;
    this.#reconcile();
    this.#fit();
  }

  #reconcile() {
    const { nodes, edges } = this.#places;
    for (const [id, { group }] of this.#nodes) if (!nodes.has(id)) group.remove(), this.#nodes.delete(id);
    for (const [id, at] of nodes) {
      if (!this.#nodes.has(id)) this.#nodes.set(id, this.#newNode(id));
      this.#nodes.get(id).group.style.transform = `translate(${at.x - NODE.width / 2}px, ${at.y - NODE.height / 2}px)`;
    }
    this.nodes.append(...[...nodes.keys()].map((id) => this.#nodes.get(id).group));
    this.#edges = new Map(edges.map((edge) => [edge, svg("path", { d: pathOf(edge.points, this.#isVertical) })]));
    fill(this.edges, [...this.#edges.values()]);
    this.#moveTabStop(nodes.has(this.focused) ? this.focused : nodes.keys().next().value);
  }

  #newNode(id) {
    const tool = this.turn.steps.get(id).tool;
    const sign = svg("path", { class: "sign", transform: "translate(10 15)" });
    const named = [svg("text", { class: "name", x: 34, y: 20 }, cut(id, 18), " "), svg("text", { class: "tool", x: 34, y: 36 }, cut(tool, 21))];
    // What the colours say, for those who do not see them. The node's name is its text.
    const words = svg("text", { opacity: 0, "font-size": 1 });
    const group = svg(
      "g",
      { class: "node", role: "button", tabindex: "-1", "aria-pressed": "false", "data-step": id, on: { click: () => this.onChoose(id), keydown: (event) => this.#key(event, id), focus: () => this.#focused(id), blur: () => this.onPoint(null), pointerenter: (event) => event.pointerType === "mouse" && this.onPoint(id, group), pointerleave: () => this.onPoint(null) } },
      svg("rect", { width: NODE.width, height: NODE.height, rx: 10 }), sign, ...named, words,
    );
    return { group, sign, words };
  }

  #paint() {
    const { turn } = this;
    const path = criticalPath(turn.planned.map((step) => ({ id: step.id, needs: step.needs, ms: timesOf(step).runMs })));
    const inPlan = new Set(turn.plans.find((plan) => plan.revision === this.revision)?.ids ?? turn.steps.keys());
    for (const [id, { group, sign, words }] of this.#nodes) {
      const step = turn.steps.get(id);
      if (!step) continue;
      const status = statusOf(step, turn);
      set(group, "class", `node ${status}${step.isDraft ? " draft" : ""}${path.has(id) ? " critical" : ""}${inPlan.has(id) ? "" : " faded"}`);
      say(words, ` ${STEP_WORDS[status]}${path.has(id) ? ", on the critical path" : ""}`);
      set(sign, "d", SIGNS[status]);
    }
    for (const [{ from, to }, line] of this.#edges) {
      const isPassed = turn.steps.get(from)?.status === "succeeded";
      set(line, "class", `edge${path.has(from) && path.has(to) ? " critical" : ""}${isPassed ? " passed" : ""}${inPlan.has(to) ? "" : " faded"}`);
    }
  }

  #key(event, id) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.onChoose(id);
    } else if (KEYS[event.key]) {
      event.preventDefault();
      this.focus(this.#neighbour(id, KEYS[event.key]));
    }
  }

  #neighbour(id, way) {
    const steps = this.turn.planned;
    if (way === "before") return this.turn.steps.get(id).needs.find((need) => this.#nodes.has(need));
    if (way === "after") return steps.find((step) => step.needs.includes(id))?.id;
    const place = steps.findIndex((step) => step.id === id);
    return steps[place + (way === "next" ? 1 : -1)]?.id;
  }

  #focused(id) {
    this.#moveTabStop(id);
    const at = this.#places.nodes.get(id);
    if (at) this.viewport.reveal(at.x, at.y, NODE.width / 2);
    this.onPoint(id, this.#nodes.get(id).group);
  }

  /** One node at a time is reached with Tab; the arrow keys go on from it. */
  #moveTabStop(id) {
    this.#nodes.get(this.focused)?.group.setAttribute("tabindex", "-1");
    this.focused = id;
    this.#nodes.get(id)?.group.setAttribute("tabindex", "0");
  }

  #resized() {
    if (this.turn) this.show(this.turn, this.revision);
    if (this.#places) this.#fit();
  }

  #fit() {
    const [first] = this.#places.nodes.values();
    this.viewport.fit(this.#places, first);
  }
}

function emptyWords(turn) {
  if (turn.isFinal) return "This turn needed no steps.";
  return turn.status === "queued" ? "The turn waits for a planner." : "The plan is being written…";
}
