"""Steps of several executors share one statement when they are looked at or recorded."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from turnloom.models.ledger.steps import (
    Advance,
    FinishedStep,
    Holder,
    StepClaim,
    Wanted,
    read_advance,
    read_claim,
    write_advance,
)


class Looking(NamedTuple):
    """The lanes of one message, for `look_all`."""

    turn_id: UUID
    lanes: Sequence[Sequence[str]]
    generation: int


class Advancing(NamedTuple):
    """One executor's record: the arguments of `advance`."""

    turn_id: UUID
    generation: int
    finished: Sequence[FinishedStep]
    wanted: Wanted
    holder: Holder


def look_all(db: psycopg.Connection, asked: Sequence[Looking]) -> list[StepClaim | None]:
    """Look at the lanes of several messages."""
    wanted = [{"turn": str(each.turn_id), "lanes": each.lanes, "generation": each.generation} for each in asked]
    rows = db.execute(
        "SELECT hot.look((a ->> 'turn')::uuid, a -> 'lanes', (a ->> 'generation')::int)"
        " FROM jsonb_array_elements(%s) a",
        (Jsonb(wanted),),
        prepare=True,
    )
    return [read_claim(found) if found else None for (found,) in rows]


def advance_all(db: psycopg.Connection, asked: Sequence[Advancing]) -> list[Advance | None]:
    """Record for several executors in one commit. None for each that would have to wait for a lock."""
    wanted = [
        {"turn": str(each.turn_id), **write_advance(each.generation, each.finished, each.wanted, each.holder)}
        for each in asked
    ]
    query = "SELECT hot.advance_all(%s, %s)"
    rows = db.execute(query, (Jsonb(wanted), asked[0].holder.lease_ms), prepare=True)
    return [read_advance(found) if found else None for (found,) in rows]
