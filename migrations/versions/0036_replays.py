"""Replays, and conversations that other systems have recorded.

Revision ID: 0036
Revises: 0034
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    json = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())
    now = sa.text("clock_timestamp()")
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "recorded_conversations",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=True),
        sa.Column("started_at", moment, nullable=False),
        sa.Column("content", json, nullable=False),
        sa.Column("created_at", moment, server_default=now, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("recorded_conversations_pkey")),
    )
    op.create_table(
        "replays",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("status", sa.Text(), server_default="running", nullable=False),
        sa.Column("options", json, nullable=False),
        sa.Column("report", json, nullable=True),
        sa.Column("created_at", moment, server_default=now, nullable=False),
        sa.Column("finished_at", moment, nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("replays_pkey")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("replays_open_idx", "replays", ["id"], postgresql_where=sa.text("report IS NULL"))
    op.create_table(
        "replay_conversations",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("replay_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("content", json, nullable=True),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_until", moment, nullable=True),
        sa.Column("result", json, nullable=True),
        sa.Column("done_at", moment, nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "replay_id", "number", name=op.f("replay_conversations_pkey")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(
        op.f("replay_conversations_tenant_id_conversation_id_idx"),
        "replay_conversations",
        ["tenant_id", "conversation_id"],
    )
    op.create_index(
        "replay_conversations_open_idx",
        "replay_conversations",
        ["tenant_id", "replay_id", "number"],
        postgresql_where=sa.text("done_at IS NULL"),
    )


def downgrade() -> None:
    for table in ("replay_conversations", "replays", "recorded_conversations"):
        op.drop_table(table)
