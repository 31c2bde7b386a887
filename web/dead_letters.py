"""Let operators look after what did not end properly in their tenant: list it, decide it, have it sent again."""

from typing import Annotated, Any
from uuid import UUID

from apiflask import APIBlueprint
from flask import Response
from pydantic import AwareDatetime, Field, TypeAdapter

from turnloom.models.connections.database import snapshot, statement, transaction
from turnloom.models.contracts.base import rfc3339
from turnloom.models.contracts.dead_letter import (
    CalledStep,
    DeadLetter,
    DeadLetterKind,
    DeadLetterList,
    DecidedStep,
    RedrivenCallback,
    RedrivenDelivery,
    StepDecision,
)
from turnloom.models.ledger import callbacks, dead_letters, deliveries, turns
from turnloom.models.ledger.dead_letters import DeadLetterPlace
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.operators import operator
from turnloom.tools.masking import hidden, masked
from turnloom.web.auth import caller, requires
from turnloom.web.catalogue import catalogue
from turnloom.web.json_body import json_response
from turnloom.web.paging import PageQuery, cut, read_cursor
from turnloom.web.turn_answers import of_ones_own
from turnloom.web.url_ids import part_number
from turnloom.workers.dispatch import dispatch_deliveries, send
from turnloom.workers.turns import step_decision
from turnloom.workers.turns.called_step import called_step
from turnloom.workers.turns.turn_events import committing

_Of = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,64}$")]
_PLACE: TypeAdapter[tuple[AwareDatetime, UUID, DeadLetterKind, str]] = TypeAdapter(
    tuple[AwareDatetime, UUID, DeadLetterKind, _Of]
)
_EXAMPLE = {"status": "succeeded", "result": {"booking": "B-17"}, "note": "found in the backend"}

blueprint = APIBlueprint("dead_letters", __name__, url_prefix="/v1", tag="Operations")


class DeadLetterQuery(PageQuery):
    """The kind to list, and the page."""

    kind: DeadLetterKind | None = None


@blueprint.get("/dead-letters")
@requires("operations:read")
@blueprint.input(DeadLetterQuery, location="query")
@blueprint.output(DeadLetterList)
@blueprint.doc(operation_id="list_dead_letters")
def listed(query_data: DeadLetterQuery) -> Response:
    """List the tenant's dead letters: what can be decided or sent again, then turns, each the newest first.

    These are steps whose outcome is unknown, parts of replies that were not sent, or of which nobody knows whether they
    were, callbacks that were given up, and turns that failed because of an error of ours.
    """
    place = read_cursor(_PLACE, query_data.cursor)
    before = DeadLetterPlace(*place) if place else None
    with snapshot(caller().tenant_id) as db:
        found = dead_letters.listed(db, caller().tenant_id, query_data.limit + 1, query_data.kind, before)
    items, cursor = cut(found, query_data.limit, _place)
    return json_response(DeadLetterList(items=items, next_cursor=cursor))


def _place(letter: DeadLetter) -> list[str]:
    return [rfc3339(letter.since), str(letter.turn_id), letter.kind, letter.step or str(letter.part or "")]


@blueprint.get("/turns/<turn_id>/steps/<step_id>")
@requires("turns:read")
@blueprint.output(CalledStep)
@blueprint.doc(operation_id="get_step")
def step(turn_id: str, step_id: str) -> Response:
    """Show a step, with the arguments and the idempotency key of the call to its backend.

    By these you find out there what became of a call. What the tool keeps secret is masked.
    """
    with snapshot(caller().tenant_id) as db:
        found = called_step(db, turns.of_tenant(db, caller().tenant_id, turn_id), step_id)
    return json_response(_masked(found))


@blueprint.post("/turns/<turn_id>/steps/<step_id>/decision")
@requires("operations:write")
@of_ones_own
@blueprint.input(StepDecision, example=_EXAMPLE)
@blueprint.output(DecidedStep, description="The outcome is recorded")
@blueprint.doc(operation_id="decide_step")
def decide(turn_id: str, step_id: str, json_data: StepDecision) -> Response:
    """Record the outcome of a step whose outcome is unknown. This calls nothing again and changes no reply.

    A step is decided once: one whose outcome is known gets 409. A result that its tool would never have returned gets
    422. Who decided, and the note, stand in the audit log.
    """
    turn = UUID(turn_id)
    with committing(turn) as committed, transaction(caller().tenant_id) as db:
        committed(step_decision.decide(db, turn, step_id, json_data, operator(), lambda: catalogue().registry))
    log.info("step.decided", turn_id=turn_id, step=step_id, status=json_data.status, key_id=str(caller().key_id))
    return json_response(DecidedStep(turn_id=turn_id, step=step_id, status=json_data.status))


@blueprint.post("/turns/<turn_id>/deliveries/<part>/redrive")
@requires("operations:write")
@blueprint.output(RedrivenDelivery, 202, description="The part is sent again")
@blueprint.doc(operation_id="redrive_delivery")
def send_part(turn_id: str, part: str) -> Response:
    """Send a part of a channel's reply again, after it has failed or its outcome was unknown: else 409.

    Parts after it that were withheld because of it follow. One of unknown outcome may have arrived: ask the person
    first.
    """
    turn, number = _own_turn(turn_id), part_number(part)
    with statement([caller().tenant_id]) as db:
        deliveries.redrive(db, turn, number, operator())
    dispatch_deliveries([turn])
    log.info("delivery.redriven", turn_id=turn_id, part=number, key_id=str(caller().key_id))
    return json_response(RedrivenDelivery(turn_id=turn_id, part=number), 202)


@blueprint.post("/turns/<turn_id>/callback/redrive")
@requires("operations:write")
@blueprint.output(RedrivenCallback, 202, description="The callback is sent again")
@blueprint.doc(operation_id="redrive_callback")
def send_callback(turn_id: str) -> Response:
    """Send the callback of a turn again, after it was given up: else 409. It is tried for another day."""
    turn = _own_turn(turn_id)
    with statement([caller().tenant_id]) as db:
        callbacks.redrive(db, turn, operator())
    send("call_back", turn, queue="deliver")
    log.info("callback.redriven", turn_id=turn_id, key_id=str(caller().key_id))
    return json_response(RedrivenCallback(turn_id=turn_id), 202)


def _own_turn(turn_id: str) -> UUID:
    with transaction(caller().tenant_id) as db:
        return turns.of_tenant(db, caller().tenant_id, turn_id).id


def _masked(step: CalledStep) -> CalledStep:
    """Return a step without what its tool and its fallbacks keep secret. Its result may be of any of them."""
    fallbacks = [{**each, "args": _shown(each["args"], each["tool"])} for each in step.fallbacks]
    result = _shown(step.result, step.tool, *(each["tool"] for each in step.fallbacks))
    call = step.call and step.call.model_copy(update={"args": _shown(step.call.args, step.tool)})
    return step.model_copy(update={"fallbacks": fallbacks, "result": result, "call": call})


def _shown(value: Any, *names: str) -> Any:
    """Return a value of tools without what they keep secret. Of one that is not enabled any more nobody knows that."""
    tools = [catalogue().registry.tools.get(name) for name in names]
    secret = [tool.redact for tool in tools if tool]
    return masked(value, frozenset().union(*secret)) if len(secret) == len(tools) else hidden(value)
