// How the tenant's turns went: by agent, by version of each text, by day; and the trend over a month.

import { offerAgents } from "../agents.js";
import { call } from "../api.js";
import { fill, h, say } from "../dom.js";
import { duration, number, share } from "../format.js";
import { LiveChart } from "../live_chart.js";

const GROUPS = { agent: "agent", version: "version of each text", day: "day" };

/** The page at `#/quality`. */
export class QualityPage {
  #reading = null;

  constructor() {
    this.by = h("select", { id: "by", on: { change: () => this.#read() } }, ...Object.entries(GROUPS).map(([value, words]) => h("option", { value }, words)));
    this.agent = h("select", { id: "of-agent", on: { change: () => this.#read() } }, h("option", { value: "" }, "all agents"));
    this.charts = [new LiveChart("Turns a day", ["turns"]), new LiveChart("Of 100 turns", ["failed", "asked back", "not grounded"])];
    this.problem = h("p", { class: "problem", role: "alert" });
    this.none = h("p", { class: "hint", role: "status" });
    this.table = h("div");
    const choices = h("div", { class: "row" }, h("label", { class: "hint", for: "by" }, "By ", this.by), h("label", { class: "hint", for: "of-agent" }, "Of ", this.agent));
    const head = h("header", { class: "bar" }, h("h1", {}, "Quality"), choices);
    const lately = h("section", { class: "tables" }, h("section", {}, h("h2", {}, "The last seven days"), this.none, this.table));
    this.trend = h("div", { class: "charts" }, ...this.charts.map((chart) => chart.element));
    this.untold = h("p", { class: "hint" }, "The trend begins tomorrow: each day's figures are kept when it is over.");
    this.element = h("div", { class: "operations quality" }, head, this.problem, lately, this.untold, this.trend);
  }

  /** Read the figures as they are now. Raises Problem. */
  async open() {
    await offerAgents(this.agent);
    await this.#read();
  }

  async #read() {
    const asked = new URLSearchParams(this.agent.value ? { agent: this.agent.value } : {});
    const reading = (this.#reading = Promise.all([call("GET", `v1/metrics/quality?by=${this.by.value}&${asked}`), call("GET", `v1/metrics/trend?${asked}`)]));
    try {
      const [report, trend] = await reading;
      if (reading !== this.#reading) return;
      say(this.problem, "");
      fill(this.table, report.items.length > 0 && table(report.items));
      say(this.none, report.items.length > 0 ? "" : "No turn has ended in this time.");
      const history = daily(trend.items);
      this.trend.hidden = history.times.length === 0;
      this.untold.hidden = !this.trend.hidden;
      for (const chart of this.charts) chart.show(history);
    } catch (problem) {
      say(this.problem, problem.message);
    }
  }
}

/** Return the lines of a chart from the figures of days and agents: `{times, line(name)}`. Pure. */
export function daily(items) {
  const days = new Map();
  for (const item of items) {
    const day = days.get(item.day) ?? { turns: 0, failed: 0, questions: 0, checked: 0, grounded: 0 };
    for (const name of Object.keys(day)) day[name] += item[name];
    days.set(item.day, day);
  }
  const sorted = [...days].sort(([one], [other]) => one.localeCompare(other));
  const percent = (part, of) => (of > 0 ? (100 * part) / of : null);
  const lines = {
    turns: (day) => day.turns,
    failed: (day) => percent(day.failed, day.turns),
    "asked back": (day) => percent(day.questions, day.turns),
    "not grounded": (day) => percent(day.checked - day.grounded, day.checked),
  };
  return { times: sorted.map(([day]) => Date.parse(day) / 1_000), line: (name) => sorted.map(([, day]) => lines[name](day)) };
}

function table(items) {
  const heads = ["", "Turns", "Failed", "Valid plans", "Tool calls", "Grounded", "Asked back", "First word", "Cost a turn", "Rated"];
  const rows = items.map((item) => {
    const name = [item.day, item.version, item.agent].filter(Boolean).join(" · ");
    const word = item.first_word_p50_ms === null ? "–" : `${duration(item.first_word_p50_ms)} to ${duration(item.first_word_p95_ms)}`;
    const cost = item.cost_per_turn === null ? "–" : `$${item.cost_per_turn.toFixed(5)}`;
    const cells = [number(item.turns), part(item.error_rate), part(item.plan_validity), part(item.tool_success), part(item.grounded_rate), part(item.clarifying_rate), word, cost, `${item.up} up, ${item.down} down`];
    return h("tr", {}, h("th", { scope: "row" }, name), ...cells.map((cell) => h("td", {}, cell)));
  });
  const head = heads.map((name) => (name ? h("th", { scope: "col" }, name) : h("td")));
  return h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Table: quality" }, h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows)));
}

function part(value) {
  return value === null ? "–" : share(value);
}
