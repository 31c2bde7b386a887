"""What a part of a channel's outbox says if it is no reply, and the answers that it offers.

Revision ID: 0031
Revises: 0030
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("says", "offers"):
        op.add_column("deliveries", sa.Column(name, JSONB(), nullable=True))


def downgrade() -> None:
    # The release before takes every part for one of the reply.
    op.execute("DELETE FROM deliveries WHERE says IS NOT NULL")
    for name in ("offers", "says"):
        op.drop_column("deliveries", name)
