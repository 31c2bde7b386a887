"""Let a person approve or reject a tool call that waits for approval."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from uuid import UUID

from apiflask import APIBlueprint
from flask import Response

from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.approval import ApprovalDecision, DecidedApproval
from turnloom.models.errors import NotFound
from turnloom.models.ledger import approvals, steps, turns
from turnloom.models.runtime.logging import log
from turnloom.web.auth import caller, requires
from turnloom.web.json_body import json_response
from turnloom.workers.dispatch import dispatch_decision

R = TypeVar("R")

blueprint = APIBlueprint("approvals", __name__, url_prefix="/v1/turns", tag="Turns")


def _of_ones_own(view: Callable[..., R]) -> Callable[..., R]:
    """Look for the step before reading the body, so that a 422 tells a stranger nothing about a turn."""

    @wraps(view)
    def found(turn_id: str, step_id: str, **inputs: object) -> R:
        with transaction(caller().tenant_id) as db:
            turn = turns.of_tenant(db, caller().tenant_id, turn_id)
            if all(step.id != step_id for step in steps.of_turn(db, turn.id)):
                raise NotFound("there is no step of that id in the turn")
        return view(turn_id, step_id, **inputs)

    return found


@blueprint.post("/<turn_id>/approvals/<step_id>")
@requires("approvals:decide")
@_of_ones_own
@blueprint.input(ApprovalDecision, example={"decision": "approve"})
@blueprint.output(DecidedApproval, description="The decision is recorded, now or before")
@blueprint.doc(operation_id="decide_approval")
def decide(turn_id: str, step_id: str, json_data: ApprovalDecision) -> Response:
    """Approve or reject a call that waits for approval.

    The step is `waiting_approval`. Its `args` are the arguments of the call, and the decision holds for these arguments
    only. An approved call is made. A rejected call is not made: its step ends `failed` with the code `REJECTED`, and
    the turn goes on without it. The first decision counts: sending it again gets the same answer, and the opposite
    decision gets 409. A call that nobody decides in time is rejected.
    """
    with statement([caller().tenant_id]) as db:
        decided = approvals.decide(db, UUID(turn_id), step_id, json_data.decision, json_data.reason, caller().key_id)
    ids = {"turn_id": str(decided.turn_id), "step": step_id}
    if decided.is_new:
        dispatch_decision(decided)
        log.info("approval.decided", **ids, decision=json_data.decision)
    return json_response(DecidedApproval(**ids, approval=decided.approval))
