// Where messages are written.

import { h, icon } from "../dom.js";

const BUSY = {
  auto: "as it suits",
  interrupt: "stop that, and keep its results",
  rollback: "stop that, and forget it",
  merge: "add it to what waits",
  enqueue: "answer it afterwards",
};

/** The form at the foot of the chat. `onSend(message, onBusy)` is called for each message. */
export class Composer {
  constructor(onSend) {
    this.onSend = onSend;
    this.box = h("textarea", { id: "message", rows: "1", maxlength: "8000", placeholder: "Write a message…", on: { input: () => this.#fit(), keydown: (event) => this.#key(event) } });
    this.busy = h("select", { id: "on-busy" }, ...Object.entries(BUSY).map(([value, words]) => h("option", { value }, words)));
    this.waiting = h("label", { class: "hint busy", for: "on-busy", hidden: true }, "While it works on your last message:", this.busy);
    const send = h("button", { type: "submit", class: "primary send", "aria-label": "Send" }, icon("send"));
    const label = h("label", { class: "unseen", for: "message" }, "Message");
    const line = h("div", { class: "line" }, label, this.box, send);
    this.element = h("form", { class: "composer", on: { submit: (event) => this.#submit(event) } }, this.waiting, line);
  }

  /** Show what may happen to a message while another is being answered. */
  set isBusy(isBusy) {
    this.waiting.hidden = !isBusy;
  }

  focus() {
    this.box.focus({ preventScroll: true });
  }

  #submit(event) {
    event.preventDefault();
    const text = this.box.value.trim();
    if (!text) return;
    this.box.value = "";
    this.#fit();
    this.onSend(text, this.waiting.hidden ? "auto" : this.busy.value);
  }

  #key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) this.#submit(event);
  }

  #fit() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight, 160)}px`;
  }
}
