// What did not end properly in one's own tenant: a list, from which each is decided or sent again.

import { h, say } from "../dom.js";
import { moment } from "../format.js";
import { PagedTable } from "../paged_table.js";
import { decideStep, resendCallback, resendPart } from "../redrive.js";

const ACTS = {
  step: { words: "Decide…", act: ({ turn_id, step }) => decideStep(turn_id, step) },
  delivery: { words: "Send again…", act: ({ turn_id, part, code }) => resendPart(turn_id, part, code === "outcome_unknown") },
  callback: { words: "Send again…", act: ({ turn_id }) => resendCallback(turn_id) },
};

/** The list. What the key may not do is not offered. */
export class DeadLetters {
  constructor({ tenant, scopes }) {
    this.may = new Set(scopes);
    this.problem = h("p", { class: "problem", role: "alert" });
    const title = `Dead letters of ${tenant}`;
    this.table = new PagedTable({
      address: "v1/dead-letters",
      caption: `Table: ${title}`,
      order: "what can be decided or sent again first",
      look: "scroller",
      heads: ["Since", "What", "Why", "Turn", h("span", { class: "unseen" }, "Act")],
      none: "Everything ended properly.",
      idOf: placeOf,
      row: (letter) => this.#row(letter),
    });
    this.element = h("section", { class: "letters", "aria-label": title, tabindex: "-1" }, h("h2", {}, title), this.problem, ...this.table.elements);
  }

  /** Read the list again, and return whether that was possible. What has not changed stays as it is. */
  async read() {
    try {
      await this.table.read();
      say(this.problem, "");
      return true;
    } catch (problem) {
      say(this.problem, problem.message);
      return false;
    }
  }

  #row(letter) {
    const { kind, turn_id, code, since } = letter;
    const story = this.may.has("admin") ? h("a", { href: `#/turns/${turn_id}`, "aria-label": `Story of turn ${turn_id}` }, "Story") : h("code", {}, turn_id);
    const { words, act } = ACTS[kind] ?? {};
    const button = act && this.may.has("operations:write") && h("button", { type: "button", "aria-label": `${words} ${nameOf(letter)}`, on: { click: () => this.#do(letter, act) } }, words);
    return h("tr", {}, ...[moment(since), nameOf(letter), code ?? "erased", story, button || ""].map((cell) => h("td", {}, cell)));
  }

  async #do(letter, act) {
    if (!(await act(letter))) return;
    this.table.drop(letter);
    await this.read();
    this.element.focus({ preventScroll: true }); // the button that had the focus is gone
  }
}

/** Return a text that is the larger, the earlier a letter comes in the list. */
function placeOf({ kind, since, turn_id, step, part }) {
  return [kind === "turn" ? 0 : 1, since, turn_id, kind, step ?? part ?? ""].join(" ");
}

function nameOf({ kind, step, tool, part }) {
  if (kind === "step") return `step ${step}, ${tool}`;
  if (kind === "delivery") return `part ${part} of the reply`;
  return kind;
}
