"""Events: what happened to a turn."""

from typing import Any

from models.contracts.base import Contract


class Event(Contract):
    """Something that happened to a turn."""

    seq: int
    """Place in the turn's events, from 1 without gaps."""
    type: str
    """`turn.queued`, `plan.ready`, `step.finished`, … as documented in docs/reference/events.md."""
    data: dict[str, Any]
    """Always `turn_id` and `at`, then what the type says."""


def read_events(items: list[dict[str, Any]]) -> list[Event]:
    """Read events as the ledger's functions return them."""
    return [Event.model_construct(seq=item["seq"], type=item["type"], data=item["data"]) for item in items]
