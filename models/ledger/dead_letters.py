"""Dead letters are steps of unknown outcome, turns that our own fault has ended, and what was not sent."""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb
from sqlalchemy import (
    CompoundSelect,
    Integer,
    Select,
    Text,
    cast,
    func,
    literal,
    null,
    select,
    text,
    tuple_,
    union_all,
)
from sqlalchemy.orm import Session

from turnloom.models.contracts.dead_letter import DeadLetter, DeadLetterKind, StepDecision
from turnloom.models.contracts.event import Event, read_events
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger.transitions import call
from turnloom.models.runtime.operators import Operator
from turnloom.models.tables.callbacks import IS_GIVEN_UP, CallbackRow
from turnloom.models.tables.channels import IS_STRANDED, DeliveryRow
from turnloom.models.tables.steps import IS_UNKNOWN, StepRow
from turnloom.models.tables.tenants import TenantRow
from turnloom.models.tables.turns import IS_BROKEN, TurnRow


class DeadLetterPlace(NamedTuple):
    """The place of a dead letter in the list."""

    since: datetime
    turn_id: UUID
    kind: DeadLetterKind
    of: str
    """The step, or the number of the part; empty for a turn and a callback."""


_NONE = null()
_NO_PART = cast(null(), Integer)
"""Postgres takes a bare NULL of a union for text."""


def listed(
    db: Session,
    tenant_id: UUID | None,
    limit: int,
    kind: DeadLetterKind | None = None,
    before: DeadLetterPlace | None = None,
) -> list[DeadLetter]:
    """Return the dead letters of a tenant, or of all.

    Those that an operator can act on come first, then turns, each the newest first. `kind`: only those. `before`: the
    place of the last one of the page before.
    """
    found = _all(kind).subquery()
    tenant, found_kind, turn, step, part, tool, code, since = found.c
    of = func.coalesce(step, cast(part, Text), "").collate("C")
    place = tuple_(found_kind != "turn", since, turn, found_kind, of)
    query = select(TenantRow.name, found_kind, turn, step, part, tool, code, since)
    query = query.join(TenantRow, TenantRow.id == tenant)
    if tenant_id is not None:
        query = query.where(tenant == tenant_id)
    if before is not None:
        query = query.where(place < tuple_(*map(literal, (before.kind != "turn", *before))))
    rows = db.execute(query.order_by(*(each.desc() for each in place)).limit(limit))
    return [DeadLetter.model_validate(dict(zip(DeadLetter.model_fields, row, strict=True))) for row in rows]


def count_by_kind(db: Session) -> dict[str, int]:
    """Return how many dead letters of each kind all tenants have."""
    kind = _all(None).subquery().c[1]
    return dict(db.execute(select(kind, func.count()).group_by(kind)).all())


def _all(kind: DeadLetterKind | None) -> CompoundSelect[Any]:
    kinds = {
        "step": _letters(StepRow, "step", StepRow.turn_id, step=StepRow.id, tool=StepRow.tool).where(text(IS_UNKNOWN)),
        "turn": _letters(TurnRow, "turn", TurnRow.id).where(text(IS_BROKEN)),
        "delivery": _letters(DeliveryRow, "delivery", DeliveryRow.turn_id, part=DeliveryRow.part).where(
            text(IS_STRANDED)
        ),
        "callback": _letters(CallbackRow, "callback", CallbackRow.turn_id).where(text(IS_GIVEN_UP)),
    }
    return union_all(*([kinds[kind]] if kind else kinds.values()))


def _letters(
    row: type[StepRow | TurnRow | DeliveryRow | CallbackRow],
    kind: str,
    turn: Any,
    step: Any = _NONE,
    part: Any = _NO_PART,
    tool: Any = _NONE,
) -> Select[Any]:
    return select(row.tenant_id, literal(kind), turn, step, part, tool, row.error["code"].astext, row.finished_at)


def decide(db: Session, turn_id: UUID, step_id: str, decision: StepDecision, by: Operator) -> list[Event]:
    """Record the outcome of a step that was unknown; return the events, none if the turn is final.

    Nothing is called, and a reply that was sent does not change.

    Raises:
        NotFound: there is no such step.
        Conflict: its outcome is known.
    """
    found = call(
        db,
        "decide_step",
        turn=turn_id,
        step=step_id,
        status=decision.status,
        result=None if decision.result is None else Jsonb(decision.result),
        note=decision.note,
        key=by.key_id,
        by=by.name,
    )
    if found is None:
        raise NotFound(f"there is no step {step_id!r} in a turn {turn_id}")
    if found["status"] != "unknown":
        raise Conflict(f"step {step_id!r} is {found['status']}: only a step of unknown outcome is decided")
    return read_events(found["events"])
