// How the deployment stands: what waits, who works, what fails. Read every two seconds while somebody looks.

import { call, mayPass } from "../api.js";
import { fill, h, say } from "../dom.js";
import { flowerLink, workerAddress } from "../flower.js";
import { duration, moment, number, timeOfDay } from "../format.js";
import { History, LiveChart } from "../live_chart.js";
import { LiveTable } from "../live_table.js";
import { DeadLetters } from "./dead_letters.js";

const [EVERY_MS, LETTERS_EVERY_MS] = [2_000, 30_000];

/** The page at `#/operations`. */
export class OperationsPage {
  #timer = 0;
  #history = new History();
  #charts = [];
  #counts = "";
  #lettersReadAt = 0;

  /** `session`: who looks. */
  constructor(session) {
    this.at = h("p", { class: "hint", role: "status" });
    this.problem = h("p", { class: "problem", role: "alert" });
    this.tiles = h("dl", { class: "tiles" });
    this.charts = h("div", { class: "charts" });
    this.letters = new DeadLetters(session);
    this.tables = makeTables(session.flower_url);
    const tables = h("div", { class: "tables" }, ...this.tables.map(({ table }) => table.element));
    const head = h("header", { class: "bar" }, h("h1", {}, "Operations"), h("div", { class: "row" }, this.at, flowerLink(session.flower_url)));
    this.element = h("div", { class: "operations" }, head, this.problem, this.tiles, this.charts, this.letters.element, tables);
  }

  /** Look now, and again and again while the page is seen. */
  async open() {
    clearTimeout(this.#timer);
    this.#counts = "";
    await this.#look();
  }

  async #look() {
    try {
      if (!document.hidden) this.#draw(await call("GET", "v1/operations"));
      say(this.problem, "");
    } catch (problem) {
      say(this.problem, problem.status ? problem.message : "The server cannot be reached; what is shown is old.");
      if (!mayPass(problem)) return;
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
    for (const { table, rowsOf, isHiddenEmpty } of this.tables) {
      const rows = rowsOf(told);
      table.element.hidden = isHiddenEmpty && rows.length === 0;
      table.show(rows);
    }
    this.#readLetters(told.dead_letters);
  }

  /** Read the tenant's list when the counts of all tenants have changed, and at times: they may stay by chance. */
  async #readLetters(letters) {
    const counted = JSON.stringify(letters);
    if (counted === this.#counts && Date.now() - this.#lettersReadAt < LETTERS_EVERY_MS) return;
    if (!(await this.letters.read())) return;
    this.#counts = counted;
    this.#lettersReadAt = Date.now();
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

/** Return the tables, by the function that gives their rows. `flowerUrl`: where workers are shown, if anywhere. */
function makeTables(flowerUrl) {
  const each = (title, heads, rowsOf, isHiddenEmpty = false) => ({ table: new LiveTable(title, heads), rowsOf, isHiddenEmpty });
  return [
    each("Queues", ["Queue", "Waiting", "Oldest", "Slots"], ({ queues }) => queues.map((one) => [one.queue, one.messages ?? "unknown", one.oldest_s === null ? "–" : duration(one.oldest_s * 1_000), one.slots])),
    each("Workers", ["Worker", "Queues", "Steps", "Last beat", "Started"], ({ at, workers }) => workers.map((one) => [{ text: one.name, href: workerAddress(one.name, flowerUrl) }, one.queues.join(", "), `${one.steps} of ${one.slots}`, `${age(at, one.beat_at)} ago${one.alive ? "" : ", lost"}`, moment(one.started_at)])),
    each("Time of a turn", ["Part", "Turns", "Half within", "95 of 100 within"], ({ recent }) => recent.segments.map((one) => [one.segment, one.turns, duration(one.p50_ms), duration(one.p95_ms)])),
    each("Tools", ["Tool", "Calls", "Failed", "Errors", "95 of 100 within"], ({ recent }) => [...recent.tools].sort((one, other) => other.failed - one.failed).map((one) => [one.tool, one.calls, one.failed, counts(one.errors), duration(one.p95_ms)])),
    each("In work", ["Status", "Priority", "Turns"], ({ backlog }) => backlog.map((one) => [one.status, one.priority, one.turns])),
    each("Did not end properly", ["Kind", "Count, of all tenants"], (told) => Object.entries(told.dead_letters)),
    each("Open circuits", ["Service", "Open", "Tries again in"], ({ circuits }) => circuits.map((one) => [one.service, one.open, duration(one.left_s * 1_000)]), true),
    each("Refused requests", ["Why", "Count"], ({ refused }) => Object.entries(refused), true),
  ];
}

function age(at, then) {
  return duration(Math.max(0, Date.parse(at) - Date.parse(then)));
}

function counts(errors) {
  return Object.entries(errors).map(([code, count]) => `${code} ${count}`).join(", ") || "–";
}

function sum(numbers) {
  return numbers.reduce((total, each) => total + each, 0);
}
