"""Recordings: what language models were sent and answered.

Revision ID: 0035
Revises: 0034
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    json = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())
    op.create_table(
        "recorded_texts",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Uuid(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "conversation_id", "digest", name=op.f("recorded_texts_pkey")),
    )
    op.create_table(
        "recorded_calls",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        *(sa.Column(name, sa.Uuid(), nullable=True) for name in ("rules", "schema")),
        sa.Column("messages", postgresql.ARRAY(sa.Uuid()), nullable=False),
        sa.Column("answer", sa.Uuid(), nullable=True),
        sa.Column("parameters", json, nullable=False),
        *(sa.Column(name, sa.Text(), nullable=True) for name in ("now", "error")),
        sa.PrimaryKeyConstraint("tenant_id", "turn_id", "seq", name=op.f("recorded_calls_pkey")),
    )
    for name in ("rules", "schema"):
        op.create_index(op.f(f"recorded_calls_tenant_id_{name}_idx"), "recorded_calls", ["tenant_id", name])


def downgrade() -> None:
    op.drop_table("recorded_calls")
    op.drop_table("recorded_texts")
