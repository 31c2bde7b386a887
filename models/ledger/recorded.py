"""Recorded conversations are found and read here, for replays."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, func, literal_column, select
from sqlalchemy.orm import Session

from turnloom.models.contracts.knowledge import Item
from turnloom.models.ledger import knowledge
from turnloom.models.runtime.ids import first_id
from turnloom.models.tables.conversations import ConversationRow
from turnloom.models.tables.plans import PlanRow
from turnloom.models.tables.replies import ReplyRow
from turnloom.models.tables.steps import StepRow
from turnloom.models.tables.turns import TurnRow
from turnloom.models.tables.usage import LlmCallRow

_ACCEPTING = timedelta(hours=1)
"""The id of a turn is older than its row by less than this, also where clocks differ."""

_FIRST, _LAST = datetime(1971, 1, 1, tzinfo=UTC), datetime(9998, 1, 1, tzinfo=UTC)

Part = TypeVar("Part", PlanRow, StepRow, LlmCallRow)


@dataclass(frozen=True)
class TurnRows:
    """A final turn with the rows that belong to it, each in order."""

    turn: TurnRow
    reply: ReplyRow | None
    shown_message: str
    """Its message as later prompts show it."""
    is_seen: bool
    """Whether its reply has reached the person, as far as we know."""
    is_rolled_back: bool
    plans: list[PlanRow] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    calls: list[LlmCallRow] = field(default_factory=list)


@dataclass(frozen=True)
class ConversationRows:
    """A conversation with its final turns."""

    conversation: ConversationRow
    turns: list[TurnRows]
    knowledge: list[Item]
    older: list[UUID]
    """Turns before these, as far as it knows something from them; none if it was read from its beginning."""


def find(
    db: Session,
    tenant_id: UUID,
    since: datetime | None,
    until: datetime | None,
    agent: str | None,
    last: int | None = None,
) -> list[str]:
    """Return the conversations with final turns that were received in this time, ordered by id.

    `agent`: only those in which this agent answered such a turn. `last`: only so many, those with the latest of these
    turns. Erased conversations are left out.
    """
    wanted: list[ColumnElement[bool]] = [TurnRow.tenant_id == tenant_id, TurnRow.finished_at.is_not(None)]
    wanted += [TurnRow.message != "", TurnRow.author.is_(None)]
    # Ids are made in the order of time, when a message is accepted: their index finds the turns.
    wanted += [TurnRow.created_at >= since, TurnRow.id >= first_id(_bounded(since) - _ACCEPTING)] if since else []
    wanted += [TurnRow.created_at < until, TurnRow.id < first_id(_bounded(until) + _ACCEPTING)] if until else []
    wanted += [TurnRow.agent == agent] if agent else []
    query = select(TurnRow.conversation_id).where(*wanted).group_by(TurnRow.conversation_id)
    return sorted(db.scalars(query.order_by(func.max(TurnRow.created_at).desc()).limit(last)))


def read(db: Session, tenant_id: UUID, conversation_id: str, places: range | None = None) -> ConversationRows | None:
    """Return a conversation with its final turns, oldest first; None if there is no such conversation.

    `places`: only the turns at these places of it, counted from 1.
    """
    conversation = db.get(ConversationRow, (tenant_id, conversation_id))
    if conversation is None:
        return None
    of_conversation = (TurnRow.tenant_id == tenant_id, TurnRow.conversation_id == conversation_id)
    shown: ColumnElement[str] = literal_column("hot.shown_message(turns)")
    seen: ColumnElement[bool] = literal_column("hot.is_seen(turns.id)")
    query = (
        select(TurnRow, ReplyRow, shown, seen, func.hot.is_rolled_back(TurnRow.superseded_by))
        .outerjoin(ReplyRow, (ReplyRow.turn_id == TurnRow.id) & (ReplyRow.tenant_id == TurnRow.tenant_id))
        .where(*of_conversation, TurnRow.finished_at.is_not(None))
        .order_by(TurnRow.seq)
    )
    if places is not None:
        query = query.where(TurnRow.seq >= places.start, TurnRow.seq < places.stop)
    rows = list(db.execute(query))
    ids = [row[0].id for row in rows]
    plans = _by_turn(db, PlanRow, ids, PlanRow.revision)
    steps = _by_turn(db, StepRow, ids, StepRow.revision, StepRow.position)
    calls = _by_turn(db, LlmCallRow, ids, LlmCallRow.seq)
    turns = [
        TurnRows(turn, reply, said, was_seen, is_undone, plans[turn.id], steps[turn.id], calls[turn.id])
        for turn, reply, said, was_seen, is_undone in rows
    ]
    known = knowledge.load(db, tenant_id, conversation_id).items
    older = [] if places is None else _sources(db, known, *of_conversation, TurnRow.seq < places.start)
    return ConversationRows(conversation, turns, known, older)


def _sources(db: Session, known: Sequence[Item], *which: ColumnElement[bool]) -> list[UUID]:
    """Return which of these turns the knowledge comes from, without those that were rolled back."""
    ids = {UUID(item.source.turn) for item in known}
    query = select(TurnRow.id).where(*which, TurnRow.id.in_(ids), ~func.hot.is_rolled_back(TurnRow.superseded_by))
    return list(db.scalars(query)) if ids else []


def _bounded(at: datetime) -> datetime:
    """Return a time that ids can have: no turn is older or younger."""
    return min(max(at, _FIRST), _LAST)


def _by_turn(db: Session, kind: type[Part], ids: Sequence[UUID], *order: Any) -> dict[UUID, list[Part]]:
    found: dict[UUID, list[Part]] = defaultdict(list)
    for row in db.scalars(select(kind).where(kind.turn_id.in_(ids)).order_by(*order)):
        found[row.turn_id].append(row)
    return found
