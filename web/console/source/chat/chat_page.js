// The chat with an agent, and the plan of the chosen turn beside it.

import { readAgents } from "../agents.js";
import { fill, h, icon, say } from "../dom.js";
import { freshId } from "../format.js";
import { PlanPanel } from "../plan/plan_panel.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { TurnView } from "./turn_view.js";

const NEW = "new";

/** The page at `#/chat/CONVERSATION`; `#/chat/new` begins another, `#/chat` goes on where the page was left. */
export class ChatPage {
  #views = null;
  #chosen = null;
  #read = null;

  constructor(session) {
    this.may = new Set(session.scopes);
    this.conversation = new Conversation();
    this.agents = h("select", { id: "agent", on: { change: () => this.#describe() } });
    this.about = h("p", { class: "hint about", hidden: true });
    this.log = h("div", { class: "log", tabindex: "0", role: "log", "aria-label": "Conversation", "aria-live": "off" });
    this.welcome = h("div", { class: "welcome" });
    this.problem = h("p", { class: "problem", role: "alert" });
    this.composer = new Composer((message, onBusy) => this.send(message, onBusy));
    this.plan = new PlanPanel({
      mayFork: this.may.has("replays:write"),
      flowerUrl: session.flower_url,
      onClose: () => this.#closePlan(),
    });
    const fresh = h("a", { class: "button", href: `#/chat/${NEW}` }, icon("plus"), "New conversation");
    const pick = h("label", { class: "pick", for: "agent" }, h("span", { class: "unseen" }, "Agent"), this.agents);
    const head = h("header", { class: "bar" }, h("h1", { class: "unseen" }, "Chat"), pick, fresh);
    const chat = h("section", { class: "chat", "aria-label": "Chat" }, head, this.about, this.log, this.problem, this.#foot());
    this.element = h("div", { class: "chat-page" }, chat, this.plan.element);
    this.#read = this.#readAgents();
  }

  /** Show a conversation, by its id. */
  async open(id) {
    if (this.#views !== null && (id === undefined || id === this.conversation.id)) return;
    const conversation = id && id !== NEW ? await Conversation.load(id) : new Conversation();
    this.conversation.close();
    this.#take(conversation);
    await this.#read;
    if (conversation.agent) this.agents.value = conversation.agent;
    this.#describe();
    this.composer.focus();
  }

  /** Follow nothing any more. */
  close() {
    this.conversation.close();
    this.plan.clear();
  }

  /** Send a message. If it could not be sent, it can be sent again without being doubled. */
  async send(message, onBusy = "auto", messageId = freshId()) {
    say(this.problem, "");
    try {
      const turn = await this.conversation.send({ message, onBusy, messageId, agent: this.agents.value, user: person() });
      if (this.element.isConnected) history.replaceState(null, "", `#/chat/${encodeURIComponent(this.conversation.id)}`);
      this.show(turn, null, null, { quietly: true });
    } catch (problem) {
      const again = () => this.send(message, onBusy, messageId);
      const told = problem.status ? problem.message : "The message could not be sent: there is no connection.";
      fill(this.problem, told, " ", h("button", { type: "button", on: { click: again } }, "Send again"));
    }
  }

  /** Show the plan of a turn, and one step of it. `quietly`: on a phone the chat stays in front. */
  async show(turn, stepId = null, path = null, { quietly = false } = {}) {
    this.#chosen = turn;
    for (const [id, view] of this.#views) view.element.classList.toggle("chosen", id === turn.id);
    this.plan.show(turn, this);
    if (!quietly) this.element.classList.add("with-plan");
    if (!turn.state.document) await turn.reload().catch((problem) => say(this.problem, problem.message));
    if (stepId) this.plan.openStep(stepId, path);
  }

  #foot() {
    if (this.may.has("turns:write")) return this.composer.element;
    return h("p", { class: "hint foot" }, "Your key may read conversations, and not write in them.");
  }

  #take(conversation) {
    this.conversation = conversation;
    this.#views = new Map();
    this.plan.clear();
    this.element.classList.remove("with-plan");
    fill(this.log, this.welcome);
    this.about.hidden = true;
    conversation.turns.forEach((turn) => this.#add(turn));
    conversation.addEventListener("turns", ({ detail }) => this.#add(detail));
    conversation.addEventListener("change", () => this.#changed());
    if (conversation.turns.length > 0) this.show(conversation.turns.at(-1), null, null, { quietly: true });
    this.#changed();
    this.#toEnd();
  }

  #add(turn) {
    const view = new TurnView(turn, this);
    this.#views.set(turn.id, view);
    this.welcome.remove();
    this.about.hidden = false;
    this.log.append(view.element);
    this.#changed();
    this.#toEnd();
  }

  #changed() {
    const last = this.conversation.turns.at(-1);
    for (const [id, view] of this.#views) view.offer(id === last?.id && last.state.isFinal);
    this.composer.isBusy = this.conversation.active !== null;
    if (this.#isAtEnd) this.#toEnd();
  }

  get #isAtEnd() {
    return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 160;
  }

  #toEnd() {
    requestAnimationFrame(() => (this.log.scrollTop = this.log.scrollHeight));
  }

  #closePlan() {
    this.element.classList.remove("with-plan");
    this.#views.get(this.#chosen?.id)?.status.focus();
  }

  async #readAgents() {
    const agents = await readAgents();
    this.profiles = new Map(agents.map((agent) => [agent.name, agent]));
    fill(this.agents, agents.map(({ name }) => h("option", { value: name }, name)));
    if (this.profiles.has("hotel")) this.agents.value = "hotel";
    this.#describe();
  }

  #describe() {
    const agent = this.profiles?.get(this.agents.value);
    if (!agent) return;
    say(this.about, agent.description);
    const suggestions = this.may.has("turns:write") ? agent.suggestions : [];
    const examples = suggestions.map((text) => h("button", { type: "button", class: "suggestion", on: { click: () => this.send(text) } }, text));
    fill(this.welcome, h("h2", {}, `Ask ${agent.name}`), h("p", {}, agent.description), h("div", { class: "row" }, ...examples));
  }
}

/** What the page knows of the person who writes. */
function person() {
  return { timezone: Intl.DateTimeFormat().resolvedOptions().timeZone };
}
