"""Memory: what a conversation has settled, its results that still hold, and its summary.

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("slots", postgresql.JSONB(), server_default="{}", nullable=False))
    op.add_column("conversations", sa.Column("summary", sa.Text(), nullable=True))
    op.add_column("conversations", sa.Column("summary_seq", sa.Integer(), server_default="0", nullable=False))
    op.add_column("turns", sa.Column("slots", postgresql.JSONB(), nullable=True))
    op.add_column("steps", sa.Column("input_hash", sa.Text(), nullable=True))
    op.create_table(
        "memory",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("conversation_id", "tool", "input_hash")),
        sa.Column("args", postgresql.JSONB(), nullable=False),
        sa.Column("result", postgresql.JSONB(), nullable=True),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("step_id", sa.Text(), nullable=False),
        sa.Column("holds", sa.Boolean(), server_default="true", nullable=False),
        *(sa.Column(name, sa.DateTime(timezone=True), nullable=False) for name in ("at", "expires_at")),
        sa.PrimaryKeyConstraint("tenant_id", "conversation_id", "tool", "input_hash", name="memory_pkey"),
        postgresql_with={"fillfactor": 70},
    )


def downgrade() -> None:
    op.drop_table("memory")
    op.drop_column("steps", "input_hash")
    op.drop_column("turns", "slots")
    for column in ("summary_seq", "summary", "slots"):
        op.drop_column("conversations", column)
