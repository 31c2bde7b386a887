// Show the structured parts of a reply as what they are: models/contracts/artifact.py.

import { h } from "../dom.js";
import { day, moment, plain } from "../format.js";

const SHOWN = { table, comparison, link, itinerary, card };
const PARTS = ["morning", "afternoon", "evening"];

/** Return an artifact's element. One of a kind that this page does not know is shown as its data. */
export function artifactView(artifact) {
  const body = SHOWN[artifact.kind]?.(artifact.data, artifact) ?? h("pre", {}, JSON.stringify(artifact.data, null, 2));
  const heading = h("h4", {}, artifact.title);
  return h("section", { class: `artifact ${artifact.kind}`, "aria-label": artifact.title }, heading, body);
}

function table({ columns, rows, preview }, { title }) {
  const state = { column: null, isDescending: false, isWhole: preview === null || preview >= rows.length };
  const body = h("tbody");
  const heads = columns.map((column, place) => h("th", { scope: "col" }, sorter(column, () => sort(place))));
  const more = h("button", { class: "quiet", type: "button", on: { click: showAll } }, `Show all ${rows.length}`);

  function sort(place) {
    state.isDescending = state.column === place && !state.isDescending;
    state.column = place;
    draw();
  }
  function showAll() {
    state.isWhole = true;
    draw();
  }
  function draw() {
    const sorted = state.column === null ? rows : [...rows].sort((a, b) => compared(a, b, state));
    const shown = state.isWhole ? sorted : sorted.slice(0, preview);
    body.replaceChildren(...shown.map((row) => h("tr", {}, ...row.map((cell) => cellView(cell)))));
    heads.forEach((head, place) => head.setAttribute("aria-sort", order(place, state)));
    more.hidden = state.isWhole;
  }
  draw();
  const caption = h("caption", { class: "unseen" }, `${title}. The heads of the columns sort.`);
  return h("div", {}, scroller(title, h("table", {}, caption, h("thead", {}, h("tr", {}, ...heads)), body)), more);
}

function order(place, { column, isDescending }) {
  if (place !== column) return "none";
  return isDescending ? "descending" : "ascending";
}

function sorter(column, sort) {
  return h("button", { type: "button", class: "sorter", on: { click: sort } }, column);
}

function compared(one, other, { column, isDescending }) {
  const [a, b] = [one[column], other[column]];
  const way = isDescending ? -1 : 1;
  if (a === null || b === null) return (a === null) - (b === null);
  return way * (typeof a === "number" && typeof b === "number" ? a - b : plain(a).localeCompare(plain(b), undefined, { numeric: true }));
}

function cellView(cell) {
  return h("td", { class: typeof cell === "number" ? "figure" : null }, plain(cell));
}

function comparison({ criteria, options }, { title }) {
  const heads = options.map((option) => h("th", { scope: "col" }, plain(option.name)));
  const rows = criteria.map((criterion) => {
    const cells = options.map((option) => cellView(option[criterion]));
    return h("tr", {}, h("th", { scope: "row" }, criterion), ...cells);
  });
  const corner = h("td", { class: "corner" });
  return scroller(title, h("table", {}, h("thead", {}, h("tr", {}, corner, ...heads)), h("tbody", {}, ...rows)));
}

/** A wide table scrolls by itself, also with the keyboard. */
function scroller(title, content) {
  return h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": title }, content);
}

function link({ url, label, expires_at }) {
  const isSafe = /^https?:\/\//i.test(url);
  const until = expires_at && h("p", { class: "hint" }, `Open until ${moment(expires_at)}`);
  if (!isSafe) return h("p", {}, `${label}: ${url}`);
  const host = h("span", { class: "hint" }, new URL(url).host);
  return h("div", {}, h("a", { class: "link-card", href: url, target: "_blank", rel: "noopener noreferrer" }, label, host), until);
}

function itinerary({ days, stay, notes }) {
  const items = days.map((each, place) => {
    const parts = PARTS.filter((part) => each[part]).flatMap((part) => [h("dt", {}, part), h("dd", {}, each[part])]);
    const weather = each.weather && h("span", { class: "hint" }, each.weather);
    const name = each.date ? day(each.date) : `Day ${place + 1}`;
    return h("li", {}, h("h5", {}, name, weather), h("dl", {}, ...parts));
  });
  const noted = notes.length > 0 && h("ul", { class: "notes" }, ...notes.map((note) => h("li", {}, note)));
  return h("div", {}, h("ol", { class: "days" }, ...items), stay && h("p", {}, `Stay: ${stay}`), noted);
}

function card({ subtitle, facts }) {
  const lines = facts.flatMap(({ label, value }) => [h("dt", {}, label), h("dd", {}, plain(value))]);
  return h("div", {}, subtitle && h("p", { class: "hint" }, subtitle), h("dl", { class: "facts" }, ...lines));
}
