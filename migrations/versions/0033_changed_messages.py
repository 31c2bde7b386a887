"""By which id a later edit or deletion names a message of a channel.

Revision ID: 0033
Revises: 0032
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

_INDEX = "channel_items_tenant_id_channel_reference_idx"


def upgrade() -> None:
    op.add_column("channel_items", sa.Column("reference", sa.Text(), nullable=True))
    condition = sa.text("reference IS NOT NULL")
    op.create_index(op.f(_INDEX), "channel_items", ["tenant_id", "channel", "reference"], postgresql_where=condition)


def downgrade() -> None:
    op.drop_index(op.f(_INDEX), "channel_items")
    op.drop_column("channel_items", "reference")
