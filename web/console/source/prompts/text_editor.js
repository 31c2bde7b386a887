// One text: edit it, try it, set it, go back to an earlier one.

import { call } from "../api.js";
import { announce, fill, h, say } from "../dom.js";
import { moment } from "../format.js";
import { keepDraft } from "../rollouts/draft.js";
import { promptChanges } from "./prompt_changes.js";
import { TextTrial } from "./text_trial.js";

/** The editor. `onChange` is called when another text is in effect; `mayReplay`: whether the key may make replays. */
export class TextEditor {
  #told = null;

  constructor({ onChange, mayReplay }) {
    Object.assign(this, { onChange, name: undefined });
    const button = (words, act, kind) => h("button", { type: "button", class: kind, on: { click: () => this.#try(act) } }, words);
    this.title = h("h2", {}, "");
    this.about = h("p", { class: "hint" });
    this.text = h("textarea", { id: "text", spellcheck: "false", rows: "20", on: { input: () => this.#compare() } });
    this.problem = h("p", { class: "problem", role: "alert" });
    this.outcome = h("div", { class: "outcome", role: "status" });
    this.set = button("Set for all", () => this.#set(), "primary");
    this.remove = button("Go back to the shipped text", () => this.#remove());
    this.trial = new TextTrial({ text: () => this.text.value, mayReplay });
    this.actions = h("div", { class: "row" }, button("Check and preview", () => this.#check()), button("Roll it out…", () => this.#rollOut()), this.set, this.remove);
    this.below = h("div", { class: "below" });
    const back = h("a", { class: "button quiet back", href: "#/prompts" }, "← All texts");
    const label = h("label", { class: "unseen", for: "text" }, "Text");
    this.blank = h("p", { class: "blank" }, "Choose a text. A change is checked first, counts for the tenant's next turns, and can be taken back.");
    this.inner = h("div", { class: "inner" }, back, h("div", {}, this.title, this.about), label, this.text, this.actions, this.problem, this.outcome, this.trial.element, this.below);
    this.element = h("section", { class: "editor", "aria-label": "Text" }, this.blank, this.inner);
  }

  /** Show the text of this name; none without a name. Raises Problem. */
  async open(name) {
    this.name = name;
    this.blank.hidden = name !== undefined;
    this.inner.hidden = true;
    fill(this.outcome);
    say(this.problem, "");
    if (name !== undefined) await Promise.all([this.#read(), this.trial.open(name)]);
  }

  async #read() {
    const { name } = this;
    const told = await call("GET", addressOf(name));
    if (name !== this.name) return;
    this.#told = told;
    this.inner.hidden = false;
    say(this.title, name);
    say(this.about, told.refused ?? `${told.source ?? "nothing"}${told.origin === "shipped" ? ", as shipped" : `, the tenant's own${told.set_at ? ` since ${moment(told.set_at)}, by ${told.set_by}` : ""}`}`);
    this.text.value = told.text ?? "";
    this.remove.hidden = told.origin !== "ledger";
    fill(this.below, this.#history(told.history), told.origin !== "shipped" && told.shipped !== null && folded("The shipped text", told.shipped));
    this.#compare();
  }

  #history(changes) {
    if (changes.length === 0) return null;
    const rows = changes.map(({ version, change, by, at }) => h("tr", {}, h("td", {}, moment(at)), h("td", {}, change), h("td", {}, by), h("td", { class: "row" }, change === "set" && this.#ofVersion(version))));
    const heads = ["When", "Change", "By", ""].map((name) => h("th", { scope: "col" }, name || h("span", { class: "unseen" }, "Actions")));
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
    return h("section", { class: "part" }, h("h3", {}, "History"), h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "History" }, table));
  }

  #ofVersion(version) {
    const act = (words, what) => h("button", { type: "button", class: "link", "aria-label": `${words}: version ${version}`, on: { click: () => this.#try(what) } }, words);
    return [act("Show", () => this.#show(version)), act("Set again", () => this.#write({ version }))];
  }

  async #show(version) {
    const old = await call("GET", `${addressOf(this.name)}?version=${version}`);
    this.text.value = old.text;
    this.#compare();
    this.text.focus();
  }

  async #check() {
    const turn = this.trial.turnId;
    const told = await call("POST", "v1/prompts/check", { name: this.name, text: this.text.value, ...(turn && { turn_id: turn }) });
    const previews = told.preview.map((text, place) => folded(`Preview ${place + 1}`, text, place === 0));
    fill(this.outcome, h("p", { class: told.usable ? "good" : "problem" }, told.usable ? `It can be used, as ${told.source}.` : told.reason), warnings(told.warnings), previews, turn && told.usable && told.preview.length === 0 && promptChanges(told.prompts));
  }

  #rollOut() {
    keepDraft(this.name, this.text.value);
    location.hash = "#/rollouts";
  }

  async #set() {
    await this.#write({ text: this.text.value });
  }

  async #write(edit) {
    this.#changed(await call("PUT", addressOf(this.name), edit), "is in effect");
    await this.#read();
  }

  async #remove() {
    this.#changed(await call("DELETE", addressOf(this.name)), "is in effect again");
    await this.#read();
  }

  #changed(told, words) {
    fill(this.outcome, h("p", { class: "good" }, `${told.source ?? "The shipped text"} ${words}.`), warnings(told.warnings));
    announce(`${this.name} is changed.`);
    this.onChange();
  }

  #compare() {
    this.set.disabled = this.text.value === this.#told?.text;
  }

  async #try(act) {
    say(this.problem, "");
    try {
      await act();
    } catch (problem) {
      say(this.problem, problem.message);
    }
  }
}

function addressOf(name) {
  return `v1/prompts/${name.split("/").map(encodeURIComponent).join("/")}`;
}

function warnings(sentences) {
  return sentences.length > 0 && h("ul", { class: "notes" }, ...sentences.map((sentence) => h("li", {}, sentence)));
}

function folded(name, text, isOpen = false) {
  return h("details", { open: isOpen }, h("summary", {}, name), h("pre", { class: "json", tabindex: "0" }, text));
}
