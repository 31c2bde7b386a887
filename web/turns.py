"""Receive messages as turns, and show, cancel and explain turns.

Receiving is cheap: one statement records the turn, one message dispatches it, and nothing else is looked up.
"""

from apiflask import APIBlueprint
from flask import Response
from pydantic import Field

from turnloom.models.connections.database import snapshot, statement, transaction
from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.delay_causes import explain
from turnloom.models.contracts.explanation import Explanation
from turnloom.models.contracts.turn import TurnAccepted, TurnRequest, TurnState, TurnView
from turnloom.models.errors import Conflict
from turnloom.models.ledger import cancellation, explanation, turns
from turnloom.models.runtime.logging import log
from turnloom.web import backlog
from turnloom.web.auth import caller, demand, requires
from turnloom.web.ingest import ACCEPTED, hand_on, open_turn
from turnloom.web.json_body import json_response
from turnloom.web.message_checks import new_turn
from turnloom.web.turn_answers import answer_for, finished, shown
from turnloom.workers.dispatch import ALIVE, dispatch_reply, queue_lengths

_EXAMPLE = {"message": "Plan two days in Lisbon from Friday", "agent": "travel", "user": {"timezone": "Europe/Lisbon"}}

blueprint = APIBlueprint("turns", __name__, url_prefix="/v1/turns", tag="Turns")


class WaitQuery(Contract):
    """The time for which the caller waits for the reply."""

    wait: float = Field(0, ge=0, le=30, allow_inf_nan=False)
    """Seconds. The answer is the finished turn, or 202 if it is not finished by then."""


@blueprint.post("")
@requires("turns:write", reads=False)
@blueprint.input(WaitQuery, location="query")
@blueprint.input(TurnRequest, example=_EXAMPLE)
@blueprint.output(TurnAccepted, 202, description="The turn is durably recorded")
@blueprint.doc(operation_id="receive_turn")
def receive(query_data: WaitQuery, json_data: TurnRequest) -> Response:
    """Post a message.

    The turn is durably recorded before the answer. A `message_id` (or header `Idempotency-Key`) that came before gets
    200 with the first answer, or 409 if the body differs. With `wait`, a turn that finishes in time gets 200 and looks
    as in `GET /v1/turns/{turn_id}`; for that the key also needs the scope `turns:read`. If a `plan` of the caller's own
    only repeats what was done before, such as a proposal that is still open, that answer is 409. While too many
    turns are in work, a new message gets 503 with the code `overloaded` and `Retry-After`. An accepted turn is never
    dropped.
    """
    if query_data.wait:
        demand("turns:read")  # the answer may be the whole turn
    with backlog.asking(json_data.priority) as asked:
        new = new_turn(json_data, may_open=asked.may_open)
        opened = open_turn(new)
        asked.is_opened = opened.outcome == "opened"
    answer = answer_for(new, opened, asked.full)
    if not query_data.wait:
        hand_on(opened)
    elif view := finished(answer, opened, query_data.wait):
        _refuse_duplicate(json_data, view)
        return json_response(view)
    response = json_response(answer, 202 if opened.outcome in ACCEPTED else 200)
    response.headers["Location"] = answer.links.self
    return response


def _refuse_duplicate(message: TurnRequest, view: TurnView) -> None:
    """Refuse a plan of the caller's own that changed nothing, because what it calls for is done or taken already.

    Raises:
        Conflict: a step with an effect ended with CONFLICT, and none succeeded.
    """
    acting = [step for step in view.steps if step.effect != "read"]
    if message.plan is None or any(step.status == "succeeded" for step in acting):
        return
    for step in acting:
        if step.error is not None and step.error.get("code") == "CONFLICT":
            raise Conflict(f"step {step.id!r}: {step.error['message']} (turn {view.turn_id})")


@blueprint.get("/<turn_id>")
@requires("turns:read", reads=False)
@blueprint.output(TurnView, description="The turn as it stands")
@blueprint.doc(operation_id="get_turn")
def show(turn_id: str) -> Response:
    """Show a turn: its plans, steps, reply and timings."""
    return json_response(shown(turn_id))


@blueprint.post("/<turn_id>/cancel")
@requires("turns:write")
@blueprint.output(TurnState, 202, description="The work has ended; the reply is being made of what there is")
@blueprint.doc(operation_id="cancel_turn")
def cancel(turn_id: str) -> Response:
    """Cancel a turn, at any moment.

    No further step of it starts. Calls that only read are dropped. A call under way that may change something is left
    to end, and its outcome is recorded. The reply mentions both. A final turn stays as it is and gets 200.
    """
    with transaction(caller().tenant_id) as db:
        turn = turns.of_tenant(db, caller().tenant_id, turn_id)
    with statement([caller().tenant_id]) as connection:
        closed = cancellation.close(connection, turn.id, "cancelled")
    if closed is not None:
        dispatch_reply(closed)
        log.info("turn.closed", turn_id=str(turn.id), ending="cancelled")
    with transaction(caller().tenant_id) as db:
        turn = turns.of_tenant(db, caller().tenant_id, turn_id)
    state = TurnState.model_validate({"turn_id": str(turn.id), "status": turn.status})
    return json_response(state, 202 if closed else 200)


@blueprint.get("/<turn_id>/explain")
@requires("turns:read")
@blueprint.output(Explanation, description="The one cause for which the turn is not further on")
@blueprint.doc(operation_id="explain_turn")
def why(turn_id: str) -> Response:
    """Explain what a turn is waiting for: one cause from a closed list, in a sentence with names and times."""
    with snapshot(caller().tenant_id) as db:
        facts = explanation.gather(db, turns.of_tenant(db, caller().tenant_id, turn_id), ALIVE)
    return json_response(explain(facts, queue_lengths(facts.queues)))
