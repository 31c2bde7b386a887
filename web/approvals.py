"""Approvals: a person decides about a call that waits for it."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from uuid import UUID

from apiflask import APIBlueprint
from flask import Response

from models.connections.database import statement, transaction
from models.contracts.approval import ApprovalDecision, DecidedApproval
from models.errors import NotFound
from models.ledger import approvals, steps, turns
from models.runtime.logging import log
from web.auth import caller, requires
from web.json_body import json_response
from workers.dispatch import dispatch_decision

R = TypeVar("R")

blueprint = APIBlueprint("approvals", __name__, url_prefix="/v1/turns", tag="Turns")


def _of_ones_own(view: Callable[..., R]) -> Callable[..., R]:
    """Look for the step before its body is read: who may not know of a turn learns nothing from a 422."""

    @wraps(view)
    def found(turn_id: str, step_id: str, **inputs: object) -> R:
        with transaction() as db:
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
    """Approve or reject a call that waits for it.

    The step is `waiting_approval`, and its `args` show what the call is to be made with: the decision holds for these
    arguments and no others. An approved call is made; a rejected one is not, its step ends `failed` with the code
    `REJECTED`, and the turn goes on without it. The first decision counts: the same one again gets the same answer,
    the other one gets 409. What nobody decides in time is rejected.
    """
    with statement() as db:
        decided = approvals.decide(db, UUID(turn_id), step_id, json_data.decision, json_data.reason, caller().key_id)
    ids = {"turn_id": str(decided.turn_id), "step": step_id}
    if decided.is_new:
        dispatch_decision(decided)
        log.info("approval.decided", **ids, decision=json_data.decision)
    return json_response(DecidedApproval(**ids, approval=decided.approval))
