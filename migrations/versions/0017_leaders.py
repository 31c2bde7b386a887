"""The lease of the process that leads recovery.

Revision ID: 0017
Revises: 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "leaders",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("leaders_pkey")),
        postgresql_with={"fillfactor": 70},
    )


def downgrade() -> None:
    op.drop_table("leaders")
