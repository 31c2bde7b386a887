// The form that starts a rollout.

import { call } from "../api.js";
import { announce, fill, h, say } from "../dom.js";

const AGENT = "agents/";

/** The form. A text is read into it when its name is chosen, to be changed. */
export class StartForm {
  #read = "";

  constructor() {
    const field = (name, label, attributes) => h("label", {}, label, h("input", { name, type: "number", step: "any", required: true, ...attributes }));
    this.name = h("select", { name: "name", required: true, on: { change: () => this.#readText() } }, h("option", { value: "" }, "choose one"));
    this.what = h("select", { name: "what", on: { change: () => this.#arrange() } }, h("option", { value: "text" }, "the text"), h("option", { value: "llm" }, "the language model"));
    this.llm = h("input", { name: "llm", type: "text", maxlength: "200", spellcheck: "false", placeholder: "as in TURNLOOM_LLM_MODELS" });
    this.ofLlm = h("label", {}, "Language model", this.llm);
    this.text = h("textarea", { name: "text", rows: "12", spellcheck: "false" });
    this.ofText = h("label", { class: "wide" }, "The new text", this.text);
    this.problem = h("p", { class: "problem", role: "alert" });
    const form = h(
      "form",
      { class: "filters", on: { submit: (event) => this.#start(event) } },
      h("label", {}, "Text or agent", this.name),
      h("label", {}, "What is new", this.what),
      this.ofLlm,
      field("percent", "Share of conversations, %", { value: 10, min: 0.1, max: 99.9 }),
      field("worse", "Taken back if so much worse, %", { value: 5, min: 0, max: 100 }),
      field("turns", "But not before turns", { value: 20, min: 1, step: 1 }),
      this.ofText,
      h("button", { type: "submit", class: "primary" }, "Start the rollout"),
    );
    this.element = h("details", { class: "starter" }, h("summary", {}, "Start a rollout"), form, this.problem);
    this.form = form;
    this.#arrange();
  }

  /** Offer the texts of the tenant; with a draft, `{name, text}`, open with it. Raises Problem. */
  async open(draft) {
    if (draft) this.element.open = true;
    if (this.name.length === 1) {
      const { items } = await call("GET", "v1/prompts");
      this.name.append(...items.map(({ name }) => h("option", { value: name }, name)));
    }
    if (!draft) return;
    this.name.value = draft.name;
    this.what.value = "text";
    this.text.value = draft.text;
    this.#arrange();
  }

  async #readText() {
    const name = this.name.value;
    this.#arrange();
    if (!name || (this.text.value !== this.#read && this.text.value.trim())) return;
    await this.#try(async () => {
      const { text } = await call("GET", `v1/prompts/${name.split("/").map(encodeURIComponent).join("/")}`);
      if (name === this.name.value) this.text.value = this.#read = text ?? "";
    });
  }

  #arrange() {
    const isAgent = this.name.value.startsWith(AGENT);
    if (!isAgent) this.what.value = "text";
    this.what.disabled = !isAgent;
    const ofLlm = this.what.value === "llm";
    this.ofLlm.hidden = !ofLlm;
    this.ofText.hidden = ofLlm;
    this.llm.required = ofLlm;
  }

  async #start(event) {
    event.preventDefault();
    const { name, percent, worse, turns } = Object.fromEntries(new FormData(this.form));
    const bounds = { share: percent / 100, max_worse: worse / 100, min_turns: Number(turns) };
    const what = this.what.value === "llm" ? { llm: this.llm.value.trim() } : { text: this.text.value };
    await this.#try(async () => {
      const { id } = await call("POST", "v1/rollouts", { name, ...what, ...bounds });
      this.text.value = this.#read = "";
      this.element.open = false;
      announce(`The rollout of ${name} has begun.`);
      location.hash = `#/rollouts/${id}`;
    });
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
