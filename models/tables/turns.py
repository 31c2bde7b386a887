"""A turn is one message and the work of answering it."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Index, LargeBinary, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import HOT, JSON, Row, created_now

IN_BACKLOG = "status IN ('queued', 'planning', 'running', 'responding')"
"""Condition of turns that wait for our work. Literal, so that the index with this condition is used by every query
plan."""
IS_WAITING = "sent_at IS NULL AND ending IS NULL"
"""Condition of queued turns that are not handed to the planners yet. (It does not use their status, so that Postgres
does not think the index of the backlog as good.)"""
IS_IN_LINE = f"{IS_WAITING} AND lined_up_at IS NOT NULL"
"""Condition of turns that wait for their tenant's window."""
IS_BEHIND = f"{IS_WAITING} AND line IS NOT NULL AND lined_up_at IS NULL"
"""Condition of turns that wait for other turns of their user."""
IS_TAKEN = f"{IN_BACKLOG} AND lined_up_at IS NOT NULL"
"""Condition of turns that count for their user: they wait for their tenant's window, or are out."""
IS_DUE = "status IN ('queued', 'planning', 'running')"
"""Condition of turns that end at their deadline. Literal for the same reason."""
IS_BROKEN = "status = 'failed' AND error ->> 'code' = 'internal_error'"
"""Condition of turns that our own fault has ended. Literal for the same reason."""

IS_FINAL = "finished_at IS NOT NULL"
"""Condition of turns that are searched by indexes. Others are few, and found by their status."""
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Ranges of the letters of scripts that write without spaces between words: each is a word of its own."""
WORDS = f"to_tsvector('simple', regexp_replace(message, '([{UNSPACED}])', ' \\1 ', 'g'))"
"""The words of a message, as `hot.find_turns` writes them."""


class TurnRow(Row):
    """A turn. While it is queued and has a `sent_at`, this row is also the outbox of its dispatch."""

    __tablename__ = "turns"
    __table_args__ = (
        UniqueConstraint("tenant_id", "conversation_id", "seq"),
        UniqueConstraint("tenant_id", "channel", "message_id"),
        Index("turns_unsent_idx", "sent_at", postgresql_where=text("status = 'queued' AND sent_at IS NOT NULL")),
        Index("turns_backlog_idx", "status", "tenant_id", "sent_at", postgresql_where=text(IN_BACKLOG)),
        Index(
            "turns_waiting_idx",
            "tenant_id",
            "conversation_id",
            text("sequence NULLS FIRST"),
            "seq",
            postgresql_where=text(IS_WAITING),
        ),
        Index(
            "turns_held_idx", "due_at", postgresql_where=text(f"{IS_WAITING} AND due_at IS NOT NULL AND line IS NULL")
        ),
        Index("turns_line_idx", "tenant_id", "priority", "lined_up_at", postgresql_where=text(IS_IN_LINE)),
        Index("turns_behind_idx", "line", "due_at", postgresql_where=text(IS_BEHIND)),
        Index("turns_taken_idx", "line", postgresql_where=text(IS_TAKEN)),
        Index("turns_due_idx", "deadline_at", postgresql_where=text(IS_DUE)),
        Index(
            "turns_transcript_idx",
            "tenant_id",
            "transcript_digest",
            "created_at",
            postgresql_where=text("transcript_digest IS NOT NULL"),
        ),
        Index("turns_broken_idx", "finished_at", postgresql_where=text(IS_BROKEN)),
        Index("turns_approval_idx", "tenant_id", "id", postgresql_where=text("status = 'waiting_approval'")),
        Index("turns_final_idx", "tenant_id", "id", postgresql_where=text(IS_FINAL)),
        Index(
            "turns_status_idx",
            "tenant_id",
            "status",
            "id",
            postgresql_where=text(f"{IS_FINAL} AND status <> 'succeeded'"),
        ),
        Index("turns_agent_idx", "tenant_id", "agent", "id", postgresql_where=text(IS_FINAL)),
        Index(
            "turns_channel_idx", "tenant_id", text("split_part(channel, ':', 1)"), "id", postgresql_where=text(IS_FINAL)
        ),
        Index(
            "turns_error_idx",
            "tenant_id",
            text("(error ->> 'code')"),
            "id",
            postgresql_where=text(f"{IS_FINAL} AND (error ->> 'code') IS NOT NULL"),
        ),
        Index(
            "turns_user_idx",
            "tenant_id",
            text("(person ->> 'id')"),
            "id",
            postgresql_where=text(f"{IS_FINAL} AND (person ->> 'id') IS NOT NULL"),
        ),
        Index("turns_words_idx", text(WORDS), postgresql_using="gin", postgresql_where=text(IS_FINAL)),
        HOT,
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[str]
    seq: Mapped[int]
    sequence: Mapped[int | None] = mapped_column(BigInteger)
    """The sender's number of its message; if others were merged, of the first one."""
    last_sequence: Mapped[int | None] = mapped_column(BigInteger)
    """The sender's number of the last message merged into it."""
    pieces: Mapped[list[Any] | None]
    """If messages were merged, edited or deleted: `{sequence, length, message_id, hidden}` of each, in order. Length:
    its characters in `message`. Hidden: its sender has deleted it since; later prompts do not show it."""
    channel: Mapped[str]
    """`api`, or channel and account, such as `telegram:front-desk`."""
    message_id: Mapped[str | None]
    body_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    """SHA-256 of the canonical request: it distinguishes a repeated message from another one with the same id."""
    agent: Mapped[str]
    mode: Mapped[str | None]
    llm: Mapped[str | None]
    """The language model that the caller named."""
    manner: Mapped[dict[str, Any] | None]
    """How the caller wants the agent to speak."""
    transcript_digest: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Digest of the messages that the caller sent, up to this one, if they were a whole transcript: a later transcript
    that begins with them continues this conversation."""
    on_error: Mapped[str]
    on_busy: Mapped[str]
    message: Mapped[str]
    person: Mapped[dict[str, Any]]
    extra: Mapped[dict[str, Any]]
    """The caller's metadata."""
    callback_url: Mapped[str | None]
    submitted_plan: Mapped[dict[str, Any] | None]
    author: Mapped[str | None]
    """The person who wrote its reply in place of the agent; such a turn has no message."""
    status: Mapped[str]
    priority: Mapped[str] = mapped_column(server_default="interactive")
    deadline_at: Mapped[datetime]

    attempt: Mapped[int] = mapped_column(server_default="0")
    """The fence of planning and responding: only this attempt may record."""
    lease_until: Mapped[datetime | None]
    revision: Mapped[int] = mapped_column(server_default="0")
    """Revisions of its plan so far."""
    tries: Mapped[int] = mapped_column(server_default="0")
    """Claims by planners since the last revision."""
    again: Mapped[str | None]
    """Why it is planned again."""
    bound: Mapped[str | None]
    """The bound that kept it from being planned again."""
    generation: Mapped[int] = mapped_column(server_default="0")
    """The canvas generation whose messages may start steps."""
    compiled_at: Mapped[datetime | None]
    """When that generation was made."""
    open_steps: Mapped[int] = mapped_column(server_default="0")
    """Steps that are not final."""
    last_event: Mapped[int] = mapped_column(server_default="0")
    settles_at: Mapped[datetime | None]
    """The end of the wait for further messages of its burst."""
    awaits_until: Mapped[datetime | None]
    """The end of the wait for earlier messages that its sender's count shows to be missing."""
    due_at: Mapped[datetime | None]
    """When it may be handed to the planners; None while another turn of the conversation is active."""
    line: Mapped[int | None] = mapped_column(BigInteger)
    """The line of its user: a digest of tenant, priority and user, or conversation if nobody is named. None until it is
    due."""
    lined_up_at: Mapped[datetime | None]
    """When it joined its tenant's line; None while as many turns of its user as may be there are there, or out."""
    sent_at: Mapped[datetime | None]
    """When it was handed to the planners; None while it is held, or another turn of its conversation is active."""
    recoveries: Mapped[int] = mapped_column(server_default="0")

    placement: Mapped[str | None]
    """How the plan's steps are laid on workers."""
    max_parallel: Mapped[int | None]
    """Steps that may run at the same time, if the plan could have more."""
    slots: Mapped[dict[str, Any] | None]
    """The conversation's slots, including those from this turn's message; None if no plan was made."""
    action: Mapped[str | None]
    synthesis_hint: Mapped[str | None]
    output: Mapped[Any] = mapped_column(type_=JSON, nullable=True)
    usage: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    error: Mapped[dict[str, Any] | None]
    ending: Mapped[str | None]
    """Why it was closed before its work was done: `cancelled`, `superseded`, `late`, `paused`."""
    asked: Mapped[bool] = mapped_column(server_default="false")
    """Whether one of its steps has ever asked for approval."""
    waiting_since: Mapped[datetime | None]
    """Since when it is `waiting_approval`; meanwhile its deadline is paused."""
    superseded_by: Mapped[UUID | None]
    """The turn that replaced it."""
    created_at: Mapped[datetime] = created_now()
    begun_at: Mapped[datetime | None]
    """When a planner first claimed it."""
    planning_ms: Mapped[float] = mapped_column(server_default="0")
    """Time spent on its plans, including revisions."""
    planning_at: Mapped[datetime | None]
    """When a planner last claimed it."""
    planned_at: Mapped[datetime | None]
    responding_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
