// A turn that was replayed, beside its record: what differs, both plans, both replies.

import { h } from "../dom.js";
import { planDrawing } from "../plan/drawing.js";

const OUTCOMES = {
  same: "It goes the same way.",
  different: "It goes another way.",
  diverged: "It makes a call for which there is no recorded result, so the rest of it is not known.",
  failed: "It could not be replayed, or ended without a reply.",
};
const TONES = { same: "good", diverged: "problem", failed: "problem" };
const SIGNS = { before: { only_here: "− ", changed: "≠ " }, after: { only_here: "+ ", changed: "≠ " } };

/** Show a turn as a replay's report lists it. */
export function replayedTurn({ outcome, reason, differences, before, after, reply_before, reply_after }) {
  const listed = differences.map(({ aspect, text }) => h("li", {}, h("span", { class: "hint" }, aspect), " ", text));
  const sides = [side("Plan as recorded", plan(before, "Plan as recorded", SIGNS.before)), side("Plan with this text", plan(after, "Plan with this text", SIGNS.after))];
  const replies = [side("Reply as recorded", reply(reply_before)), side("Reply with this text", reply(reply_after))];
  return h(
    "div",
    { class: "replayed" },
    h("p", { class: TONES[outcome] }, OUTCOMES[outcome], reason ? ` ${reason}` : ""),
    listed.length > 0 && h("ul", { class: "notes" }, ...listed),
    h("div", { class: "sides" }, ...sides, ...replies),
  );
}

function side(title, content) {
  return h("section", { class: "part" }, h("h4", {}, title), content);
}

function plan(steps, label, signs) {
  return steps.length > 0 ? planDrawing(steps, label, signs) : h("p", { class: "hint" }, "No tool is called.");
}

function reply(text) {
  return text === null ? h("p", { class: "hint" }, "None.") : h("blockquote", { dir: "auto" }, text);
}
