// Lines over time, drawn by uPlot: some grow while somebody looks.

import uPlot from "uplot";
import { h } from "./dom.js";
import { number } from "./format.js";

const HEIGHT = 190;
const KEPT = 600;
const TONES = ["--accent", "--good", "--warn", "--bad", "--muted", "--text"];

/** Values over time, the last 600 looks: 20 minutes. */
export class History {
  times = [];
  #lines = new Map();

  /** Note values at a time in seconds. A value that is missing leaves a gap. The same time twice counts once. */
  note(time, values) {
    if (this.times.at(-1) >= time) return;
    const before = this.times.length;
    this.times.push(time);
    for (const name of Object.keys(values)) if (!this.#lines.has(name)) this.#lines.set(name, Array(before).fill(null));
    for (const [name, line] of this.#lines) line.push(values[name] ?? null);
    if (this.times.length > KEPT) for (const line of [this.times, ...this.#lines.values()]) line.shift();
  }

  line(name) {
    return this.#lines.get(name) ?? this.times.map(() => null);
  }
}

/** A chart of some lines of a history, which has `times` in seconds and `line(name)`. */
export class LiveChart {
  #plot = null;
  #isDark = null;

  constructor(title, names) {
    Object.assign(this, { title, names });
    this.place = h("div", { class: "chart", role: "img", "aria-label": title });
    this.element = h("figure", {}, h("figcaption", {}, title), this.place);
    new ResizeObserver(() => this.#plot?.setSize({ width: this.place.clientWidth, height: HEIGHT })).observe(this.place);
  }

  /** Draw the history as it stands. */
  show(history) {
    const data = dated(history.times, this.names.map((name) => history.line(name)));
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    if (isDark !== this.#isDark) this.#make(data, isDark);
    else this.#plot.setData(data);
    const last = this.names.map((name) => [name, history.line(name).at(-1)]).filter(([, value]) => value !== null && value !== undefined);
    this.place.setAttribute("aria-label", `${this.title}. Now: ${last.map(([name, value]) => `${name} ${number(value)}`).join(", ") || "nothing"}`);
  }

  #make(data, isDark) {
    this.#isDark = isDark;
    this.#plot?.destroy();
    // A canvas knows no light-dark(): the colours are those of this element, as computed.
    const computed = (name) => {
      this.place.style.color = `var(${name})`;
      return getComputedStyle(this.place).color;
    };
    const axis = { stroke: computed("--muted"), grid: { stroke: computed("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const series = this.names.map((name, place) => ({ label: name.replace(/^p95 /, ""), stroke: computed(TONES[place % TONES.length]), width: 2, points: { show: ({ data: [times] }) => times.length < 4 } }));
    this.place.style.color = "";
    const scales = { y: { range: (_, low, high) => [0, Math.max(1, high * 1.15)] } };
    const options = { width: this.place.clientWidth || 320, height: HEIGHT, scales, axes: [axis, { ...axis, size: 46 }], series: [{ label: "time" }, ...series], cursor: { drag: { x: false, y: false } }, legend: { live: false } };
    this.#plot = new uPlot(options, data, this.place);
  }
}

/** Return the columns of a chart. One look alone gets a minute before it: uPlot would draw it on an axis of years. */
function dated(times, lines) {
  if (times.length !== 1) return [times, ...lines];
  return [[times[0] - 60, times[0]], ...lines.map((line) => [null, ...line])];
}
