"""Take in what users think of replies."""

from uuid import UUID

from apiflask import APIBlueprint
from flask import Response

from turnloom.models.connections.database import statement
from turnloom.models.contracts.feedback import Feedback, FeedbackRequest
from turnloom.models.ledger import feedback
from turnloom.models.runtime.logging import log
from turnloom.web.auth import caller, requires
from turnloom.web.json_body import json_response
from turnloom.web.turn_answers import of_ones_own

blueprint = APIBlueprint("feedback", __name__, url_prefix="/v1/turns", tag="Turns")


@blueprint.put("/<turn_id>/feedback")
@requires("turns:write")
@of_ones_own
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
