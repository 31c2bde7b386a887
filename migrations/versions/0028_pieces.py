"""The messages of a turn, so that another one finds its place among them.

Revision ID: 0028
Revises: 0027
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "turns", sa.Column("pieces", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True)
    )


def downgrade() -> None:
    op.drop_column("turns", "pieces")
