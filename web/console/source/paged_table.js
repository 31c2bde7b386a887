// A list that the API gives page by page, as a table that is kept up to date.

import { call } from "./api.js";
import { fill, h, say } from "./dom.js";

const [PAGE, MOST] = [50, 200];

/** A table of items. `idOf(item)`: its id, larger for those that come earlier; `row(item)`: its row. */
export class PagedTable {
  #rows = new Map();
  #cursor = null;

  constructor({ address, caption, order = "the newest first", look = "scroller found", heads, none, idOf, row }) {
    Object.assign(this, { address, idOf, row });
    this.body = h("tbody");
    this.none = h("tr", {}, h("td", { colspan: heads.length, class: "hint" }, none));
    this.more = h("button", { type: "button", hidden: true, on: { click: () => this.#readMore() } }, "Show more");
    this.problem = h("p", { class: "problem", role: "alert" });
    const head = h("thead", {}, h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name))));
    const table = h("table", {}, h("caption", { class: "unseen" }, `${caption}, ${order}`), head, this.body);
    this.elements = [h("div", { class: look, tabindex: "0", role: "region", "aria-label": caption }, table), this.problem, this.more];
  }

  /** Read again what is shown. Rows that say the same stay, with the focus in them. Raises Problem. */
  async read() {
    const limit = Math.min(MOST, Math.max(PAGE, this.#rows.size));
    const { items, next_cursor } = await call("GET", `${this.address}?limit=${limit}`);
    const oldest = next_cursor && this.idOf(items.at(-1));
    const older = [...this.#rows].filter(([id]) => oldest && id < oldest);
    if (older.length === 0) this.#cursor = next_cursor;
    this.#show(items, older);
  }

  /** Forget an item that is not in the list any more. */
  drop(item) {
    this.#rows.delete(this.idOf(item));
  }

  async #readMore() {
    try {
      const { items, next_cursor } = await call("GET", `${this.address}?limit=${PAGE}&cursor=${encodeURIComponent(this.#cursor)}`);
      this.#cursor = next_cursor;
      const known = [...this.#rows];
      this.#show(items, [], known);
      say(this.problem, "");
    } catch (problem) {
      say(this.problem, problem.message);
    }
  }

  #show(items, after, before = []) {
    const read = items.map((item) => [this.idOf(item), this.#rowOf(item)]);
    this.#rows = new Map([...before, ...read, ...after]);
    const shown = [...this.#rows.values()].map(({ row }) => row);
    if (shown.length === 0) shown.push(this.none);
    const isOther = shown.length !== this.body.children.length || shown.some((row, place) => row !== this.body.children[place]);
    if (isOther) fill(this.body, shown);
    this.more.hidden = this.#cursor === null;
  }

  #rowOf(item) {
    const key = JSON.stringify(item);
    const known = this.#rows.get(this.idOf(item));
    return known?.key === key ? known : { key, row: this.row(item) };
  }
}
