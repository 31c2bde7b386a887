// One replay, from its start to its report, for pages that are about something else.

import { call, mayPass, path } from "../api.js";
import { announce, fill, h } from "../dom.js";
import { duration, number } from "../format.js";
import { replayedTurn } from "./replayed_turn.js";

const EVERY_MS = 1_000;

/** Starts a replay and follows it for as long as it is seen. Without that it goes on: the page of replays has it. */
export class ReplayWatch {
  #timer = 0;
  #watched = null;

  constructor() {
    this.element = h("div", { class: "outcome", role: "status" });
  }

  /** Make a replay. Raises Problem. */
  async start(body) {
    this.clear();
    const made = await call("POST", "v1/replays", body);
    announce("The replay has begun.");
    this.#watched = made.replay_id;
    this.#show(made);
  }

  /** Show nothing any more. */
  clear() {
    clearTimeout(this.#timer);
    this.#watched = null;
    fill(this.element);
  }

  async #read(id) {
    if (id !== this.#watched || !this.element.isConnected) return;
    try {
      const replay = await call("GET", path`v1/replays/${id}`);
      if (id === this.#watched) this.#show(replay);
    } catch (problem) {
      if (id !== this.#watched) return;
      fill(this.element, h("p", { class: "problem" }, problem.message));
      if (mayPass(problem)) this.#timer = setTimeout(() => this.#read(id), EVERY_MS);
    }
  }

  #show(replay) {
    if (replay.report) return this.#showReport(replay);
    const { replay_id: id, status, done, conversations, eta_s } = replay;
    const left = status === "running" && eta_s !== null ? `, ${duration(eta_s * 1_000)} left` : "";
    const words = status === "running" ? `${number(done)} of ${number(conversations)} conversations${left}` : "The report is being made…";
    const bar = h("progress", { max: Math.max(conversations, 1), value: done, "aria-label": words });
    const stop = h("button", { type: "button", class: "quiet", on: { click: () => this.#cancel(id) } }, "Cancel the replay");
    fill(this.element, h("p", { class: "row" }, bar, h("span", {}, words), status === "running" && stop));
    this.#timer = setTimeout(() => this.#read(id), EVERY_MS);
  }

  #showReport({ replay_id: id, turn_id, report }) {
    const counts = Object.entries(report.outcomes).filter(([, count]) => count > 0).map(([outcome, count]) => `${number(count)} ${outcome}`);
    const link = h("a", { href: path`v1/replays/${id}/report.html`, target: "_blank", rel: "noopener" }, "Open the report");
    const [turn] = turn_id ? report.listed : [];
    const told = h("p", {}, `${report.verdict}${counts.length > 0 ? `: ${counts.join(", ")}` : ""}.`);
    fill(this.element, turn ? replayedTurn(turn) : told, h("p", {}, link));
    announce("The replay has ended.");
  }

  async #cancel(id) {
    await call("POST", path`v1/replays/${id}/cancel`).catch(() => {}); // it may have ended meanwhile, as the next look tells
  }
}
