"""Cap: at most so many steps of a turn at a time, and steps that repeat another one of their plan.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("max_parallel", sa.Integer(), nullable=True))
    op.add_column("steps", sa.Column("copy_of", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("steps", "copy_of")
    op.drop_column("turns", "max_parallel")
