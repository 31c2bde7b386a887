"""Recorded conversations of our own, as the ledger has them. Pure: rows in, a recorded conversation out."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from turnloom.models.contracts.memory import Exchange
from turnloom.models.contracts.plan import Effect
from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.replay import StepRecord, TurnRecord
from turnloom.models.contracts.turn import Mode, OnError
from turnloom.models.errors import ToolFailed
from turnloom.models.ledger.recorded import ConversationRows, TurnRows
from turnloom.models.ledger.usage import read_usage
from turnloom.models.tables.steps import StepRow
from turnloom.planner.plan.references import resolve_args
from turnloom.workers.replay import records
from turnloom.workers.turns.turn_view import step_cache

_REPLAYED = frozenset({"succeeded", "failed"})
"""The statuses of turns that came to their own end."""


def read_conversation(found: ConversationRows) -> RecordedConversation:
    """Return a conversation of the ledger as it was recorded."""
    conversation, slots = found.conversation, dict[str, Any]()
    turns = []
    for rows in found.turns:
        own = rows.turn.slots if rows.turn.slots is not None else slots
        turns.append(_turn(rows, own))
        slots = slots if rows.is_rolled_back else own
    return RecordedConversation(
        conversation_id=conversation.id,
        turns=turns,
        past=[Exchange(each["message"], each["reply"]) for each in conversation.past],
        summary=conversation.summary,
        summary_seq=conversation.summary_seq,
        knowledge=found.knowledge,
        older=[str(each) for each in found.older],
    )


def _turn(rows: TurnRows, slots: dict[str, Any]) -> RecordedTurn:
    turn = rows.turn
    begun_at = turn.begun_at or turn.created_at
    llm_ms: dict[str, list[float]] = defaultdict(list)
    for call in rows.calls:
        llm_ms[call.purpose].append(call.duration_ms)
    return RecordedTurn.model_validate(
        {
            "seq": turn.seq,
            "turn_id": str(turn.id),
            "record": _record(rows, slots, sum(call.duration_ms for call in rows.calls)),
            "begun_at": begun_at,
            "ended_at": turn.responding_at if turn.ending == "paused" else turn.finished_at,
            "shown_message": rows.shown_message,
            "is_replayed": turn.status in _REPLAYED and turn.author is None and bool(turn.message),
            "is_forgotten": rows.is_rolled_back,
            "seen": turn.channel == "api" or rows.is_seen,
            "author": turn.author,
            "person": turn.person,
            "mode": cast("Mode | None", turn.mode),
            "llm": turn.llm,
            "manner": turn.manner,
            "on_error": cast("OnError", turn.on_error),
            "deadline_ms": max(0, round((turn.deadline_at - begun_at).total_seconds() * 1000)),
            "submitted_plan": turn.submitted_plan,
            "plans": [plan.document for plan in rows.plans],
            "asked": list(_asked(rows)),
            "uncalled": [step.id for step in rows.steps if step_cache(step) in ("plan", "memory")],
            "llm_ms": llm_ms,
        }
    )


def _record(rows: TurnRows, slots: dict[str, Any], model_ms: float) -> TurnRecord:
    turn, reply = rows.turn, rows.reply
    # Steps of revision 0 were started early, and no plan has held them.
    kept = [step for step in rows.steps if step.revision > 0]
    results = {step.id: step.result for step in kept if step.status == "succeeded"}
    steps = [_step(step, results) for step in kept]
    return TurnRecord(
        message=turn.message,
        agent=turn.agent,
        at=turn.created_at,
        status=turn.status,
        error=turn.error,
        steps=steps,
        slots=slots,
        reply=None if reply is None else "" if turn.ending == "paused" else reply.text,
        artifacts=records.artifact_shapes(reply.artifacts) if reply else [],
        question=reply.question if reply else None,
        grounded=reply.grounded if reply else None,
        violations=records.violations((plan.trace for plan in rows.plans), reply.trace if reply else {}),
        usage=read_usage(turn.usage),
        latency_ms=records.latency_ms(model_ms, steps),
    )


def _step(row: StepRow, results: Mapping[str, Any]) -> StepRecord:
    lasted = (row.finished_at - row.started_at).total_seconds() if row.finished_at and row.started_at else 0.0
    return StepRecord(
        id=row.id,
        tool=row.tool,
        args=_args(row, results),
        needs=[need for need in row.needs if need != row.copy_of],
        effect=cast("Effect", row.effect),
        status=row.status,
        result=row.result,
        error=row.error,
        duration_ms=round(lasted * 1000, 3),
        ended_at=row.finished_at if row.started_at else None,
        revision=row.revision,
    )


def _args(row: StepRow, results: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call, with references filled in; of a step that was not called, those of the plan."""
    if row.approval:
        return dict(row.approval["args"])
    if row.started_at is None:
        return row.args
    try:
        return resolve_args(row.args, results)
    except (LookupError, ToolFailed):
        return row.args


def _asked(rows: TurnRows) -> Iterator[dict[str, Any]]:
    steps: Sequence[StepRow] = rows.steps if rows.turn.status == "succeeded" else ()
    for step in steps:
        if step.status == "needs_input":
            yield {"tool": step.tool, "args": step.args, "needs": (step.result or {}).get("needs")}
