"""Fairness among the users of a tenant, classes of turns, and limits of a tenant's own.

Revision ID: 0032
Revises: 0031
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

_IS_WAITING = "sent_at IS NULL AND ending IS NULL"
_IN_BACKLOG = "status IN ('queued', 'planning', 'running', 'responding')"


def upgrade() -> None:
    json = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())
    op.add_column("tenants", sa.Column("limits", json, server_default="{}", nullable=False))
    op.add_column("turns", sa.Column("priority", sa.Text(), server_default="interactive", nullable=False))
    op.add_column("turns", sa.Column("line", sa.BigInteger(), nullable=True))
    op.add_column("turns", sa.Column("lined_up_at", sa.DateTime(timezone=True), nullable=True))
    op.drop_index("turns_held_idx", table_name="turns")
    _index("held", ["due_at"], f"{_IS_WAITING} AND due_at IS NOT NULL AND line IS NULL")
    _index("line", ["tenant_id", "priority", "lined_up_at"], f"{_IS_WAITING} AND lined_up_at IS NOT NULL")
    _index("behind", ["line", "due_at"], f"{_IS_WAITING} AND line IS NOT NULL AND lined_up_at IS NULL")
    _index("taken", ["line"], f"{_IN_BACKLOG} AND lined_up_at IS NOT NULL")


def downgrade() -> None:
    for name in ("taken", "behind", "line", "held"):
        op.drop_index(f"turns_{name}_idx", table_name="turns")
    _index("held", ["tenant_id", "due_at"], f"{_IS_WAITING} AND due_at IS NOT NULL")
    for column in ("lined_up_at", "line", "priority"):
        op.drop_column("turns", column)
    op.drop_column("tenants", "limits")


def _index(name: str, columns: list[str], condition: str) -> None:
    op.create_index(f"turns_{name}_idx", "turns", columns, postgresql_where=sa.text(condition))
