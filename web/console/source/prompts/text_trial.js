// Try a text before it is set: with a recorded turn, and with the last conversations of an agent.

import { offerAgents } from "../agents.js";
import { call } from "../api.js";
import { cut } from "../format.js";
import { fill, h, say } from "../dom.js";
import { ReplayWatch } from "../replays/replay_watch.js";

const MONTH_MS = 30 * 86_400_000;
const MOST_OFFERED = 20;

/** The trials. `text()` returns the text as it is written now; `mayReplay`: whether the key may make replays. */
export class TextTrial {
  #offered = null;

  constructor({ text, mayReplay }) {
    Object.assign(this, { text, name: undefined });
    const button = (words, act) => h("button", { type: "button", on: { click: () => this.#try(act) } }, words);
    this.turns = h("datalist", { id: "trial-turns" });
    this.turn = h("input", { type: "text", maxlength: "64", placeholder: "Id of a turn", list: "trial-turns", autocomplete: "off", spellcheck: "false", on: { focus: () => this.#offerTurns() } });
    this.agent = h("select", {}, h("option", { value: "" }, "all agents"));
    this.agents = h("label", { class: "hint" }, "Agent ", this.agent);
    this.lastWords = h("span");
    this.last = h("input", { type: "number", min: "1", max: "500", value: "20", required: true });
    this.problem = h("p", { class: "problem", role: "alert" });
    this.watch = new ReplayWatch();
    this.ofTurn = h("div", { class: "row" }, h("label", { class: "hint wide" }, "A recorded turn ", this.turn), this.turns, mayReplay && button("Run the turn again with it", () => this.#replayTurn()));
    this.ofLast = mayReplay && h("div", { class: "row" }, h("label", { class: "hint" }, this.lastWords, this.last), this.agents, button("Replay them with it", () => this.#replayLast()));
    const about = h("p", { class: "hint" }, "With a turn, “Check and preview” shows what this text changes of its prompts.", mayReplay && " A replay asks the language model again, sends nothing, and needs no text to be set.");
    this.element = h("section", { class: "part trial" }, h("h3", {}, "Try it first"), about, this.ofTurn, this.ofLast, this.problem, this.watch.element);
  }

  /** The id of the turn to try the text with; empty without one. */
  get turnId() {
    return this.ofTurn.hidden ? "" : this.turn.value.trim();
  }

  /** Begin with another text. */
  async open(name) {
    this.name = name;
    this.watch.clear();
    say(this.problem, "");
    this.ofTurn.hidden = name.startsWith("languages/");
    const agent = agentOf(name);
    say(this.lastWords, agent ? `The last conversations of ${agent}` : "The last conversations");
    this.agents.hidden = agent !== null;
    if (!agent) await offerAgents(this.agent).catch(() => {}); // then it is all agents
  }

  /** Offer the last turns: of an agent's text those of the agent. */
  async #offerTurns() {
    if (this.#offered === this.name) return;
    this.#offered = this.name;
    const agent = agentOf(this.name);
    const asked = new URLSearchParams({ limit: MOST_OFFERED, ...(agent && { agent }) });
    const { items } = await call("GET", `v1/turns?${asked}`).catch(() => ({ items: [] }));
    fill(this.turns, items.filter((each) => each.finished_at && !each.author).map((each) => h("option", { value: each.turn_id }, cut(`${each.agent}: ${each.message}`, 80))));
  }

  async #replayTurn() {
    if (!this.turnId) return this.turn.focus();
    await this.watch.start({ turn_id: this.turnId, prompts: this.#prompts });
  }

  async #replayLast() {
    if (!this.last.reportValidity()) return;
    const since = new Date(Date.now() - MONTH_MS).toISOString();
    const agent = agentOf(this.name) ?? this.agent.value;
    await this.watch.start({ since, last: Number(this.last.value), prompts: this.#prompts, ...(agent && { agent }) });
  }

  get #prompts() {
    return { [this.name]: this.text() };
  }

  async #try(act) {
    say(this.problem, "");
    try {
      await act();
    } catch (problem) {
      say(this.problem, problem.message);
    }
  }
}

function agentOf(name) {
  return name.startsWith("agents/") ? name.slice("agents/".length) : null;
}
