"""Recordings hold what language models were sent and answered: each text once, and which texts a call had."""

from typing import Any
from uuid import UUID

from sqlalchemy import Index, LargeBinary, Uuid
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row


class RecordedTextRow(Row):
    """A text of recorded calls, which is there as long as a call has it."""

    __tablename__ = "recorded_texts"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(primary_key=True)
    """Empty for rules and schemas, which conversations share."""
    digest: Mapped[UUID] = mapped_column(primary_key=True)
    """The first 16 bytes of the SHA-256 of role and text."""
    role: Mapped[str]
    data: Mapped[bytes] = mapped_column(LargeBinary)
    """The text, compressed with zlib."""


class RecordedCallRow(Row):
    """The texts of a call that `llm_calls` has the cost of."""

    __tablename__ = "recorded_calls"
    # The equal entries of many calls take little room: Postgres stores their key once.
    __table_args__ = (Index(None, "tenant_id", "rules"), Index(None, "tenant_id", "schema"))

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    rules: Mapped[UUID | None]
    """Digest of the first message, if its role is `system`."""
    schema: Mapped[UUID | None]
    """Digest of the schema of the answer."""
    messages: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid))
    """Digests of the messages after the rules, in order."""
    answer: Mapped[UUID | None]
    """Digest of the answer; None if the call failed."""
    parameters: Mapped[dict[str, Any]]
    now: Mapped[str | None]
    """The time that the prompt was made for, with the person's offset from UTC."""
    error: Mapped[str | None]
    """Why the call failed."""
