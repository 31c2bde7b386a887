// Rollouts: a new text or language model for a share of the conversations. The list, the form, and one of them.

import { fill, h } from "../dom.js";
import { moment, share } from "../format.js";
import { PagedTable } from "../paged_table.js";
import { takeDraft } from "./draft.js";
import { RolloutStory, badge } from "./rollout_story.js";
import { StartForm } from "./start_form.js";

/** The page at `#/rollouts` and `#/rollouts/ROLLOUT`. */
export class RolloutsPage {
  constructor() {
    this.element = h("div", { class: "turns-page" });
    this.story = new RolloutStory();
    this.form = new StartForm();
    this.table = new PagedTable({
      address: "v1/rollouts",
      caption: "Rollouts",
      heads: ["What", "Share", "State", "Started", "By", "Ended"],
      none: "No rollout was started yet.",
      idOf: ({ id }) => id,
      row,
    });
    const about = h("p", { class: "hint" }, "A rollout gives a share of the conversations a new text or language model, and takes it back by itself if they go worse with it.");
    this.list = h("div", { class: "list-page" }, h("header", {}, h("h1", {}, "Rollouts"), about), this.form.element, ...this.table.elements);
  }

  /** Follow nothing any more. */
  close() {
    this.story.close();
  }

  /** Show a rollout by its id, or the list. Raises Problem. */
  async open(rolloutId) {
    this.story.close();
    if (rolloutId) {
      await this.story.open(rolloutId);
      fill(this.element, this.story.element);
      return;
    }
    fill(this.element, this.list);
    await Promise.all([this.form.open(takeDraft()), this.table.read()]);
  }
}

function row(rollout) {
  const name = h("a", { href: `#/rollouts/${rollout.id}` }, rollout.name);
  const told = h("td", { class: "told" }, name, rollout.reason && h("p", { class: "hint" }, rollout.reason));
  const cells = [share(rollout.share), badge(rollout), moment(rollout.created_at), rollout.created_by, moment(rollout.ended_at)];
  return h("tr", {}, told, ...cells.map((cell) => h("td", {}, cell)));
}
