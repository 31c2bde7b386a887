// One exchange of the chat: what the user wrote, what the turn is doing, and its reply.

import { call, path } from "../api.js";
import { announce, fill, h, icon, say } from "../dom.js";
import { TURN_WORDS, duration, plain } from "../format.js";
import { FINAL_STEP, statusOf } from "../turn_state.js";
import { showApprovals } from "./approval_card.js";
import { artifactView } from "./artifacts.js";
import { rating } from "./rating.js";
import { replyNodes } from "./reply_text.js";

const SILENT_MS = 6_000;

/** The elements of one turn. `chat` has `show(turn, stepId, path)`, `send(text)` and the scopes `may`. */
export class TurnView {
  #shown = {};

  constructor(turn, chat) {
    Object.assign(this, { turn, chat });
    this.asked = h("div", { class: "asked" });
    this.status = h("button", { type: "button", class: "status", on: { click: () => chat.show(turn) } });
    this.cancel = h("button", { type: "button", class: "quiet", on: { click: () => this.#cancel() } }, icon("stop"), "Cancel");
    this.why = h("button", { type: "button", class: "quiet", hidden: true, on: { click: () => this.#explain() } }, "Why does it take so long?");
    this.text = h("div", { class: "text" });
    this.artifacts = h("div");
    this.approvals = h("div");
    this.choices = h("div", { class: "choices" });
    this.note = h("p", { class: "hint" });
    this.foot = h("div", { class: "foot" });
    const head = h("div", { class: "row head" }, this.status, this.cancel, this.why);
    const said = h("div", { class: "said" }, head, this.approvals, this.text, this.artifacts, this.note, this.choices, this.foot);
    this.element = h("article", { class: "turn", "data-turn": turn.id }, this.asked, said);
    this.#listen();
    this.draw();
  }

  /** Show what has changed. */
  draw() {
    const { state } = this.turn;
    this.element.dataset.status = state.status;
    this.#once("asked", this.turn.messages.length, () => fill(this.asked, this.turn.messages.map(message)));
    say(this.status, this.#progress());
    this.status.setAttribute("aria-label", `${this.#progress()}. Show the plan`);
    this.cancel.hidden = state.isFinal || !this.chat.may.has("turns:write");
    this.why.hidden = state.isFinal || this.why.hidden;
    showApprovals(this.approvals, this.turn, this.chat.may.has("approvals:decide"));
    this.#drawReply(state);
    this.#once("note", this.#notice(), (notice) => say(this.note, notice));
  }

  /** Show or hide what only the last turn offers: choices and suggestions. */
  offer(isLast) {
    this.choices.hidden = !isLast || !this.chat.may.has("turns:write");
  }

  #drawReply(state) {
    const { reply } = state;
    if (!reply) return void this.#once("told", state.told, (told) => say(this.text, told));
    this.#once("reply", reply.text + (reply.sources?.length ?? 0), () => {
      const onSource = (source) => this.chat.show(this.turn, source.step, source.path);
      fill(this.text, replyNodes(reply, onSource));
      fill(this.artifacts, (reply.artifacts ?? []).map(artifactView));
      fill(this.choices, this.#offered(reply));
      if (this.#shown.live) announce(reply.text);
    });
    this.#once("foot", state.isFinal, (isFinal) => isFinal && this.chat.may.has("turns:write") && fill(this.foot, rating(this.turn.id)));
  }

  #offered({ question, suggestions }) {
    const answers = Object.entries(question?.choices ?? {}).map(([field, values]) =>
      h("div", { class: "row", role: "group", "aria-label": `Answers: ${field}` }, ...values.map((value) => this.#button(plain(value), "choice"))),
    );
    const further = (suggestions ?? []).map((text) => this.#button(text, "suggestion"));
    return [...answers, further.length > 0 && h("div", { class: "row", role: "group", "aria-label": "Suggestions" }, ...further)];
  }

  #button(text, kind) {
    return h("button", { type: "button", class: kind, on: { click: () => this.chat.send(text) } }, text);
  }

  #progress() {
    const { state, author, connection } = this.turn;
    if (author) return `${author} wrote`;
    const steps = state.planned;
    const done = steps.filter((step) => FINAL_STEP.has(step.status)).length;
    const word = connection === "waiting" && !state.isFinal ? "connecting again" : TURN_WORDS[state.status];
    const running = steps.find((step) => ["running", "retrying"].includes(statusOf(step, state)));
    const now = !state.isFinal && running ? ` · ${running.tool}` : "";
    const total = state.document?.timings.total_ms;
    const took = state.isFinal && total ? ` · ${duration(total)}` : "";
    return word + (steps.length > 0 ? ` · ${state.isFinal ? "" : `${done} of `}${steps.length} ${steps.length === 1 ? "step" : "steps"}` : "") + now + took;
  }

  #notice() {
    const { state, problem } = this.turn;
    if (problem) return problem.message;
    if (state.status === "superseded") return "Your next message took the place of this one.";
    if (state.error?.code === "paused") return "A person writes in this conversation; the agent does not answer.";
    if (state.reply?.grounded === false) return "Some figures could not be traced to a source; they were left out.";
    return "";
  }

  #listen() {
    let last = Date.now();
    const timer = setInterval(() => {
      if (this.turn.state.isFinal || this.turn.isClosed) clearInterval(timer);
      else if (Date.now() - last > SILENT_MS) this.why.hidden = false;
    }, 1_000);
    this.turn.addEventListener("change", () => {
      last = Date.now();
      this.#shown.live ||= !this.turn.state.isFinal;
      this.draw();
    });
  }

  async #cancel() {
    this.cancel.disabled = true;
    try {
      await call("POST", path`v1/turns/${this.turn.id}/cancel`);
    } catch (problem) {
      say(this.note, problem.message);
      this.cancel.disabled = false;
    }
  }

  async #explain() {
    const told = await call("GET", path`v1/turns/${this.turn.id}/explain`).catch((problem) => problem);
    say(this.note, told.message);
  }

  #once(name, value, show) {
    if (this.#shown[name] === value) return;
    this.#shown[name] = value;
    show(value);
  }
}

function message(text, place) {
  const added = place > 0 && h("span", { class: "hint" }, "added while it was waiting");
  return h("div", { class: "bubble" }, text, added);
}
