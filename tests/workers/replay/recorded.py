"""Make recorded turns and conversations for tests of replays."""

from datetime import UTC, datetime, timedelta
from typing import Any

from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.replay import StepRecord, TurnRecord

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def step(name: str, tool: str = "sim.echo", /, **fields: Any) -> StepRecord:
    """Return a recorded step: by default an echo of its own name that took 10 ms."""
    given: dict[str, Any] = {"args": {"value": name}, "result": {"value": name}, "duration_ms": 10.0}
    return StepRecord(id=name, tool=tool, **given | fields)


def turn(seq: int, *steps: StepRecord, **fields: Any) -> RecordedTurn:
    """Return a recorded turn that was begun `seq` minutes after `NOW` and ended a second later."""
    begun_at = NOW + timedelta(minutes=seq)
    record = TurnRecord(
        message=fields.pop("message", f"message {seq}"),
        agent=fields.pop("agent", "generic"),
        at=begun_at,
        status=fields.pop("status", "succeeded"),
        steps=list(steps),
        slots=fields.pop("slots", {}),
        reply=fields.pop("reply", f"reply {seq}"),
    )
    given = {"begun_at": begun_at, "ended_at": begun_at + timedelta(seconds=1), "shown_message": record.message}
    return RecordedTurn(seq=seq, record=record, **given | {"turn_id": f"t{seq}"} | fields)


def conversation(*turns: RecordedTurn, **fields: Any) -> RecordedConversation:
    return RecordedConversation(conversation_id="c1", turns=list(turns), **fields)
