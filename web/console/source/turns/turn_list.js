// Find turns: a form of filters, and what was found, page by page. The address has the filters: it can be sent on.

import { readAgents } from "../agents.js";
import { call } from "../api.js";
import { fill, h, say } from "../dom.js";
import { TURN_WORDS, duration, moment } from "../format.js";

const CHANNELS = ["api", "whatsapp", "telegram", "slack", "twilio"];
const TEXTS = { text: "Words of the message", user: "User", tool: "Tool", error: "Error code" };
const TIMES = { since: "From", until: "Until" };

/** The list at `#/turns?status=failed`. */
export class TurnList {
  #query = "";
  #cursor = null;
  #made = null;
  #reading = null;

  constructor() {
    this.form = h("form", { class: "filters", role: "search", on: { submit: (event) => this.#submit(event), change: () => this.form.requestSubmit() } });
    this.rows = h("tbody");
    this.told = h("p", { class: "hint", role: "status" });
    this.problem = h("p", { class: "problem", role: "alert" });
    this.more = h("button", { type: "button", on: { click: () => this.#read() } }, "Show more");
    const heads = ["When", "Status", "Agent", "Message and reply", "Took", "From"].map((name) => h("th", { scope: "col" }, name));
    const table = h("table", {}, h("caption", { class: "unseen" }, "Turns, the last one first"), h("thead", {}, h("tr", {}, ...heads)), this.rows);
    const list = h("div", { class: "scroller found", tabindex: "0", role: "region", "aria-label": "Turns" }, table);
    this.element = h("div", { class: "list-page" }, h("header", { class: "bar" }, h("h1", {}, "Turns"), this.told), this.form, this.problem, list, this.more);
    this.#made = this.#makeForm();
  }

  /** Show what these filters find. `query`: as in an address. */
  async open(query) {
    await this.#made;
    this.#query = query;
    this.#cursor = null;
    const given = new URLSearchParams(query);
    for (const field of this.form.elements) if (field.name) field.value = shownAs(field, given.get(field.name) ?? "");
    await this.#read();
  }

  /** Read one page. Of two that are asked for at the same time the last counts. */
  async #read() {
    const asked = new URLSearchParams(this.#query);
    if (this.#cursor) asked.set("cursor", this.#cursor);
    const reading = (this.#reading = call("GET", `v1/turns?${asked}`));
    const page = await reading.catch((problem) => ({ problem }));
    if (reading !== this.#reading) return;
    say(this.problem, page.problem?.message ?? "");
    if (page.problem) return;
    if (!this.#cursor) fill(this.rows);
    this.rows.append(...page.items.map(row));
    this.#cursor = page.next_cursor;
    this.more.hidden = this.#cursor === null;
    const count = this.rows.children.length;
    say(this.told, count === 0 ? "No turn is like this." : `${count}${this.#cursor ? " and more" : ""} found`);
  }

  #submit(event) {
    event.preventDefault();
    const given = new URLSearchParams();
    for (const [name, value] of new FormData(this.form)) if (value) given.set(name, name in TIMES ? new Date(value).toISOString() : value);
    const place = `#/turns${given.size > 0 ? `?${given}` : ""}`;
    if (location.hash === place) this.open(String(given));
    else location.hash = place;
  }

  async #makeForm() {
    const [agents, tools] = await Promise.all([readAgents().catch(() => []), call("GET", "v1/tools").catch(() => ({ items: [] }))]);
    const names = tools.items.map(({ name }) => h("option", { value: name }));
    fill(
      this.form,
      choice("status", "Status", Object.keys(TURN_WORDS), TURN_WORDS),
      choice("agent", "Agent", agents.map(({ name }) => name)),
      choice("channel", "Channel", CHANNELS),
      Object.entries(TEXTS).map(([name, label]) => field(name, label, { type: "search", list: name === "tool" && "tools" })),
      Object.entries(TIMES).map(([name, label]) => field(name, label, { type: "datetime-local" })),
      h("datalist", { id: "tools" }, ...names),
      h("a", { class: "button", href: "#/turns" }, "Clear"),
    );
  }
}

function choice(name, label, values, words = {}) {
  const options = values.map((value) => h("option", { value }, words[value] ?? value));
  return h("label", {}, label, h("select", { name }, h("option", { value: "" }, "any"), ...options));
}

function field(name, label, attributes) {
  return h("label", {}, label, h("input", { name, ...attributes }));
}

function shownAs(field, value) {
  if (field.type !== "datetime-local" || !value) return value;
  const at = new Date(value);
  return new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function row(turn) {
  const took = turn.finished_at ? duration(Date.parse(turn.finished_at) - Date.parse(turn.created_at)) : "–";
  const text = turn.message || `${turn.author ?? "A person"} wrote`;
  const from = [turn.channel, turn.user].filter(Boolean).join(" · ");
  const told = h("td", { class: "told" }, h("a", { href: `#/turns/${turn.turn_id}` }, text), turn.reply && h("p", { class: "hint" }, turn.reply));
  const status = h("span", { class: `badge ${turn.status}` }, turn.error ?? TURN_WORDS[turn.status]);
  return h("tr", {}, h("td", {}, moment(turn.created_at)), h("td", {}, status), h("td", {}, turn.agent), told, h("td", { class: "figure" }, took), h("td", {}, from));
}
