// Replays of recorded conversations: start one, see how far it is, open its report.

import { offerAgents } from "../agents.js";
import { call, mayPass, path } from "../api.js";
import { announce, h, say } from "../dom.js";
import { duration, moment, number } from "../format.js";
import { PagedTable } from "../paged_table.js";

const EVERY_MS = 2_000;

/** The list at `#/replays`. */
export class ReplayList {
  #timer = 0;

  constructor() {
    const field = (name, label, attributes) => h("label", {}, label, h("input", { name, type: "number", ...attributes }));
    this.agent = h("select", { name: "agent" }, h("option", { value: "" }, "all"));
    this.form = h(
      "form",
      { class: "filters", on: { submit: (event) => this.#start(event) } },
      field("days", "Turns of the last days", { value: 7, min: 1, max: 365, required: true }),
      h("label", {}, "Agent", this.agent),
      field("sample", "Conversations, at most", { value: 50, min: 1 }),
      field("repeat", "Times each", { value: 1, min: 1, max: 20 }),
      field("percent", "Different, at most %", { min: 0, max: 100, step: "any" }),
      h("button", { type: "submit", class: "primary" }, "Start a replay"),
    );
    this.problem = h("p", { class: "problem", role: "alert" });
    this.table = new PagedTable({
      address: "v1/replays",
      caption: "Replays",
      heads: ["When", "What", "Progress", "Report"],
      none: "No replay was made yet.",
      idOf: ({ replay_id }) => replay_id,
      row: (replay) => this.#row(replay),
    });
    const about = h("p", { class: "hint" }, "A replay answers recorded messages again, with the prompts that are in effect now, and compares. Nothing is sent, and nothing is changed.");
    this.element = h("div", { class: "list-page" }, h("header", {}, h("h1", {}, "Replays"), about), this.form, this.problem, ...this.table.elements);
  }

  /** Show the replays, and go on looking while the page is seen. Raises Problem. */
  async open() {
    await offerAgents(this.agent);
    await this.#read();
  }

  async #read() {
    clearTimeout(this.#timer);
    try {
      await this.table.read();
    } catch (problem) {
      say(this.problem, problem.message);
      if (!mayPass(problem)) return;
    }
    this.#timer = setTimeout(() => this.element.isConnected && this.#read(), EVERY_MS);
  }

  #row(replay) {
    const { replay_id: id, status, done, conversations, eta_s } = replay;
    const bar = h("progress", { max: Math.max(conversations, 1), value: done, "aria-label": `${done} of ${conversations} conversations` });
    const words = `${number(done)} of ${number(conversations)}${status === "running" && eta_s !== null ? `, ${duration(eta_s * 1_000)} left` : ""}${status === "running" ? "" : `, ${status}`}`;
    const stop = h("button", { type: "button", class: "quiet", on: { click: () => this.#cancel(id) } }, "Cancel");
    const report = h("a", { href: path`v1/replays/${id}/report.html`, target: "_blank", rel: "noopener" }, "Open the report");
    const what = replay.fork ? h("a", { href: `#/replays/${id}` }, whatOf(replay)) : whatOf(replay);
    return h("tr", {}, h("td", {}, moment(replay.created_at)), h("td", { class: "told" }, what), h("td", {}, bar, " ", words), h("td", {}, status === "running" ? stop : report));
  }

  async #start(event) {
    event.preventDefault();
    const { days, agent, sample, repeat, percent } = Object.fromEntries(new FormData(this.form));
    const body = { since: new Date(Date.now() - days * 86_400_000).toISOString(), repeat: Number(repeat) || 1 };
    if (agent) body.agent = agent;
    if (sample) body.sample = Number(sample);
    if (percent) body.max_different = Number(percent) / 100;
    await this.#do(() => startReplay(body));
  }

  async #cancel(id) {
    await this.#do(() => call("POST", path`v1/replays/${id}/cancel`));
  }

  async #do(act) {
    say(this.problem, "");
    try {
      await act();
      await this.#read();
    } catch (problem) {
      say(this.problem, problem.message);
    }
  }
}

async function startReplay(body) {
  await call("POST", "v1/replays", body);
  announce("The replay has begun.");
}

function whatOf({ sample, last, repeat, model, prompts, max_different, ...which }) {
  const parts = whichTurns(which);
  if (last) parts.push(`the last ${number(last)} conversations`);
  if (sample) parts.push(`at most ${sample} conversations`);
  if (repeat > 1) parts.push(`${repeat} times each`);
  if (model) parts.push(`with ${model}`);
  if (prompts.length > 0) parts.push(`with another ${prompts.join(", ")}`);
  if (max_different !== null) parts.push(`at most ${number(100 * max_different)} % different`);
  return parts.join(" · ");
}

function whichTurns({ since, turn_id, agent, fork }) {
  if (fork) return [`a turn from its step ${fork.step}`];
  if (turn_id) return ["one turn"];
  return [since ? `since ${moment(since)}` : "conversations of another system", agent ?? "all agents"];
}
