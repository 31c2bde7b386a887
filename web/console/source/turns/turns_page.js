// The pages about turns: the list, the story of one, and the form that runs one again.

import { h } from "../dom.js";
import { ForkEditor } from "./fork_editor.js";
import { Story } from "./story.js";
import { TurnList } from "./turn_list.js";

/** The page at `#/turns?FILTERS`, `#/turns/TURN` and `#/turns/TURN?from=STEP`. */
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
    const from = new URLSearchParams(query).get("from");
    if (turnId && from !== null) {
      this.fork ??= new ForkEditor();
      await this.fork.open(turnId, from);
      this.element.replaceChildren(this.fork.element);
    } else if (turnId) {
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
