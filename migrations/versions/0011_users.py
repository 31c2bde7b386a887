"""Users, connections, their accounts with outside services, notifications.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_NOW = sa.text("clock_timestamp()")


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("id", "name")),
        sa.Column("email", sa.Text(), nullable=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("timezone", "locale")),
        sa.Column("working_hours", postgresql.JSONB(), nullable=False),
        sa.Column("scopes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("users_tenant_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("users_pkey")),
    )
    op.create_table(
        "connections",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("a_id", "b_id", "status")),
        sa.CheckConstraint('a_id < b_id COLLATE "C"', name=op.f("connections_order_check")),
        *(_of_user("connections", column) for column in ("a_id", "b_id")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("connections_pkey")),
        sa.UniqueConstraint("tenant_id", "a_id", "b_id", name=op.f("connections_tenant_id_a_id_b_id_key")),
    )
    op.create_index(op.f("connections_tenant_id_b_id_idx"), "connections", ["tenant_id", "b_id"])
    op.create_table(
        "accounts",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("user_id", "integration", "status")),
        sa.Column("settings", postgresql.JSONB(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=True),
        sa.Column("key_id", sa.Text(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        _of_user("accounts", "user_id"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("accounts_pkey")),
        sa.UniqueConstraint(
            "tenant_id", "user_id", "integration", name=op.f("accounts_tenant_id_user_id_integration_key")
        ),
    )
    op.create_index(op.f("accounts_key_id_idx"), "accounts", ["key_id"])
    op.create_table(
        "notifications",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("user_id", "kind", "title", "body")),
        sa.Column("about", postgresql.JSONB(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=True) for name in ("resolution", "conversation_id", "resolved_in")),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("notifications_pkey")),
    )
    op.create_index(op.f("notifications_tenant_id_user_id_id_idx"), "notifications", ["tenant_id", "user_id", "id"])


def downgrade() -> None:
    for table in ("notifications", "accounts", "connections", "users"):
        op.drop_table(table)


def _of_user(table: str, column: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant_id", column],
        ["users.tenant_id", "users.id"],
        name=op.f(f"{table}_tenant_id_{column}_fkey"),
        ondelete="CASCADE",
    )
