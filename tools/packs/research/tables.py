"""Documents are searched by the research pack, which also takes notes.

Documents are loaded from folders. Their `tenant_id` is the owner: a tenant, or `EVERYONE` for those that every tenant
without documents of its own sees.
"""

from datetime import date, datetime
from uuid import UUID

from sqlalchemy import Index
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class DocumentRow(Row):
    """A document."""

    __tablename__ = "documents"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    """Collection and path, such as `handbook/leave.md`."""
    collection: Mapped[str]
    """The name of the folder that it was loaded from."""
    title: Mapped[str]
    language: Mapped[str]
    """The text search configuration for its words."""
    modified: Mapped[date]
    """The date of the document."""
    digest: Mapped[str]
    """Digest of all that it was loaded from."""
    passages: Mapped[int]
    """The number of its passages."""
    loaded_at: Mapped[datetime] = created_now()


class PassageRow(Row):
    """A passage of a document."""

    __tablename__ = "document_passages"
    # A search reads the words of thousands of passages and must not decompress each of them several times.
    __table_args__ = (Index(None, "words", postgresql_using="gin"), {"postgresql_with": {"toast_tuple_target": 8160}})

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    document: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    section: Mapped[str]
    """The headings above it, the outermost first."""
    text: Mapped[str]
    language: Mapped[str]
    words: Mapped[str] = mapped_column(TSVECTOR)
    """The words of the text; those of the section have weight A, those of the document's title weight B."""


class NoteRow(Row):
    """A note that was taken in a conversation: once for each idempotency key."""

    __tablename__ = "research_notes"
    __table_args__ = (Index(None, "tenant_id", "conversation_id"),)

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    conversation_id: Mapped[str]
    text: Mapped[str]
    about: Mapped[str]
    source: Mapped[str | None]
    created_at: Mapped[datetime] = created_now()
