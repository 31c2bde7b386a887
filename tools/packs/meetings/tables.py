"""Our own calendars, and the meetings that are being arranged."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import HOT, Row, created_now


class CalendarEventRow(Row):
    """A time at which a user is busy. A meeting in confirmation is held here, even for users of other calendars."""

    __tablename__ = "calendar_events"
    __table_args__ = (
        CheckConstraint("starts < ends", name="span"),
        ForeignKeyConstraint(["tenant_id", "user_id"], ["users.tenant_id", "users.id"], ondelete="CASCADE"),
        UniqueConstraint("tenant_id", "user_id", "uid"),
        Index(None, "tenant_id", "user_id", "ends"),
    )

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[str]
    uid: Mapped[str]
    """Its UID in iCalendar; a meeting has the same one in all calendars."""
    starts: Mapped[datetime]
    ends: Mapped[datetime]
    title: Mapped[str]
    status: Mapped[str]
    """`held` or `confirmed`."""
    created_at: Mapped[datetime] = created_now()


class MeetingSessionRow(Row):
    """Times that were proposed for a meeting, and their outcome.

    While it is `confirming` it is the durable intent: events under its uid in any calendar must be completed or
    removed.
    """

    __tablename__ = "meeting_sessions"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "user_id"], ["users.tenant_id", "users.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["tenant_id", "counterpart_id"], ["users.tenant_id", "users.id"], ondelete="CASCADE"),
        UniqueConstraint("tenant_id", "key"),
        Index(
            "meeting_sessions_pair_idx",
            "tenant_id",
            "user_id",
            "counterpart_id",
            unique=True,
            postgresql_where=text("status IN ('open', 'confirming')"),
        ),
        Index("meeting_sessions_held_idx", "held_until", postgresql_where=text("status = 'confirming'")),
        Index(None, "tenant_id", "conversation_id"),
        HOT,
    )

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    key: Mapped[str]
    """Idempotency key of the call that opened it."""
    conversation_id: Mapped[str]
    user_id: Mapped[str]
    counterpart_id: Mapped[str]
    connection_id: Mapped[UUID]
    duration_mins: Mapped[int]
    wanted: Mapped[dict[str, Any]]
    """The request: an equal one is a duplicate."""
    tz: Mapped[str]
    """The time zone in which times are shown."""
    proposals: Mapped[list[Any]]
    """[start, end] of each, RFC 3339."""
    status: Mapped[str]
    """`open`, `confirming`, `confirmed`, `expired` or `cancelled`."""
    starts: Mapped[datetime | None]
    """The chosen time, from the start of the confirmation on."""
    ends: Mapped[datetime | None]
    confirm_key: Mapped[str | None]
    """Idempotency key of the call that confirms it."""
    fence: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of its last holder: nobody else may finish it."""
    held_until: Mapped[datetime | None]
    """When its holder counts as lost."""
    expires_at: Mapped[datetime]
    created_at: Mapped[datetime] = created_now()


class MeetingChangeRow(Row):
    """A change of a confirmed meeting.

    While it is `begun` it is the durable intent: in both calendars the meeting must become what it says, or again what
    it was. A change that is undone is deleted.
    """

    __tablename__ = "meeting_changes"
    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "session_id"], ["meeting_sessions.tenant_id", "meeting_sessions.id"], ondelete="CASCADE"
        ),
        UniqueConstraint("tenant_id", "key"),
        UniqueConstraint("tenant_id", "session_id", "sequence"),
        Index("meeting_changes_held_idx", "held_until", postgresql_where=text("status = 'begun'")),
    )

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    session_id: Mapped[UUID]
    key: Mapped[str]
    """Idempotency key of the call that makes it."""
    sequence: Mapped[int]
    """Its number among the changes of the meeting, from 1."""
    starts: Mapped[datetime]
    """The time before the change."""
    ends: Mapped[datetime]
    new_starts: Mapped[datetime | None]
    """The time after it; null if the meeting is cancelled."""
    new_ends: Mapped[datetime | None]
    status: Mapped[str]
    """`begun` or `done`."""
    fence: Mapped[int]
    """The number of its last holder: nobody else may finish it."""
    held_until: Mapped[datetime | None]
    """When its holder counts as lost."""
    created_at: Mapped[datetime] = created_now()
