// What did not end properly in one's own tenant: a list, from which each is decided or sent again.

import { call } from "../api.js";
import { fill, h, say } from "../dom.js";
import { moment } from "../format.js";
import { decideStep, resendCallback, resendPart } from "../redrive.js";

const MOST = 50;
const ACTS = {
  step: { words: "Decide…", act: ({ turn_id, step }) => decideStep(turn_id, step) },
  delivery: { words: "Send again…", act: ({ turn_id, part, code }) => resendPart(turn_id, part, code === "outcome_unknown") },
  callback: { words: "Send again…", act: ({ turn_id }) => resendCallback(turn_id) },
};

/** The list. What the key may not do is not offered. */
export class DeadLetters {
  #shown = "";

  constructor({ tenant, scopes }) {
    this.may = new Set(scopes);
    this.rows = h("tbody");
    this.problem = h("p", { class: "problem", role: "alert" });
    this.told = h("p", { class: "hint" });
    const title = `Dead letters of ${tenant}`;
    const heads = ["Since", "What", "Why", "Turn", ""].map((name) => h("th", { scope: "col" }, name || h("span", { class: "unseen" }, "Act")));
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...heads)), this.rows);
    this.element = h("section", { class: "letters", "aria-label": title, tabindex: "-1" }, h("h2", {}, title), this.problem, h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": `Table: ${title}` }, table), this.told);
  }

  /** Read the list again. What has not changed stays as it is. */
  async read() {
    try {
      const { items } = await call("GET", `v1/dead-letters?limit=${MOST}`);
      this.#draw(items);
      say(this.problem, "");
    } catch (problem) {
      say(this.problem, problem.message);
    }
  }

  #draw(items) {
    const key = JSON.stringify(items);
    if (key === this.#shown) return;
    this.#shown = key;
    const none = h("tr", {}, h("td", { colspan: 5, class: "hint" }, "Everything ended properly."));
    fill(this.rows, items.length > 0 ? items.map((letter) => this.#row(letter)) : none);
    say(this.told, items.length < MOST ? "" : `The newest ${MOST} are shown.`);
  }

  #row(letter) {
    const { kind, turn_id, code, since } = letter;
    const story = this.may.has("admin") ? h("a", { href: `#/turns/${turn_id}`, "aria-label": `Story of turn ${turn_id}` }, "Story") : h("code", {}, turn_id);
    const { words, act } = ACTS[kind] ?? {};
    const button = act && this.may.has("operations:write") && h("button", { type: "button", "aria-label": `${words} ${nameOf(letter)}`, on: { click: () => this.#do(() => act(letter)) } }, words);
    return h("tr", {}, ...[moment(since), nameOf(letter), code ?? "erased", story, button || ""].map((cell) => h("td", {}, cell)));
  }

  async #do(act) {
    if (!(await act())) return;
    await this.read();
    this.element.focus({ preventScroll: true }); // the button that had the focus is gone
  }
}

function nameOf({ kind, step, tool, part }) {
  if (kind === "step") return `step ${step}, ${tool}`;
  if (kind === "delivery") return `part ${part} of the reply`;
  return kind;
}
