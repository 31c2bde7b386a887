"""Channels: accounts, what providers post, and the outbox of replies.

Revision ID: 0025
Revises: 0024
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)
_NOW = sa.text("clock_timestamp()")


def upgrade() -> None:
    _make_accounts()
    _make_items()
    _make_deliveries()


def _make_accounts() -> None:
    op.create_table(
        "channel_accounts",
        *_columns(sa.Uuid(), "tenant_id", "id"),
        *_columns(sa.Text(), "channel", "name", "agent"),
        sa.Column("secret", sa.LargeBinary(), nullable=True),
        sa.Column("key_id", sa.Text(), nullable=True),
        *(sa.Column(name, _TIME, server_default=_NOW, nullable=False) for name in ("created_at", "updated_at")),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("channel_accounts_tenant_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("channel_accounts_pkey")),
        sa.UniqueConstraint("channel", "name", name=op.f("channel_accounts_channel_name_key")),
    )
    op.create_index(op.f("channel_accounts_key_id_idx"), "channel_accounts", ["key_id"])


def _make_items() -> None:
    op.create_table(
        "webhooks",
        *_columns(sa.Uuid(), "tenant_id", "id"),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", _TIME, server_default=_NOW, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("webhooks_pkey")),
    )
    op.create_table(
        "channel_items",
        *_columns(sa.Uuid(), "tenant_id", "id", "webhook_id"),
        *_columns(sa.Text(), "channel", "kind", "provider_id"),
        sa.Column("status", sa.Text(), server_default="", nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=True),
        sa.Column("turn_id", sa.Uuid(), nullable=True),
        sa.Column("recipient", sa.Text(), nullable=True),
        sa.Column("detail", postgresql.JSONB(none_as_null=True), server_default="{}", nullable=False),
        *(sa.Column(name, _TIME, server_default=_NOW, nullable=False) for name in ("at", "created_at")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("channel_items_pkey")),
        sa.UniqueConstraint(
            *("tenant_id", "channel", "kind", "provider_id", "status"),
            name=op.f("channel_items_tenant_id_channel_kind_provider_id_status_key"),
        ),
    )
    _index("channel_items", ["turn_id"], "turn_id IS NOT NULL")
    _index("channel_items", ["tenant_id", "conversation_id", "at"], "conversation_id IS NOT NULL")
    _index("channel_items", ["tenant_id", "webhook_id"])
    _index("channel_items", ["id"], "kind = 'kept'", "channel_items_kept_idx")


def _make_deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        *_columns(sa.Text(), "conversation_id", "channel", "recipient"),
        sa.Column("body", postgresql.JSONB(none_as_null=True), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_until", _TIME, nullable=True),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("unsure", sa.Boolean(), server_default="false", nullable=False),
        *(sa.Column(name, _TIME, nullable=True) for name in ("not_before", "due_at")),
        sa.Column("nudges", sa.Integer(), server_default="0", nullable=False),
        sa.Column("provider_id", sa.Text(), nullable=True),
        sa.Column("error", postgresql.JSONB(none_as_null=True), nullable=True),
        sa.Column("queued_at", _TIME, nullable=False),
        *(sa.Column(name, _TIME, nullable=True) for name in ("begun_at", "finished_at")),
        sa.PrimaryKeyConstraint("turn_id", "part", "tenant_id", name=op.f("deliveries_pkey")),
        postgresql_with={"fillfactor": 70},
    )
    order = ["tenant_id", "conversation_id", "queued_at", "turn_id", "part"]
    _index("deliveries", order, "status = 'pending'", "deliveries_pending_idx")
    _index("deliveries", ["due_at"], "status = 'pending'", "deliveries_due_idx")
    _index("deliveries", ["tenant_id", "finished_at"], "status IN ('failed', 'unknown')", "deliveries_stranded_idx")
    _index("deliveries", ["tenant_id", "channel", "provider_id"], "provider_id IS NOT NULL")


def _columns(kind: sa.types.TypeEngine, *names: str) -> list[sa.Column]:
    return [sa.Column(name, kind, nullable=False) for name in names]


def _index(table: str, columns: list[str], where: str | None = None, name: str | None = None) -> None:
    condition = {} if where is None else {"postgresql_where": sa.text(where)}
    op.create_index(op.f(name or f"{table}_{'_'.join(columns)}_idx"), table, columns, **condition)


def downgrade() -> None:
    for table in ("deliveries", "channel_items", "webhooks", "channel_accounts"):
        op.drop_table(table)
