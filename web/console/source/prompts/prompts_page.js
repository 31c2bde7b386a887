// Prompts, agents and other texts as the tenant has them: what is in effect, by whom, since when.

import { call } from "../api.js";
import { fill, h, say, set } from "../dom.js";
import { moment } from "../format.js";
import { TextEditor } from "./text_editor.js";

/** The page at `#/prompts` and `#/prompts/agents/hotel`. */
export class PromptsPage {
  constructor(session) {
    this.filter = h("input", { type: "search", "aria-label": "Find a text", placeholder: "Find a text…", on: { input: () => this.#narrow() } });
    this.list = h("ul", { class: "texts" });
    this.problem = h("p", { class: "problem", role: "alert" });
    this.editor = new TextEditor({ onChange: () => this.#read(), mayReplay: session.scopes.includes("replays:write") });
    const side = h("nav", { class: "side", "aria-label": "Texts" }, h("h1", {}, "Prompts"), this.filter, this.problem, this.list);
    this.element = h("div", { class: "prompts" }, side, this.editor.element);
  }

  /** Show the list, and one text if it is named. */
  async open(name) {
    this.element.classList.toggle("with-text", name !== undefined);
    await Promise.all([this.#read(), this.editor.open(name)]);
    for (const link of this.list.querySelectorAll("a")) set(link, "aria-current", link.dataset.name === name && "page");
  }

  async #read() {
    const { items } = await call("GET", "v1/prompts");
    const chosen = this.editor.name;
    fill(this.list, items.map((item) => h("li", {}, link(item, chosen))));
    this.#narrow();
  }

  #narrow() {
    const wanted = this.filter.value.trim().toLowerCase();
    for (const item of this.list.children) item.hidden = !item.textContent.toLowerCase().includes(wanted);
    say(this.problem, "");
  }
}

function link({ name, origin, refused, set_by, set_at }, chosen) {
  const whose = origin === "shipped" ? null : h("span", { class: "hint" }, `own, ${set_at ? `since ${moment(set_at)}, by ${set_by}` : "from a file"}`);
  const bad = refused && h("span", { class: "problem" }, "refused: the shipped one counts");
  return h("a", { href: `#/prompts/${name}`, "data-name": name, "aria-current": name === chosen && "page" }, name, whose, bad);
}
