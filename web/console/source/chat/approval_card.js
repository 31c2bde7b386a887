// A call that waits for a person's decision, with the arguments that the decision is about.

import { call, path } from "../api.js";
import { fill, h, say } from "../dom.js";
import { moment } from "../format.js";
import { jsonView } from "../json_view.js";

/** Return the card of a step that waits for approval. `mayDecide`: whether the key may approve and reject. */
export function approvalCard(turn, step, mayDecide) {
  const shown = step.approval.args_hash;
  const reason = h("input", { type: "text", maxlength: "2000", placeholder: "Reason (optional)", "aria-label": "Reason" });
  const told = h("p", { class: "problem", role: "alert" });
  const approve = h("button", { type: "button", class: "primary", on: { click: () => decide("approve") } }, "Approve");
  const reject = h("button", { type: "button", on: { click: () => decide("reject") } }, "Reject");

  async function decide(decision) {
    approve.disabled = reject.disabled = true;
    try {
      await turn.reload();
      const now = turn.state.steps.get(step.id).approval?.args_hash;
      if (now !== shown) throw new Error("The arguments have changed. Read the new ones before you decide.");
      const body = { decision, ...(reason.value.trim() && { reason: reason.value.trim() }) };
      await call("POST", path`v1/turns/${turn.id}/approvals/${step.id}`, body);
      await turn.reload();
    } catch (problem) {
      say(told, problem.message);
      approve.disabled = reject.disabled = false;
    }
  }

  const lapses = step.approval.lapses_at && `Rejected by itself at ${moment(step.approval.lapses_at)}. `;
  const bound = h("p", { class: "hint" }, lapses ?? "", "Arguments ", h("code", { title: shown }, shown.slice(0, 12)));
  return h(
    "section",
    { class: "approval", "aria-label": `Approval of ${step.tool}`, "data-hash": shown },
    h("h4", {}, "May this call be made?"),
    h("p", {}, h("code", {}, step.tool)),
    jsonView(step.args ?? {}),
    bound,
    mayDecide && h("div", { class: "row" }, reason, approve, reject),
    told,
  );
}

/** Keep a place filled with the cards of a turn's steps that wait. A card stays as it is while its arguments do. */
export function showApprovals(place, turn, mayDecide) {
  const waiting = turn.state.planned.filter((step) => step.status === "waiting_approval" && step.approval);
  const key = waiting.map((step) => `${step.id} ${step.approval.args_hash}`).join("\n");
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  fill(place, waiting.map((step) => approvalCard(turn, step, mayDecide)));
}
