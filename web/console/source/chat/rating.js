// Thumbs up and down: what somebody thinks of a reply.

import { call, path } from "../api.js";
import { announce, h, icon, say } from "../dom.js";

/** Return the two thumbs of a turn. A thumb down asks what was wrong; the last word counts. */
export function rating(turnId) {
  const thumbs = { up: thumb("up", "Good reply"), down: thumb("down", "Bad reply") };
  const told = h("span", { class: "hint" });
  const comment = h("input", { type: "text", maxlength: "4000", placeholder: "What was wrong? (optional)", "aria-label": "What was wrong?" });
  const form = h("form", { class: "row", hidden: true, on: { submit } }, comment, h("button", { type: "submit" }, "Send"));

  function thumb(name, label) {
    const rate = () => give(name);
    return h("button", { type: "button", class: "quiet thumb", "aria-label": label, "aria-pressed": "false", on: { click: rate } }, icon(name));
  }
  async function give(name, words) {
    try {
      await call("PUT", path`v1/turns/${turnId}/feedback`, { rating: name, ...(words && { comment: words }) });
    } catch (problem) {
      return void say(told, problem.message);
    }
    for (const [each, button] of Object.entries(thumbs)) button.setAttribute("aria-pressed", String(each === name));
    form.hidden = name !== "down" || Boolean(words);
    say(told, words ? "Thank you." : "");
    announce("Your rating is kept.");
  }
  function submit(event) {
    event.preventDefault();
    if (comment.value.trim()) give("down", comment.value.trim());
  }
  return h("div", { class: "rating" }, thumbs.up, thumbs.down, form, told);
}
