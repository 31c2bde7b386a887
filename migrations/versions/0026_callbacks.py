"""Callbacks: the outbox of documents of final turns, and the secrets that sign them.

Revision ID: 0026
Revises: 0025
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "callbacks",
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("receiver", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("due_at", _TIME, nullable=True),
        sa.Column("answer", sa.Integer(), nullable=True),
        sa.Column("error", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("queued_at", _TIME, nullable=False),
        sa.Column("finished_at", _TIME, nullable=True),
        sa.PrimaryKeyConstraint("turn_id", "tenant_id", name=op.f("callbacks_pkey")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("callbacks_pending_idx", "callbacks", ["due_at"], postgresql_where=sa.text("status = 'pending'"))
    op.create_index(
        "callbacks_given_up_idx",
        "callbacks",
        ["tenant_id", "finished_at"],
        postgresql_where=sa.text("status = 'failed'"),
    )
    _make_secrets()


def _make_secrets() -> None:
    op.create_table(
        "callback_secrets",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=True),
        sa.Column("key_id", sa.Text(), nullable=True),
        sa.Column("created_at", _TIME, server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("shown_at", _TIME, nullable=True),
        sa.Column("expires_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("callback_secrets_tenant_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("callback_secrets_pkey")),
    )
    op.create_index(op.f("callback_secrets_key_id_idx"), "callback_secrets", ["key_id"])
    op.create_index(
        "callback_secrets_current_idx",
        "callback_secrets",
        ["tenant_id"],
        unique=True,
        postgresql_where=sa.text("expires_at IS NULL"),
    )


def downgrade() -> None:
    op.drop_table("callback_secrets")
    op.drop_table("callbacks")
