"""Keys that expire, and when a key was used last.

Revision ID: 0029
Revises: 0028
"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("expires_at", "last_used_at"):
        op.add_column("keys", sa.Column(name, sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    for name in ("last_used_at", "expires_at"):
        op.drop_column("keys", name)
