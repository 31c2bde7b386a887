"""A turn knows the language model that its caller named.

Revision ID: 0023
Revises: 0022
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("llm", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("turns", "llm")
