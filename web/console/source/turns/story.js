// One turn's whole story: what was said, where it stands, how it came about, and what may be done about it.

import { call, open, path } from "../api.js";
import { Conversation } from "../chat/conversation.js";
import { TurnView } from "../chat/turn_view.js";
import { fill, h, say } from "../dom.js";
import { readEvents } from "../event_stream.js";
import { duration, moment, number, plain, timeOfDay } from "../format.js";
import { jsonView } from "../json_view.js";
import { LiveTurn } from "../live_turn.js";
import { PlanPanel } from "../plan/plan_panel.js";
import { decideStep, resendCallback, resendPart } from "../redrive.js";

/** The page at `#/turns/TURN`. */
export class Story {
  #turn = null;

  constructor(session) {
    this.may = new Set(session.scopes);
    this.head = h("header", { class: "bar" });
    this.said = h("div", { class: "log" });
    this.problem = h("p", { class: "problem", role: "alert" });
    this.more = h("div", { class: "parts", tabindex: "-1" });
    const onDecide = this.may.has("operations:write") && ((stepId) => this.#do(() => decideStep(this.#turn.id, stepId)));
    const onClose = () => this.element.classList.remove("with-plan");
    this.plan = new PlanPanel({ onClose, mayFork: this.may.has("replays:write"), flowerUrl: session.flower_url, onDecide });
    const story = h("section", { class: "chat story", "aria-label": "Turn" }, this.head, h("div", { class: "inner" }, this.problem, this.said, this.more));
    this.element = h("div", { class: "chat-page" }, story, this.plan.element);
  }

  /** Tell the story of a turn. Raises Problem. */
  async open(turnId) {
    this.#turn?.close();
    const told = await call("GET", path`v1/turns/${turnId}`);
    const conversation = await Conversation.load(told.conversation_id);
    conversation.close();
    const summary = conversation.turns.find((each) => each.id === turnId);
    const turn = new LiveTurn(turnId, ...(summary?.messages ?? []));
    turn.author = told.author;
    this.#turn = turn;
    turn.load(told);
    fill(this.said, new TurnView(turn, this).element);
    this.plan.show(turn);
    this.#drawHead(told);
    await this.#drawParts(told);
    if (!turn.state.isFinal) turn.watch().then(() => this.#turn === turn && this.#drawParts(turn.state.document));
  }

  /** Follow nothing any more. */
  close() {
    this.#turn?.close();
    this.plan.clear();
  }

  /** Show the plan, and one step of it. */
  show(_, stepId, place) {
    this.element.classList.add("with-plan");
    if (stepId) this.plan.openStep(stepId, place);
  }

  /** Go on in the chat: choices and suggestions belong there. */
  send() {
    location.hash = `#/chat/${encodeURIComponent(this.#turn.state.document.conversation_id)}`;
  }

  #drawHead(told) {
    const chat = h("a", { class: "button", href: `#/chat/${encodeURIComponent(told.conversation_id)}` }, "Open the conversation");
    fill(this.head, h("a", { class: "button quiet", href: "#/turns" }, "← Turns"), h("h1", { class: "unseen" }, `Turn ${told.turn_id}`), chat);
  }

  async #drawParts(told) {
    const id = told.turn_id;
    const [trace, why, audit] = await Promise.all([
      optional(call("GET", path`v1/turns/${id}/trace.json`)),
      optional(call("GET", path`v1/turns/${id}/explain`)),
      this.may.has("admin") ? optional(call("GET", `v1/audit?conversation_id=${encodeURIComponent(told.conversation_id)}&limit=200`)) : null,
    ]);
    if (this.#turn.id !== id) return;
    fill(
      this.more,
      why && !this.#turn.state.isFinal && part("Where it stands", h("p", {}, why.message)),
      this.may.has("conversations:write") && this.#takeover(told.conversation_id),
      part("Figures", factList(figures(told))),
      told.error && part("Error", jsonView(told.error)),
      told.deliveries.length > 0 && part("Deliveries", this.#deliveries(told)),
      trace?.callback && part("Callback", this.#callback(told.turn_id, trace.callback)),
      trace?.llm_calls.length > 0 && part("Calls of the language model", table(["Purpose", "Model", "Tokens in", "Tokens out", "Time"], trace.llm_calls.map((each) => [each.purpose, each.model, number(each.prompt_tokens), number(each.completion_tokens), duration(each.duration_ms)]))),
      ...(trace?.llm_calls ?? []).filter((each) => each.recording).map((each) => folded(`What was asked for: ${each.purpose}, and answered`, async () => recorded(each.recording))),
      folded("Events", () => this.#events(id)),
      trace && folded("Where it comes from: prompts, versions, hashes", async () => jsonView(trace)),
      audit && folded("Audit log", async () => table(["When", "What", "Content"], audit.items.filter((each) => each.turn_id === id).map((each) => [moment(each.at), each.kind, each.content && plain(each.content)]))),
      part("Elsewhere", h("p", { class: "row" }, ...["graph.svg", "graph.mmd", "trace.json"].map((name) => h("a", { href: `v1/turns/${id}/${name}`, target: "_blank", rel: "noopener" }, name)))),
    );
  }

  #deliveries({ turn_id, deliveries }) {
    const again = ({ part: number, status }) => this.#again(["failed", "unknown"].includes(status), () => resendPart(turn_id, number, status === "unknown"), `part ${number}`);
    return table(["Part", "Status", "Tries", "Provider's id", "Error", ""], deliveries.map((each) => [each.part, each.status, each.attempts, each.provider_id, each.error && plain(each.error), again(each)]));
  }

  #callback(turnId, { status, attempts, answer, error, next_at }) {
    const known = Object.entries({ status, tries: attempts, "last answer": answer, error: error && plain(error), "next try": next_at && moment(next_at) });
    const facts = factList(known.filter(([, value]) => value !== null && value !== undefined));
    return h("div", { class: "row" }, facts, this.#again(status === "failed", () => resendCallback(turnId), "the callback"));
  }

  /** Return the button that sends something again, where that may be done. */
  #again(isStranded, resend, name) {
    if (!isStranded || !this.may.has("operations:write")) return "";
    return h("button", { type: "button", "aria-label": `Send ${name} again…`, on: { click: () => this.#do(resend) } }, "Send again…");
  }

  /** Let somebody act, and tell the story as it is then. */
  async #do(act) {
    const turn = this.#turn;
    if (!(await act()) || turn !== this.#turn) return;
    await turn.reload();
    await this.#drawParts(turn.state.document);
    if (document.activeElement === document.body) this.more.focus({ preventScroll: true }); // its button is gone
  }

  async #events(id) {
    if (!this.#turn.state.isFinal) return h("p", { class: "hint" }, "They are listed once the turn has ended. The plan shows them as they come.");
    const answer = await open("GET", path`v1/turns/${id}/events`);
    const { events } = readEvents(await answer.text());
    const told = events.filter(({ type }) => type !== "reply.delta");
    return table(["", "When", "Event", "Data"], told.map(({ id: place, type, data: { at, turn_id, ...data } }) => [place, timeOfDay(at), type, plain(data)]));
  }

  #takeover(conversationId) {
    const told = h("p", { class: "problem", role: "alert" });
    const message = h("input", { type: "text", "aria-label": "Message", placeholder: "Write to the user yourself…" });
    const state = h("span", { class: "hint" });
    const toggle = h("button", { type: "button", hidden: true, on: { click: () => act(toggle.dataset.way) } });
    const form = h("form", { class: "row grow", on: { submit: write } }, message, h("button", { type: "submit" }, "Send"));

    async function act(way, body) {
      say(told, "");
      try {
        await call("POST", path`v1/conversations/${conversationId}/` + way, body);
        await look();
      } catch (problem) {
        say(told, problem.message);
      }
    }
    async function write(event) {
      event.preventDefault();
      if (!message.value.trim()) return;
      await act("messages", { message: message.value.trim() });
      if (!told.textContent) message.value = "";
    }
    async function look() {
      const { paused_at, paused_by } = await call("GET", path`v1/conversations/${conversationId}`);
      say(state, paused_at ? `${paused_by} writes in place of the agent since ${moment(paused_at)}.` : "The agent answers.");
      say(toggle, paused_at ? "Hand it back to the agent" : "Take the conversation over");
      toggle.dataset.way = paused_at ? "resume" : "pause";
      toggle.hidden = false;
    }
    look().catch((problem) => say(told, problem.message));
    return part("A person in place of the agent", h("div", { class: "row" }, state, toggle), form, told);
  }
}

function figures({ timings, usage, ...told }) {
  const times = { waited: timings.queued_ms, planned: timings.planning_ms, "ran tools": timings.tools_ms, answered: timings.responding_ms, "in all": timings.total_ms, "critical path": timings.critical_path_ms };
  const known = Object.entries(times).filter(([, ms]) => ms !== null).map(([name, ms]) => [name, duration(ms)]);
  const tokens = usage.llm_calls > 0 ? [["calls of the model", number(usage.llm_calls)], ["tokens in", number(usage.prompt_tokens)], ["tokens out", number(usage.completion_tokens)]] : [];
  const cost = !usage.cost ? [] : [["cost", `$${usage.cost.toFixed(5)}`]];
  const from = told.account ? `${told.channel} ${told.account}` : told.channel;
  return [["agent", told.agent], ["mode", told.mode], ["priority", told.priority], ["channel", from], ["accepted", moment(told.created_at)], ...known, ...tokens, ...cost, ["turn", told.turn_id]];
}

function factList(facts) {
  return h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** Return the prompt of a call and its answer, as they were recorded. */
function recorded({ messages, answer, error }) {
  const texts = [...messages.map(({ role, content }) => [role, content]), [answer === null ? "error" : "answer", answer ?? error ?? ""]];
  return h("div", { class: "texts-of-call" }, ...texts.flatMap(([role, text]) => [h("h4", {}, role), h("pre", { class: "json", tabindex: "0" }, text)]));
}

function part(name, ...content) {
  return h("section", { class: "part" }, h("h2", {}, name), ...content);
}

/** A part that is read when somebody opens it. */
function folded(name, read) {
  const place = h("div", {}, h("p", { class: "hint" }, "…"));
  let isRead = false;
  async function toggle() {
    if (isRead) return;
    isRead = true;
    fill(place, await read().catch((problem) => h("p", { class: "problem" }, problem.message)));
  }
  return h("details", { class: "part", on: { toggle } }, h("summary", {}, name), place);
}

function table(heads, rows) {
  const head = h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)));
  const body = rows.map((cells) => h("tr", {}, ...cells.map((cell) => h("td", {}, cell ?? "–"))));
  return h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": heads.filter(Boolean).join(", ") }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...body)));
}

async function optional(reading) {
  return reading.catch(() => null);
}
