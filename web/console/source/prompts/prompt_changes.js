// What a changed text changes of the prompts of a recorded turn, line by line.

import { diffLines } from "diff";
import { h } from "../dom.js";
import { number } from "../format.js";

const CALLS = { plan: "Prompt of the plan", direct: "Prompt of the reply, without tools", reply: "Prompt of the reply" };
const AROUND = 3;
const PATIENCE_MS = 500;

/** Show prompts: `{purpose, before, after}`, each side a list of `{role, content}`. */
export function promptChanges(prompts) {
  if (prompts.length === 0) return h("p", { class: "hint" }, "No language model is asked for this turn: its plan was posted, and templates write its reply.");
  return prompts.map(({ purpose, before, after }) => {
    const lines = linesOf(written(before), written(after));
    const changed = lines.filter(({ kind }) => kind === "added" || kind === "removed").length;
    const words = changed > 0 ? `${number(changed)} ${changed === 1 ? "line differs" : "lines differ"}` : "unchanged by this text";
    return h("details", { open: changed > 0 }, h("summary", {}, `${CALLS[purpose]}: ${words}`), h("pre", { class: "json diff", tabindex: "0" }, ...folded(lines).map(line)));
  });
}

/** Return the lines of both texts in order: `{kind: same | added | removed, text}`. Pure. */
export function linesOf(before, after) {
  // Texts that have next to nothing in common would take long to compare.
  const parts = diffLines(before, after, { timeout: PATIENCE_MS }) ?? [{ removed: true, value: before }, { added: true, value: after }];
  return parts.flatMap(({ added, removed, value }) => {
    const kind = added ? "added" : removed ? "removed" : "same";
    return value.replace(/\n$/, "").split("\n").map((text) => ({ kind, text }));
  });
}

/** Put `{kind: folded, text}` in place of lines that are far from any change. Pure. */
export function folded(lines) {
  const isNear = (place) => lines.slice(Math.max(0, place - AROUND), place + AROUND + 1).some(({ kind }) => kind !== "same");
  const found = [];
  let far = 0;
  const fold = () => {
    if (far > 0) found.push({ kind: "folded", text: far === 1 ? "1 line is the same" : `${number(far)} lines are the same` });
    far = 0;
  };
  lines.forEach((each, place) => {
    if (!isNear(place)) return void (far += 1);
    fold();
    found.push(each);
  });
  fold();
  return found;
}

function written(messages) {
  return messages.map(({ role, content }) => `[${role}]\n${content}\n`).join("\n");
}

function line({ kind, text }) {
  if (kind === "added") return h("ins", {}, `+ ${text}`);
  if (kind === "removed") return h("del", {}, `- ${text}`);
  return h("span", { class: kind === "folded" && "hint" }, kind === "folded" ? `⋯ ${text}` : `  ${text}`);
}
