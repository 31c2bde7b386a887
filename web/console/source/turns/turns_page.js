// The pages about turns: the list, and the story of one.

import { h } from "../dom.js";
import { Story } from "./story.js";
import { TurnList } from "./turn_list.js";

/** The page at `#/turns?FILTERS` and `#/turns/TURN`. */
export class TurnsPage {
  constructor(session) {
    this.session = session;
    this.element = h("div", { class: "turns-page" });
  }

  /** Follow nothing any more. */
  close() {
    this.story?.close();
  }

  /** Show a turn by its id, or the list. */
  async open(turnId, query) {
    if (turnId) {
      this.story ??= new Story(this.session);
      await this.story.open(turnId);
      this.element.replaceChildren(this.story.element);
    } else {
      this.list ??= new TurnList();
      this.element.replaceChildren(this.list.element);
      await this.list.open(query);
    }
  }
}
