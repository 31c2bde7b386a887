// How the deployment stands: what waits, who works, what fails. Read every two seconds while somebody looks.

import { call } from "../api.js";
import { fill, h, say } from "../dom.js";
import { duration, moment, number, timeOfDay } from "../format.js";
import { History, LiveChart } from "../live_chart.js";

const EVERY_MS = 2_000;

/** The page at `#/operations`. */
export class OperationsPage {
  #timer = 0;
  #history = new History();
  #charts = [];

  constructor() {
    this.at = h("p", { class: "hint", role: "status" });
    this.problem = h("p", { class: "problem", role: "alert" });
    this.tiles = h("dl", { class: "tiles" });
    this.charts = h("div", { class: "charts" });
    this.tables = h("div", { class: "tables" });
    this.element = h("div", { class: "operations" }, h("header", { class: "bar" }, h("h1", {}, "Operations"), this.at), this.problem, this.tiles, this.charts, this.tables);
  }

  /** Look now, and again and again while the page is seen. */
  async open() {
    clearTimeout(this.#timer);
    await this.#look();
  }

  async #look() {
    try {
      if (!document.hidden) this.#draw(await call("GET", "v1/operations"));
      say(this.problem, "");
    } catch (problem) {
      say(this.problem, problem.status ? problem.message : "The server cannot be reached; what is shown is old.");
      if (problem.status === 401 || problem.status === 403) return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.element.isConnected && this.#look(), EVERY_MS);
  }

  #draw(told) {
    say(this.at, `as of ${timeOfDay(told.at)}`);
    fill(this.tiles, tilesOf(told).map(([name, value, tone]) => h("div", { class: tone || null }, h("dt", {}, name), h("dd", {}, value))));
    this.#history.note(Date.parse(told.at) / 1_000, {
      "turns a minute": told.recent.per_minute,
      "in work": sum(told.backlog.map((each) => each.turns)),
      ...Object.fromEntries(told.queues.map((each) => [each.queue, each.messages])),
      ...Object.fromEntries(told.recent.segments.map((each) => [`p95 ${each.segment}`, each.p95_ms])),
    });
    if (this.#charts.length === 0) this.#makeCharts(told);
    for (const chart of this.#charts) chart.show(this.#history);
    fill(this.tables, tablesOf(told));
  }

  #makeCharts({ queues }) {
    this.#charts = [
      new LiveChart("Turns a minute, and in work", ["turns a minute", "in work"]),
      new LiveChart("Messages that wait in queues", queues.map((each) => each.queue)),
      new LiveChart("95 of 100 turns took at most (ms)", ["queue", "plan", "tools", "answer", "delivery"].map((segment) => `p95 ${segment}`)),
    ];
    fill(this.charts, this.#charts.map((chart) => chart.element));
  }
}

function tilesOf({ recent, backlog, backlog_limit, queues, workers, dead_letters, paused_conversations, circuits, beat, refused }) {
  const inWork = sum(backlog.map((each) => each.turns));
  const oldest = Math.max(0, ...queues.map((each) => each.oldest_s ?? 0));
  const alive = workers.filter((each) => each.alive).length;
  const letters = sum(Object.values(dead_letters));
  const shed = sum(Object.values(refused));
  return [
    ["turns a minute", number(recent.per_minute)],
    ["failed lately", `${recent.failed} of ${recent.turns}`, recent.failed > 0 && "warn"],
    ["in work", `${number(inWork)} of ${number(backlog_limit)}`, inWork > backlog_limit / 2 && "warn"],
    ["waits longest", oldest > 0 ? duration(oldest * 1_000) : "nothing", oldest > 30 && "bad"],
    ["workers", alive < workers.length ? `${alive} of ${workers.length}` : String(alive), alive < Math.max(1, workers.length) && "bad"],
    ["periodic tasks", beat === null ? "unknown" : beat ? "are sent" : "not sent", beat === false && "bad"],
    ["dead letters", number(letters), letters > 0 && "bad"],
    ["open circuits", String(circuits.length), circuits.length > 0 && "warn"],
    ["refused", number(shed), shed > 0 && "warn"],
    ["paused conversations", number(paused_conversations)],
  ];
}

function tablesOf({ at, recent, queues, workers, backlog, circuits, dead_letters, refused }) {
  const age = (then) => duration(Math.max(0, Date.parse(at) - Date.parse(then)));
  return [
    table("Queues", ["Queue", "Waiting", "Oldest", "Slots"], queues.map((each) => [each.queue, each.messages ?? "unknown", each.oldest_s === null ? "–" : duration(each.oldest_s * 1_000), each.slots])),
    table("Workers", ["Worker", "Queues", "Steps", "Last beat", "Started"], workers.map((each) => [each.name, each.queues.join(", "), `${each.steps} of ${each.slots}`, `${age(each.beat_at)} ago${each.alive ? "" : ", lost"}`, moment(each.started_at)])),
    table("Time of a turn", ["Part", "Turns", "Half within", "95 of 100 within"], recent.segments.map((each) => [each.segment, each.turns, duration(each.p50_ms), duration(each.p95_ms)])),
    table("Tools", ["Tool", "Calls", "Failed", "Errors", "95 of 100 within"], [...recent.tools].sort((one, other) => other.failed - one.failed).map((each) => [each.tool, each.calls, each.failed, counts(each.errors), duration(each.p95_ms)])),
    table("In work", ["Status", "Priority", "Turns"], backlog.map((each) => [each.status, each.priority, each.turns])),
    table("Did not end properly", ["Kind", "Count"], Object.entries(dead_letters)),
    circuits.length > 0 && table("Open circuits", ["Service", "Open", "Tries again in"], circuits.map((each) => [each.service, each.open, duration(each.left_s * 1_000)])),
    Object.keys(refused).length > 0 && table("Refused requests", ["Why", "Count"], Object.entries(refused)),
  ].filter(Boolean);
}

function table(title, heads, rows) {
  const head = h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)));
  const body = rows.map((cells) => h("tr", {}, ...cells.map((cell) => h("td", { class: typeof cell === "number" ? "figure" : null }, typeof cell === "number" ? number(cell) : cell))));
  const none = h("tr", {}, h("td", { colspan: heads.length, class: "hint" }, "nothing lately"));
  const content = h("table", {}, h("thead", {}, head), h("tbody", {}, ...(body.length > 0 ? body : [none])));
  return h("section", { "aria-label": title }, h("h2", {}, title), h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": `Table: ${title}` }, content));
}

function counts(errors) {
  return Object.entries(errors).map(([code, count]) => `${code} ${count}`).join(", ") || "–";
}

function sum(numbers) {
  return numbers.reduce((total, each) => total + each, 0);
}
