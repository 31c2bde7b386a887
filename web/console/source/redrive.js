// What only an operator can find out is decided here, and what was not sent is sent again, each after a question.

import { call, path } from "./api.js";
import { confirmed } from "./ask.js";
import { announce, fill, h } from "./dom.js";
import { jsonView } from "./json_view.js";

/** Ask what became of a step of unknown outcome. True once it is decided. */
export async function decideStep(turnId, stepId) {
  const isDone = await confirmed({
    title: `What became of ${stepId}?`,
    content: [callOf(turnId, stepId), ...decisionFields()],
    words: "Record it for good",
    act: (given) => call("POST", path`v1/turns/${turnId}/steps/${stepId}/decision`, decisionOf(given)),
  });
  if (isDone) announce(`The outcome of ${stepId} is recorded.`);
  return isDone;
}

/** Ask whether a part of a reply is to be sent again. `isUnsure`: it may have arrived. True once it is on its way. */
export function resendPart(turnId, part, isUnsure) {
  const warning = "Nobody knows whether it was sent: it may have arrived. Look at the provider first, or the person may read it twice.";
  return resend({
    title: `Send part ${part} of the reply again?`,
    about: isUnsure ? warning : "It failed. Parts after it that were withheld because of it follow.",
    address: path`v1/turns/${turnId}/deliveries/${part}/redrive`,
  });
}

/** Ask whether a turn's callback is to be sent again. True once it is on its way. */
export function resendCallback(turnId) {
  const about = "It was given up. It is tried for another day, with the same id.";
  return resend({ title: "Send the callback again?", about, address: path`v1/turns/${turnId}/callback/redrive` });
}

async function resend({ title, about, address }) {
  const isDone = await confirmed({ title, content: [h("p", {}, about)], words: "Send again", act: () => call("POST", address) });
  if (isDone) announce("It is sent again.");
  return isDone;
}

/** Return the call as its backend got it, which is read meanwhile. */
function callOf(turnId, stepId) {
  const place = h("div", { class: "call" }, h("p", { class: "hint" }, "…"));
  call("GET", path`v1/turns/${turnId}/steps/${stepId}`).then(
    ({ tool, call: made, error }) =>
      fill(
        place,
        h("p", {}, h("code", {}, tool), error && ` ended with ${[error.code, error.message].filter(Boolean).join(": ")}`),
        made && [h("p", { class: "hint" }, "Its backend was called with the idempotency key ", h("code", {}, made.idempotency_key)), jsonView(made.args)],
        !made && h("p", { class: "hint" }, "Its backend was not called, or the conversation was erased."),
      ),
    (problem) => fill(place, h("p", { class: "problem" }, problem.message)),
  );
  return place;
}

function decisionFields() {
  const choice = (value, words) => h("label", { class: "row" }, h("input", { type: "radio", name: "status", value, required: true, on: { change: () => (result.hidden = value !== "succeeded") } }), words);
  const result = h("label", { hidden: true }, "What it would have returned, as a JSON object (optional)", h("textarea", { name: "result", rows: "4", spellcheck: "false", placeholder: '{"booking": "B-17"}' }));
  const note = h("label", {}, "How you found out (kept in the audit log)", h("input", { name: "note", maxlength: "2000" }));
  const about = "Nothing is called again, no other step runs, and the reply stays what the user was told. A step is decided once.";
  return [
    h("fieldset", {}, h("legend", {}, "What does its backend say?"), choice("succeeded", "It took effect"), choice("failed", "It did not take effect")),
    result,
    note,
    h("p", { class: "hint" }, about),
  ];
}

function decisionOf({ status, result, note }) {
  const decision = { status };
  if (status === "succeeded" && result.trim()) decision.result = objectOf(result);
  if (note.trim()) decision.note = note.trim();
  return decision;
}

function objectOf(text) {
  let read = null;
  try {
    read = JSON.parse(text);
  } catch {
    // said below
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) throw new Error('The result is no JSON object, such as {"booking": "B-17"}.');
  return read;
}
