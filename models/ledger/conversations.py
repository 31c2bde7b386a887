"""Conversations are found, listed and erased here."""

from typing import Any
from uuid import UUID

from sqlalchemy import Select, cast, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger.transitions import call
from turnloom.models.tables.conversations import IS_LISTED, ConversationRow
from turnloom.models.tables.events import TurnEventsRow
from turnloom.models.tables.knowledge import KnowledgeRow
from turnloom.models.tables.memory import MemoryRow
from turnloom.models.tables.notifications import NotificationRow
from turnloom.models.tables.plans import PlanRow
from turnloom.models.tables.replies import ReplyRow
from turnloom.models.tables.steps import StepRow
from turnloom.models.tables.turns import TurnRow

_EMPTY = cast({}, JSONB)
_EARLIER_WITHOUT_DATA = text(
    "(SELECT coalesce(jsonb_agg(event - 'data'), '[]') FROM jsonb_array_elements(earlier) AS event)"
)


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
    turns = select(TurnRow.id).where(TurnRow.tenant_id == tenant_id, TurnRow.conversation_id == conversation_id)
    for statement in (
        update(TurnEventsRow)
        .where(TurnEventsRow.turn_id.in_(turns))
        .values(data=_EMPTY, earlier=_EARLIER_WITHOUT_DATA),
        update(PlanRow).where(PlanRow.turn_id.in_(turns)).values(document=_EMPTY, trace=_EMPTY),
        update(StepRow).where(StepRow.turn_id.in_(turns)).values(args=_EMPTY, result=None, error=None, approval=None),
        delete(ReplyRow).where(ReplyRow.turn_id.in_(turns)),
        update(TurnRow)
        .where(TurnRow.id.in_(turns))
        .values(
            message="",
            person={},
            extra={},
            callback_url=None,
            submitted_plan=None,
            slots=None,
            action=None,
            output=None,
            error=None,
        ),
        delete(MemoryRow).where(MemoryRow.tenant_id == tenant_id, MemoryRow.conversation_id == conversation_id),
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
    call(db, "erase_audit", tenant=tenant_id, conversation=conversation_id)
    row.person, row.slots, row.summary = {}, {}, None
    row.summary_seq = row.last_seq  # a summary that is being made now covers erased turns
    row.erased_at = db.scalar(select(func.clock_timestamp()))


def _of(tenant_id: UUID, conversation_id: str) -> Select[ConversationRow]:
    return select(ConversationRow).where(ConversationRow.tenant_id == tenant_id, ConversationRow.id == conversation_id)
