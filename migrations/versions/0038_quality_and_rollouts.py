"""Rollouts, days of quality, and nights of golden conversations.

Revision ID: 0038
Revises: 0034
"""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

_COUNTS = (
    "turns",
    "failed",
    "plans",
    "valid_plans",
    "tool_calls",
    "tool_successes",
    "checked",
    "grounded",
    "questions",
)
_NOW = sa.text("clock_timestamp()")


def upgrade() -> None:
    op.create_table(
        "quality_days",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("agent", "version")),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _COUNTS),
        *(sa.Column(name, sa.Float(), nullable=True) for name in ("first_word_p50_ms", "first_word_p95_ms")),
        sa.Column("cost", sa.Float(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("unpriced_turns", "up", "down")),
        sa.Column("computed_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("quality_days_tenant_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "day", "agent", "version", name=op.f("quality_days_pkey")),
    )
    op.create_table(
        "golden_nights",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("begun_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=True),
        sa.Column("difference", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("golden_nights_tenant_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "day", "name", name=op.f("golden_nights_pkey")),
    )
    op.create_table(
        "rollouts",
        *(sa.Column(name, sa.Uuid(), nullable=False) for name in ("tenant_id", "id")),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("name", "text")),
        *(sa.Column(name, sa.Float(), nullable=False) for name in ("share", "max_worse")),
        sa.Column("min_turns", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        *(sa.Column(name, sa.Text(), nullable=True) for name in ("outcome", "ended_by", "reason")),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("rollouts_tenant_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("rollouts_pkey")),
    )
    op.create_index(
        "rollouts_running_idx",
        "rollouts",
        ["tenant_id", "name"],
        unique=True,
        postgresql_where=sa.text("ended_at IS NULL"),
    )


def downgrade() -> None:
    op.drop_table("rollouts")
    op.drop_table("golden_nights")
    op.drop_table("quality_days")
