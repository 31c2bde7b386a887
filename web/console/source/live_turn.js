// A turn that this page follows: its state, kept up to date, and a redraw at most once a frame.

import { call, path } from "./api.js";
import { follow } from "./event_stream.js";
import { TurnState } from "./turn_state.js";

const RELOAD_ON = new Set(["plan.ready", "plan.revised", "approval.requested", "reply.done"]);

/** A turn under observation. Listeners of "change" are called in an animation frame, however many events came. */
export class LiveTurn extends EventTarget {
  #stop = new AbortController();
  #frame = 0;
  #reading = null;
  #nextReading = null;

  constructor(turnId, ...messages) {
    super();
    this.id = turnId;
    this.messages = messages;
    this.state = new TurnState(turnId);
    this.connection = "ended";
    this.problem = null;
  }

  /** Follow the turn until it is final. */
  async watch() {
    try {
      await follow(this.id, {
        lastId: this.state.lastEventId,
        signal: this.#stop.signal,
        onEvents: (events) => this.#take(events),
        onState: (connection) => this.#note({ connection }),
      });
      await this.reload();
    } catch (problem) {
      if (!this.#stop.signal.aborted) this.#note({ problem });
    }
  }

  /** Read the turn's document: arguments, results, exact times. Calls that come meanwhile share one more reading. */
  reload() {
    if (this.#reading === null) {
      this.#reading = this.#read().finally(() => (this.#reading = null));
      return this.#reading;
    }
    // The reading under way may have been answered before what this call wants to see.
    this.#nextReading ??= this.#reading.catch(() => {}).then(() => {
      this.#nextReading = null;
      return this.reload();
    });
    return this.#nextReading;
  }

  /** Show a document that was read already. */
  load(document) {
    this.state.merge(document);
    this.changed();
  }

  /** Whether nobody shows it any more. */
  get isClosed() {
    return this.#stop.signal.aborted;
  }

  /** Stop following, for good. */
  close() {
    this.#stop.abort();
    cancelAnimationFrame(this.#frame);
  }

  /** Ask for a redraw in the next frame. */
  changed() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.dispatchEvent(new Event("change"));
    });
  }

  async #read() {
    this.load(await call("GET", path`v1/turns/${this.id}`, undefined, this.#stop.signal));
  }

  #take(events) {
    for (const event of events) this.state.apply(event);
    // What these events leave out may be read a moment later: nothing is shown less for it.
    if (events.some((event) => RELOAD_ON.has(event.type))) this.reload().catch(() => {});
    this.changed();
  }

  #note(facts) {
    Object.assign(this, facts);
    this.changed();
  }
}
