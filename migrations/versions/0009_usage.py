"""Usage: the calls of language models, their sums, and budgets.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_COUNTS = ("prompt_tokens", "cached_tokens", "completion_tokens")


def upgrade() -> None:
    op.add_column("tenants", sa.Column("budget", postgresql.JSONB(), server_default="{}", nullable=False))
    op.add_column("conversations", sa.Column("usage", postgresql.JSONB(), server_default="{}", nullable=False))
    op.create_table(
        "llm_calls",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("conversation_id", "purpose", "model")),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in _COUNTS),
        sa.Column("cost", sa.Numeric(), nullable=True),
        sa.Column("duration_ms", sa.Float(), nullable=False),
        sa.Column("finish_reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "turn_id", "seq", name="llm_calls_pkey"),
    )
    op.create_table(
        "usage_days",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("agent", "model")),
        sa.Column("slot", sa.SmallInteger(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("llm_calls", *_COUNTS)),
        sa.Column("cost", sa.Numeric(), nullable=False),
        sa.Column("unpriced_calls", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "day", "agent", "model", "slot", name="usage_days_pkey"),
        postgresql_with={"fillfactor": 70},
    )
    # Usage from before: its calls are not known one by one, and no price was.
    op.execute(
        """UPDATE turns SET usage = usage || jsonb_build_object('cached_tokens', 0,
             'cost', coalesce((usage ->> 'cost')::numeric, 0),
             'unpriced_calls', CASE WHEN usage ->> 'cost' IS NULL
               THEN coalesce((usage ->> 'llm_calls')::int, 0) ELSE 0 END)
            WHERE usage <> '{}'"""
    )
    op.execute(
        """UPDATE conversations c SET usage = u.usage FROM (
             SELECT tenant_id, conversation_id, jsonb_build_object(
                      'llm_calls', sum((usage ->> 'llm_calls')::bigint), 'cached_tokens', 0,
                      'prompt_tokens', sum((usage ->> 'prompt_tokens')::bigint),
                      'completion_tokens', sum((usage ->> 'completion_tokens')::bigint),
                      'cost', sum((usage ->> 'cost')::numeric),
                      'unpriced_calls', sum((usage ->> 'unpriced_calls')::bigint)) AS usage
               FROM turns WHERE finished_at IS NOT NULL AND usage <> '{}' GROUP BY tenant_id, conversation_id) u
            WHERE u.tenant_id = c.tenant_id AND u.conversation_id = c.id"""
    )


def downgrade() -> None:
    op.drop_table("usage_days")
    op.drop_table("llm_calls")
    op.drop_column("conversations", "usage")
    op.drop_column("tenants", "budget")
