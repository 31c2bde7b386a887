"""Prepare a process for its first reply: what all checks share is loaded and compiled once."""

from datetime import UTC, datetime

from turnloom.planner.reply.grounding.check import check
from turnloom.planner.reply.grounding.evidence import Evidence
from turnloom.planner.reply.grounding.places import ResultOrigin
from turnloom.planner.reply.grounding.zones import zones_named

_RESULT = {
    "room": "Sea Suite",
    "price": 120,
    "currency": "EUR",
    "fee": 0,
    "refundable": True,
    "breakfast_included": True,
    "left": 2,
    "text": "Twelve nights from 5 May. The shuttle is free.",
}
_REPLY = (
    "There are 2 rooms left: the Sea Suite costs 120 euros for 12 nights from 5 May at 10:30, about 10 euros a night, "
    "is refundable and includes breakfast. There is no extra fee."
)


def prepare() -> None:
    """Load the words and compile the patterns, which takes as long as hundreds of checks."""
    evidence = Evidence(datetime(2026, 5, 1, tzinfo=UTC))
    evidence.add_said("Fri 5 May 2026: 1 euro", "message")
    evidence.add_result(_RESULT, ResultOrigin("prepared"))
    check(_REPLY, evidence)
    zones_named(_REPLY)
