"""Calendars of our own and meeting sessions.

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_NOW = sa.text("clock_timestamp()")


def upgrade() -> None:
    op.create_table(
        "calendar_events",
        *_uuids("tenant_id", "id"),
        *_texts("user_id", "uid"),
        *_times("starts", "ends"),
        *_texts("title", "status"),
        *_times("created_at", default=_NOW),
        sa.CheckConstraint("starts < ends", name=op.f("calendar_events_span_check")),
        _of_user("calendar_events", "user_id"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("calendar_events_pkey")),
        sa.UniqueConstraint("tenant_id", "user_id", "uid", name=op.f("calendar_events_tenant_id_user_id_uid_key")),
    )
    op.create_index(
        op.f("calendar_events_tenant_id_user_id_ends_idx"), "calendar_events", ["tenant_id", "user_id", "ends"]
    )
    op.create_table(
        "meeting_sessions",
        *_uuids("tenant_id", "id"),
        *_texts("key", "conversation_id", "user_id", "counterpart_id"),
        *_uuids("connection_id"),
        sa.Column("duration_mins", sa.Integer(), nullable=False),
        sa.Column("wanted", postgresql.JSONB(), nullable=False),
        *_texts("tz"),
        sa.Column("proposals", postgresql.JSONB(), nullable=False),
        *_texts("status"),
        *_times("starts", "ends", nullable=True),
        sa.Column("confirm_key", sa.Text(), nullable=True),
        sa.Column("fence", sa.Integer(), server_default=sa.text("0"), nullable=False),
        *_times("held_until", nullable=True),
        *_times("expires_at"),
        *_times("created_at", default=_NOW),
        _of_user("meeting_sessions", "user_id"),
        _of_user("meeting_sessions", "counterpart_id"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("meeting_sessions_pkey")),
        sa.UniqueConstraint("tenant_id", "key", name=op.f("meeting_sessions_tenant_id_key_key")),
        postgresql_with={"fillfactor": "70"},
    )
    op.create_index(
        "meeting_sessions_pair_idx",
        "meeting_sessions",
        ["tenant_id", "user_id", "counterpart_id"],
        unique=True,
        postgresql_where=sa.text("status IN ('open', 'confirming')"),
    )
    op.create_index(
        "meeting_sessions_held_idx",
        "meeting_sessions",
        ["held_until"],
        postgresql_where=sa.text("status = 'confirming'"),
    )
    op.create_index(
        op.f("meeting_sessions_tenant_id_conversation_id_idx"), "meeting_sessions", ["tenant_id", "conversation_id"]
    )


def downgrade() -> None:
    for table in ("meeting_sessions", "calendar_events"):
        op.drop_table(table)


def _uuids(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.Uuid(), nullable=False) for name in names]


def _texts(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _times(*names: str, nullable: bool = False, default: sa.TextClause | None = None) -> list[sa.Column[object]]:
    kind = sa.DateTime(timezone=True)
    return [sa.Column(name, kind, server_default=default, nullable=nullable) for name in names]


def _of_user(table: str, column: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant_id", column],
        ["users.tenant_id", "users.id"],
        name=op.f(f"{table}_tenant_id_{column}_fkey"),
        ondelete="CASCADE",
    )
