"""Batches: steps of several executors are looked at, or recorded, in one statement."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from turnloom.models.ledger.steps import (
    Advance,
    Capacity,
    Handover,
    Holder,
    StepClaim,
    read_advance,
    read_claim,
    write_advance,
)
from turnloom.models.ledger.transitions import call_rows


class LookRequest(NamedTuple):
    """The lanes of one message, for `look_all`."""

    turn_id: UUID
    lanes: Sequence[Sequence[str]]
    generation: int


class AdvanceRequest(NamedTuple):
    """One executor's record: the arguments of `advance`."""

    turn_id: UUID
    generation: int
    handover: Handover
    capacity: Capacity
    holder: Holder


def look_all(db: psycopg.Connection, asked: Sequence[LookRequest]) -> list[StepClaim | None]:
    """Look at the lanes of several messages."""
    wanted = [{"turn": str(each.turn_id), "lanes": each.lanes, "generation": each.generation} for each in asked]
    rows = call_rows(db, "look_all", asked=Jsonb(wanted))
    return [read_claim(found) if found else None for (found,) in rows]


def advance_all(db: psycopg.Connection, asked: Sequence[AdvanceRequest]) -> list[Advance | None]:
    """Record for several executors in one commit. None for each that would have to wait for a lock."""
    wanted = [
        {"turn": str(each.turn_id), **write_advance(each.generation, each.handover, each.capacity, each.holder)}
        for each in asked
    ]
    rows = call_rows(db, "advance_all", asked=Jsonb(wanted), lease_ms=asked[0].holder.lease_ms)
    return [read_advance(found) if found else None for (found,) in rows]
