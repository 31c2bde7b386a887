"""Notes are taken in a conversation, once for each idempotency key."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from turnloom.tools.packs.research.tables import NoteRow


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNote:
    """A note and its source."""

    text: str
    about: str
    source: str | None
    """A document or a URL."""


def take(db: Session, tenant_id: UUID, conversation_id: str, key: str, note: StoredNote) -> None:
    """Store a note, unless the key has one."""
    row = {"text": note.text, "about": note.about, "source": note.source}
    new = insert(NoteRow).values(tenant_id=tenant_id, conversation_id=conversation_id, key=key, **row)
    db.execute(new.on_conflict_do_nothing())


def find(db: Session, tenant_id: UUID, key: str) -> StoredNote | None:
    """Return the note under a key; None if there is none."""
    row = db.get(NoteRow, (tenant_id, key))
    return None if row is None else StoredNote(text=row.text, about=row.about, source=row.source)


def erase(db: Session, tenant_id: UUID, conversation_id: str) -> None:
    """Erase the notes of a conversation."""
    db.execute(delete(NoteRow).where(NoteRow.tenant_id == tenant_id, NoteRow.conversation_id == conversation_id))
