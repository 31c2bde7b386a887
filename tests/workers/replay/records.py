"""Turns as they are recorded and replayed."""

from datetime import UTC, datetime
from typing import Any

from turnloom.models.contracts.replay import ReplayedOutcome, ReplayedTurn, StepRecord, TurnRecord
from turnloom.models.contracts.turn import Usage
from turnloom.workers.replay.comparison import compare

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)


def call(
    name: str, tool: str, args: dict[str, Any] | None = None, needs: list[str] | None = None, **of: Any
) -> StepRecord:
    """Return a call that succeeded."""
    return StepRecord(id=name, tool=tool, args=args or {}, needs=needs or [], **of)


def turn(*steps: StepRecord, **of: Any) -> TurnRecord:
    """Return a turn that succeeded."""
    fields = {"message": "Any room?", "agent": "hotel", "at": AT, "status": "succeeded", "reply": "Yes."}
    return TurnRecord(**(fields | of), steps=list(steps))


def used(prompt_tokens: int, cost: float | None = None, llm_calls: int = 1) -> Usage:
    """Return the usage of a turn whose answers have no tokens."""
    return Usage(llm_calls=llm_calls, prompt_tokens=prompt_tokens, cost=cost)


def replayed(
    recorded: TurnRecord,
    after: TurnRecord | None,
    *,
    conversation: str = "c1",
    seq: int = 1,
    outcome: ReplayedOutcome | None = None,
    **of: Any,
) -> ReplayedTurn:
    """Return a turn beside its replay, compared."""
    differences = compare(recorded, after) if after else []
    return ReplayedTurn(
        conversation_id=conversation,
        seq=seq,
        outcome=outcome or ("different" if differences else "same"),
        differences=differences,
        recorded=recorded,
        replayed=after,
        **of,
    )
