"""Take in what users think of replies."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from uuid import UUID

from apiflask import APIBlueprint
from flask import Response

from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.feedback import Feedback, FeedbackRequest
from turnloom.models.ledger import feedback, turns
from turnloom.models.runtime.logging import log
from turnloom.web.auth import caller, requires
from turnloom.web.json_body import json_response

R = TypeVar("R")

blueprint = APIBlueprint("feedback", __name__, url_prefix="/v1/turns", tag="Turns")


def _of_ones_own(view: Callable[..., R]) -> Callable[..., R]:
    """Look for the turn before reading the body, so that a stranger's body makes no difference."""

    @wraps(view)
    def found(turn_id: str, **inputs: object) -> R:
        with transaction(caller().tenant_id) as db:
            turns.of_tenant(db, caller().tenant_id, turn_id)
        return view(turn_id, **inputs)

    return found


@blueprint.put("/<turn_id>/feedback")
@requires("turns:write")
@_of_ones_own
@blueprint.input(FeedbackRequest, example={"rating": "down", "comment": "That was the wrong week."})
@blueprint.output(Feedback, description="The feedback is kept")
@blueprint.doc(operation_id="give_feedback")
def give(turn_id: str, json_data: FeedbackRequest) -> Response:
    """Say what a user thinks of the reply to a turn.

    A user has one word about a turn, and the last one counts. It is kept for evaluation, shown in the turn's trace, and
    erased with the conversation.
    """
    with statement([caller().tenant_id]) as db:
        given = feedback.give(db, caller().tenant_id, UUID(turn_id), json_data)
    log.info("feedback.given", turn_id=turn_id, rating=given.rating)
    return json_response(given)
