"""Conversations in which a person writes in place of the agent.

Revision ID: 0030
Revises: 0029
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("conversations", sa.Column("paused_by", sa.Text(), nullable=True))
    op.create_index(
        "conversations_paused_idx", "conversations", ["tenant_id"], postgresql_where=sa.text("paused_at IS NOT NULL")
    )
    op.add_column("turns", sa.Column("author", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("turns", "author")
    op.drop_index("conversations_paused_idx", table_name="conversations")
    for name in ("paused_by", "paused_at"):
        op.drop_column("conversations", name)
