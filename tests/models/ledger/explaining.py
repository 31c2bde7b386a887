"""Explain turns, and simulate workers and losses."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from tests.models.ledger.parking import change
from turnloom.models.connections.database import snapshot, statement
from turnloom.models.contracts.delay_causes import explain
from turnloom.models.contracts.explanation import Explanation
from turnloom.models.ledger import explanation, steps, turns, workers
from turnloom.models.ledger.steps import Capacity, FinishedStep, Handover, Holder

LEASE = timedelta(seconds=6)
HOLDER = Holder("worker-io-1@host/7", 6_000)

EMPTY: Mapping[str, int] = {}
"""The state of a broker that answers and in which no message waits."""


def why(turn_id: UUID | None, messages: Mapping[str, int] | None = EMPTY) -> Explanation:
    assert turn_id is not None
    with snapshot() as db:
        turn = turns.get(db, turn_id)
        assert turn is not None
        facts = explanation.gather(db, turn, LEASE)
    return explain(facts, messages)


def beat(*queues: str) -> None:
    """Record the heartbeat of a worker with 16 slots that takes from these queues."""
    with statement() as db:
        workers.beat(db, "worker@host", queues or ("plan", "respond", "tools.io", "maintenance"), 16)


def claim(turn_id: UUID, *lane: str) -> steps.StepClaim:
    with statement() as db:
        return steps.claim(db, turn_id, [lane], 1, HOLDER)


def succeed(turn_id: UUID, name: str) -> steps.Advance:
    with statement() as db:
        finished = [FinishedStep(name, 1, "succeeded", result={})]
        return steps.advance(db, turn_id, 1, Handover(finished), Capacity("tools.io", 0), HOLDER)


def lose(table: str = "turns") -> None:
    """Let all leases run out, as if their holders had died."""
    change(f"UPDATE {table} SET lease_until = clock_timestamp() - interval '1 s'")


def told(found: Explanation) -> tuple[str, str | None, str | None]:
    return found.cause, found.step, found.queue
