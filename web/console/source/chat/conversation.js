// One conversation: its turns, in order, and what is sent to it.

import { call, path } from "../api.js";
import { freshId } from "../format.js";
import { LiveTurn } from "../live_turn.js";

/** A conversation. Emits "turns" when a turn is added, and "change" when anything about one of them changes. */
export class Conversation extends EventTarget {
  constructor(id) {
    super();
    this.id = id ?? `console-${freshId()}`;
    this.isNew = id === undefined;
    this.agent = null;
    this.turns = [];
  }

  /** Read a conversation that exists. Turns in work are followed from here on. Raises Problem. */
  static async load(id) {
    const conversation = new Conversation(id);
    const told = await call("GET", path`v1/conversations/${id}`);
    conversation.agent = told.agent;
    for (let cursor = ""; cursor !== null; ) {
      const address = path`v1/conversations/${id}/turns` + (cursor && `?cursor=${encodeURIComponent(cursor)}`);
      const page = await call("GET", address);
      page.items.forEach((item) => conversation.#recall(item));
      cursor = page.next_cursor;
    }
    return conversation;
  }

  /** The turn that is in work, if any: the last one. */
  get active() {
    return this.turns.findLast((turn) => !turn.state.isFinal) ?? null;
  }

  /** Send a message; return its turn, which may be one that was there before. Raises Problem and TypeError. */
  async send({ message, agent, onBusy, user, messageId }) {
    const body = { message, conversation_id: this.id, message_id: messageId, on_busy: onBusy };
    if (agent) body.agent = agent;
    if (user) body.user = user;
    const accepted = await call("POST", "v1/turns", body);
    this.isNew = false;
    this.agent = agent ?? this.agent;
    const known = this.turns.find((turn) => turn.id === accepted.turn_id);
    if (known) return this.#fold(known, message);
    const turn = this.#add(new LiveTurn(accepted.turn_id, message));
    turn.watch();
    return turn;
  }

  /** Stop following its turns. */
  close() {
    for (const turn of this.turns) turn.close();
  }

  #fold(turn, message) {
    turn.messages.push(message);
    turn.changed();
    return turn;
  }

  #recall(item) {
    const turn = this.#add(new LiveTurn(item.turn_id, ...(item.message ? [item.message] : [])));
    turn.author = item.author;
    const { status, reply } = item;
    Object.assign(turn.state, { status, reply, createdAt: Date.parse(item.created_at) });
    if (!turn.state.isFinal) turn.watch();
  }

  #add(turn) {
    this.turns.push(turn);
    turn.addEventListener("change", () => this.dispatchEvent(new CustomEvent("change", { detail: turn })));
    this.dispatchEvent(new CustomEvent("turns", { detail: turn }));
    return turn;
  }
}
