"""Read what became of messages of a channel: the turn that answers each, and the parts of its reply."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from turnloom.models.tables.channels import ChannelItemRow, DeliveryRow
from turnloom.models.tables.turns import TurnRow

_AT_ONCE = 1_000
_OUT = frozenset({"sent", "delivered", "read", "unknown"})


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A part of a reply."""

    number: int
    status: str
    provider_id: str | None

    @property
    def is_out(self) -> bool:
        """Whether the person may have got it."""
        return self.status in _OUT or self.provider_id is not None


@dataclass(frozen=True, slots=True)
class AnsweredMessage:
    """A message, and the turn that answers it. A turn that another one replaced is answered by that."""

    accepted_at: datetime
    recipient: str | None
    turn_id: UUID
    begun_at: datetime | None
    parts: tuple[AnswerPart, ...]

    @property
    def is_settled(self) -> bool:
        """Whether nothing more will be sent."""
        return bool(self.parts) and all(part.status != "pending" for part in self.parts)


def answers(db: Session, tenant_id: UUID, channel: str, provider_ids: Sequence[str]) -> dict[str, AnsweredMessage]:
    """Return what became of messages, by the provider's id; those that nobody recorded are absent.

    `channel` has the account's name, too: `telegram:front-desk`.
    """
    items = _items(db, tenant_id, channel, provider_ids)
    turns = _turns(db, tenant_id, {item.turn_id for item in items.values() if item.turn_id is not None})
    parts = _parts(db, tenant_id, list(turns))
    found = {}
    for name, item in items.items():
        if (turn := _last(item.turn_id, turns)) is not None:
            its = parts.get(turn.id, ())
            found[name] = AnsweredMessage(item.created_at, item.recipient, turn.id, turn.begun_at, its)
    return found


def _items(db: Session, tenant_id: UUID, channel: str, ids: Sequence[str]) -> dict[str, ChannelItemRow]:
    mine = (ChannelItemRow.tenant_id == tenant_id, ChannelItemRow.channel == channel, ChannelItemRow.kind == "message")
    rows: list[ChannelItemRow] = []
    for some in _chunks(ids):
        rows += db.scalars(select(ChannelItemRow).where(*mine, ChannelItemRow.provider_id.in_(some)))
    return {row.provider_id: row for row in rows}


def _turns(db: Session, tenant_id: UUID, ids: set[UUID]) -> dict[UUID, TurnRow]:
    """Return turns and those that replaced them."""
    found: dict[UUID, TurnRow] = {}
    while ids:
        for some in _chunks(sorted(ids)):
            rows = db.scalars(select(TurnRow).where(TurnRow.tenant_id == tenant_id, TurnRow.id.in_(some)))
            found |= {row.id: row for row in rows}
        ids = {row.superseded_by for row in found.values() if row.superseded_by is not None} - set(found)
    return found


def _last(turn_id: UUID | None, turns: Mapping[UUID, TurnRow]) -> TurnRow | None:
    turn = None if turn_id is None else turns.get(turn_id)
    while turn is not None and turn.superseded_by is not None:
        turn = turns.get(turn.superseded_by)
    return turn


def _parts(db: Session, tenant_id: UUID, turn_ids: Sequence[UUID]) -> dict[UUID, tuple[AnswerPart, ...]]:
    found: dict[UUID, tuple[AnswerPart, ...]] = {}
    for some in _chunks(turn_ids):
        rows = select(DeliveryRow).where(DeliveryRow.tenant_id == tenant_id, DeliveryRow.turn_id.in_(some))
        for row in db.scalars(rows.order_by(DeliveryRow.turn_id, DeliveryRow.part)):
            found[row.turn_id] = (*found.get(row.turn_id, ()), AnswerPart(row.part, row.status, row.provider_id))
    return found


def _chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]
