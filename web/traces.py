"""Show which prompts, agents and language models planned and answered a turn."""

from collections.abc import Sequence
from typing import TypeVar

from apiflask import APIBlueprint
from flask import Response

from turnloom.models.connections.database import snapshot
from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.feedback import Feedback
from turnloom.models.contracts.recording import RecordedCall, RecordedTexts
from turnloom.models.contracts.trace import CallbackTrace, CallTrace, PlanTrace, StepTrace, TurnTrace
from turnloom.models.ledger import callbacks, feedback, plans, recordings, replies, steps, turns, usage
from turnloom.models.tables.base import Row
from turnloom.models.tables.callbacks import CallbackRow
from turnloom.models.tables.feedback import FeedbackRow
from turnloom.models.tables.plans import PlanRow
from turnloom.models.tables.replies import ReplyRow
from turnloom.models.tables.steps import StepRow
from turnloom.models.tables.turns import TurnRow
from turnloom.models.tables.usage import LlmCallRow
from turnloom.web.auth import caller, requires
from turnloom.web.json_body import json_response
from turnloom.workers.turns.turn_view import step_cache

_TEXTS = tuple(RecordedTexts.model_fields)
_Contract = TypeVar("_Contract", bound=Contract)

blueprint = APIBlueprint("traces", __name__, url_prefix="/v1/turns", tag="Turns")


@blueprint.get("/<turn_id>/trace.json")
@requires("turns:read")
@blueprint.output(TurnTrace, description="How the turn's plans and reply came about")
@blueprint.doc(operation_id="get_turn_trace")
def trace(turn_id: str) -> Response:
    """Show which versions of prompts and agents, and which language models, planned and answered a turn.

    Keys with the scope `admin` also see what was sent to the language models, and what these answered.
    """
    with snapshot(caller().tenant_id) as db:
        turn = turns.of_tenant(db, caller().tenant_id, turn_id)
        reply = replies.of_turn(db, turn.id)
        callback = callbacks.of_turn(db, turn.tenant_id, turn.id)
        said = feedback.of_turn(db, turn.tenant_id, turn.id)
        # Prompts have the tenant's own texts, which a key that reads turns for a person has no business to know.
        recorded = recordings.recorded_calls(db, turn.id) if "admin" in caller().scopes else []
        calls = _calls(usage.calls_of(db, turn.tenant_id, turn.id), recorded)
        found = turn_trace(turn, plans.of_turn(db, turn.id), reply, steps.of_turn(db, turn.id), calls, said)
    return json_response(found.model_copy(update={"callback": callback and _callback(callback)}))


def turn_trace(
    turn: TurnRow,
    plans: Sequence[PlanRow],
    reply: ReplyRow | None,
    steps: Sequence[StepRow],
    calls: list[CallTrace],
    said: Sequence[FeedbackRow],
) -> TurnTrace:
    """Return what the ledger knows about how a turn's plans and reply came about."""
    return TurnTrace(
        turn_id=str(turn.id),
        plans=[_read(PlanTrace, row) for row in plans],
        reply=reply.trace if reply else None,
        steps=[
            StepTrace(
                id=row.id,
                tool=row.tool,
                status=row.status,
                attempt=row.attempt,
                cache=step_cache(row),
                input_hash=row.input_hash,
            )
            for row in steps
        ],
        llm_calls=calls,
        feedback=[Feedback(user=row.user_id, rating=row.rating, comment=row.comment, at=row.at) for row in said],
    )


def _calls(rows: Sequence[LlmCallRow], recorded: Sequence[RecordedCall]) -> list[CallTrace]:
    texts = {call.seq: RecordedTexts(**{name: getattr(call, name) for name in _TEXTS}) for call in recorded}
    return [_read(CallTrace, row, recording=texts.get(row.seq)) for row in rows]


def _callback(row: CallbackRow) -> CallbackTrace:
    return CallbackTrace.model_validate(
        {
            "status": row.status,
            "attempts": row.attempt,
            "answer": row.answer,
            "error": row.error,
            "next_at": row.due_at,
            "finished_at": row.finished_at,
        }
    )


def _read(kind: type[_Contract], row: Row, **given: object) -> _Contract:
    names = kind.model_fields.keys() - given.keys()
    return kind.model_validate({**{name: getattr(row, name) for name in names}, **given})
