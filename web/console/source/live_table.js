// A table that changes while somebody looks: what stays the same stays in place, with its focus and scroll position.

import { fill, h, say, set } from "./dom.js";
import { number } from "./format.js";

/** A table. A cell is a text, a number, or `{text, href}` for a link to another site; null hrefs are none. */
export class LiveTable {
  constructor(title, heads) {
    const head = h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)));
    this.none = h("tr", {}, h("td", { colspan: heads.length, class: "hint" }, "nothing lately"));
    this.body = h("tbody", {}, this.none);
    const table = h("table", {}, h("thead", {}, head), this.body);
    this.element = h("section", { "aria-label": title }, h("h2", {}, title), h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": `Table: ${title}` }, table));
  }

  /** Show these rows: lists of cells. */
  show(rows) {
    if (rows.length > 0) this.none.remove();
    else fill(this.body, this.none);
    while (this.body.rows.length > Math.max(rows.length, 1)) this.body.lastChild.remove();
    rows.forEach((cells, place) => {
      const row = this.body.rows[place] ?? this.body.appendChild(h("tr", {}, ...cells.map(() => h("td"))));
      cells.forEach((cell, column) => drawCell(row.cells[column], cell));
    });
  }
}

function drawCell(place, cell) {
  if (cell?.href) return drawLink(place, cell);
  set(place, "class", typeof cell === "number" && "figure");
  say(place, typeof cell === "number" ? number(cell) : String(cell?.text ?? cell ?? "–"));
}

function drawLink(place, { text, href }) {
  const link = place.querySelector("a") ?? fill(place, h("a", { target: "_blank", rel: "noopener" })).firstChild;
  set(link, "href", href);
  say(link, text);
}
