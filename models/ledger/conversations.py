"""Conversations are found, listed and erased here."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, delete, func, select, text, update
from sqlalchemy.orm import Session

from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger.transitions import call
from turnloom.models.runtime.operators import operator
from turnloom.models.tables.conversations import IS_LISTED, IS_PAUSED, ConversationRow
from turnloom.models.tables.knowledge import KnowledgeRow
from turnloom.models.tables.notifications import NotificationRow
from turnloom.models.tables.replies import ReplyRow
from turnloom.models.tables.turns import TurnRow

_ITS_TURNS = (TurnRow.tenant_id == ConversationRow.tenant_id) & (TurnRow.conversation_id == ConversationRow.id)
_HAS_TURNS = select(TurnRow.id).where(_ITS_TURNS).correlate(ConversationRow).exists()


def get(db: Session, tenant_id: UUID, conversation_id: str) -> ConversationRow:
    """Return a conversation.

    Raises:
        NotFound: the tenant has none of that id.
    """
    row = db.scalar(_of(tenant_id, conversation_id))
    if row is None:
        raise NotFound(f"there is no conversation {conversation_id!r}")
    return row


def agent_of(db: Session, tenant_id: UUID, conversation_id: str) -> str | None:
    """Return the agent that a conversation was opened with; None if there is no such conversation."""
    query = select(ConversationRow.agent)
    return db.scalar(query.where(ConversationRow.tenant_id == tenant_id, ConversationRow.id == conversation_id))


def page(db: Session, tenant_id: UUID, before: tuple[Any, str] | None, limit: int) -> list[ConversationRow]:
    """Return conversations, the last changed first; `before` is (updated_at, id) of the last one seen."""
    query = select(ConversationRow).where(ConversationRow.tenant_id == tenant_id, text(IS_LISTED))
    if before is not None:
        query = query.where(func.row(ConversationRow.updated_at, ConversationRow.id) < func.row(*before))
    query = query.order_by(ConversationRow.updated_at.desc(), ConversationRow.id.desc()).limit(limit)
    return list(db.scalars(query))


def turns_of(
    db: Session, tenant_id: UUID, conversation_id: str, after_seq: int, limit: int
) -> list[tuple[TurnRow, ReplyRow | None]]:
    """Return a page of a conversation's turns with their replies, oldest first."""
    query = (
        select(TurnRow, ReplyRow)
        .outerjoin(ReplyRow, ReplyRow.turn_id == TurnRow.id)
        .where(TurnRow.tenant_id == tenant_id, TurnRow.conversation_id == conversation_id, TurnRow.seq > after_seq)
        .order_by(TurnRow.seq)
        .limit(limit)
    )
    return [(turn, reply) for turn, reply in db.execute(query)]


def erase(db: Session, tenant_id: UUID, conversation_id: str) -> None:
    """Erase the content of a conversation. Its turns, statuses, times and audit chain stay, without text.

    What packs keep of it is not erased here: call `tools.erasure.erase_conversation`, which does both.

    Raises:
        NotFound: the tenant has no such conversation.
        Conflict: one of its turns is being worked on.
    """
    row = db.scalar(_of(tenant_id, conversation_id).with_for_update())
    if row is None:
        raise NotFound(f"there is no conversation {conversation_id!r}")
    if row.active_turn_id is not None:
        raise Conflict(f"conversation {conversation_id!r} has a turn in work; erase it when that is final", code="busy")
    for statement in (
        delete(KnowledgeRow).where(
            KnowledgeRow.tenant_id == tenant_id, KnowledgeRow.conversation_id == conversation_id
        ),
        delete(NotificationRow).where(
            NotificationRow.tenant_id == tenant_id, NotificationRow.conversation_id == conversation_id
        ),
        update(NotificationRow)
        .where(NotificationRow.tenant_id == tenant_id, NotificationRow.resolved_in == conversation_id)
        .values(resolution=None),
    ):
        db.execute(statement, execution_options={"synchronize_session": False})
    call(db, "erase_turns", tenant=tenant_id, conversation=conversation_id)
    by = operator()
    call(db, "erase_audit", tenant=tenant_id, conversation=conversation_id, key=by.key_id, by=by.name)
    row.person, row.slots, row.past, row.summary = {}, {}, [], None
    row.summary_seq = row.last_seq  # a summary that is being made now covers erased turns
    row.paused_at = row.paused_by = None
    row.erased_at = db.scalar(select(func.clock_timestamp()))


def of_person(db: Session, tenant_id: UUID, person: str) -> list[str]:
    """Return the conversations in which a person has written, or which are theirs. Reads all turns of the tenant."""
    wrote = select(TurnRow.conversation_id).where(TurnRow.tenant_id == tenant_id, TurnRow.person["id"].astext == person)
    theirs = select(ConversationRow.id).where(
        ConversationRow.tenant_id == tenant_id, ConversationRow.person["id"].astext == person
    )
    return sorted(db.scalars(wrote.union(theirs)))


def idle(
    db: Session, tenant_id: UUID | None, age_s: int, after: tuple[UUID, str] | None, limit: int
) -> list[tuple[UUID, str]]:
    """Return conversations, of a tenant or of all, that have turns and have not changed for so many seconds.

    They come in the order of tenant and id; `after` are those of the last one seen.
    """
    key = ConversationRow.tenant_id, ConversationRow.id
    query = select(*key).where(*_is_idle(tenant_id, age_s), _HAS_TURNS)
    if after is not None:
        query = query.where(func.row(*key) > func.row(*after))
    return [(row.tenant_id, row.id) for row in db.execute(query.order_by(*key).limit(limit))]


def count_idle(db: Session, tenant_id: UUID | None, age_s: int) -> tuple[int, int]:
    """Return how many conversations `idle` finds in all, and how many turns they have."""
    query = select(func.count(func.distinct(TurnRow.tenant_id, TurnRow.conversation_id)), func.count())
    query = query.select_from(ConversationRow).join(TurnRow, _ITS_TURNS).where(*_is_idle(tenant_id, age_s))
    conversations, turns = db.execute(query).one()
    return conversations, turns


def count_paused(db: Session) -> int:
    """Return in how many conversations, of all tenants, a person writes in place of the agent."""
    return db.scalar(select(func.count()).select_from(ConversationRow).where(text(IS_PAUSED))) or 0


def lock_idle(db: Session, tenant_id: UUID, conversation_id: str, age_s: int) -> bool:
    """Lock a conversation. False: it has changed meanwhile, or somebody else has it in hand."""
    query = _of(tenant_id, conversation_id).where(*_is_idle(tenant_id, age_s)).with_for_update(skip_locked=True)
    return db.scalar(query) is not None


def prune(db: Session, tenant_id: UUID, conversation_id: str) -> int:
    """Remove the turns of a conversation that was erased; return how many. Its audit log stays."""
    removed: int = call(db, "prune_turns", tenant=tenant_id, conversation=conversation_id)
    return removed


def _is_idle(tenant_id: UUID | None, age_s: int) -> list[ColumnElement[bool]]:
    before = func.clock_timestamp() - timedelta(seconds=age_s)
    of_tenant = [] if tenant_id is None else [ConversationRow.tenant_id == tenant_id]
    return [*of_tenant, ConversationRow.updated_at < before, ConversationRow.active_turn_id.is_(None)]


def _of(tenant_id: UUID, conversation_id: str) -> Select[ConversationRow]:
    return select(ConversationRow).where(ConversationRow.tenant_id == tenant_id, ConversationRow.id == conversation_id)
