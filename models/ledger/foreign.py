"""Conversations that another system has recorded are kept and read here, for replays."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from turnloom.models.contracts.foreign import ForeignConversation
from turnloom.models.tables.replays import RecordedConversationRow


def keep(db: Session, tenant_id: UUID, conversations: Sequence[tuple[ForeignConversation, datetime]]) -> None:
    """Keep conversations of another system, each with the time of its beginning. One of the same id is replaced."""
    for conversation, started_at in conversations:
        values = {
            "tenant_id": tenant_id,
            "id": conversation.conversation_id,
            "user_id": user_of(conversation),
            "agent": conversation.agent,
            "started_at": started_at,
            "content": conversation.model_dump(mode="json", exclude_none=True),
        }
        kept = upsert(RecordedConversationRow).values(values)
        db.execute(kept.on_conflict_do_update(index_elements=["tenant_id", "id"], set_=values))


def kept(
    db: Session, tenant_id: UUID, since: datetime, until: datetime | None, agent: str | None
) -> list[ForeignConversation]:
    """Return the conversations of another system that began in this time, by id; with an agent, only those it has."""
    wanted: list[ColumnElement[bool]] = [RecordedConversationRow.tenant_id == tenant_id]
    wanted += [RecordedConversationRow.started_at >= since]
    wanted += [RecordedConversationRow.started_at < until] if until else []
    wanted += [RecordedConversationRow.agent == agent] if agent else []
    query = select(RecordedConversationRow.content).where(*wanted).order_by(RecordedConversationRow.id)
    return [ForeignConversation.model_validate(content) for content in db.scalars(query)]


def user_of(conversation: ForeignConversation) -> str | None:
    """Return the id of the person of a conversation of another system, if it names one."""
    user = conversation.user
    return user if isinstance(user, str) or user is None else user.id
