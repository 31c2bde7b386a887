// The pages about replays: the list, and one turn that was run again.

import { fill, h } from "../dom.js";
import { ForkStory } from "./fork_story.js";
import { ReplayList } from "./replay_list.js";

/** The page at `#/replays` and `#/replays/REPLAY`. */
export class ReplaysPage {
  constructor() {
    this.element = h("div", { class: "turns-page" });
    this.list = new ReplayList();
    this.fork = new ForkStory();
  }

  /** Follow nothing any more. */
  close() {
    this.fork.close();
  }

  /** Show a replay by its id, or the list. Raises Problem. */
  async open(replayId) {
    this.fork.close();
    const shown = replayId ? this.fork : this.list;
    if (replayId) await shown.open(replayId);
    fill(this.element, shown.element);
    if (!replayId) await shown.open();
  }
}
