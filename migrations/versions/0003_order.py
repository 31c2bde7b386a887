"""Order: turns that are held until they are due or their tenant's window has room, and the sender's order of messages.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_IN_BACKLOG = sa.text("status IN ('queued', 'planning', 'running', 'responding')")
_IS_WAITING = sa.text("sent_at IS NULL AND ending IS NULL")
_IS_HELD = sa.text("sent_at IS NULL AND ending IS NULL AND due_at IS NOT NULL")


def upgrade() -> None:
    op.add_column("conversations", sa.Column("last_sequence", sa.BigInteger(), server_default="0", nullable=False))
    for name in ("sequence", "last_sequence"):
        op.add_column("turns", sa.Column(name, sa.BigInteger(), nullable=True))
    for name in ("settles_at", "awaits_until", "due_at"):
        op.add_column("turns", sa.Column(name, sa.DateTime(timezone=True), nullable=True))
    op.drop_index("turns_backlog_idx", table_name="turns", postgresql_where=_IN_BACKLOG)
    op.create_index("turns_backlog_idx", "turns", ["status", "tenant_id", "sent_at"], postgresql_where=_IN_BACKLOG)
    op.create_index(
        "turns_waiting_idx",
        "turns",
        ["tenant_id", "conversation_id", sa.literal_column("sequence NULLS FIRST"), "seq"],
        postgresql_where=_IS_WAITING,
    )
    op.create_index("turns_held_idx", "turns", ["tenant_id", "due_at"], postgresql_where=_IS_HELD)


def downgrade() -> None:
    op.drop_index("turns_held_idx", table_name="turns", postgresql_where=_IS_HELD)
    op.drop_index("turns_waiting_idx", table_name="turns", postgresql_where=_IS_WAITING)
    op.drop_index("turns_backlog_idx", table_name="turns", postgresql_where=_IN_BACKLOG)
    op.create_index("turns_backlog_idx", "turns", ["status", "tenant_id"], postgresql_where=_IN_BACKLOG)
    for name in ("due_at", "awaits_until", "settles_at", "last_sequence", "sequence"):
        op.drop_column("turns", name)
    op.drop_column("conversations", "last_sequence")
