"""Parking: steps that are given back until a time has come, or a person has decided.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("steps", sa.Column("parked", sa.Integer(), server_default="0", nullable=False))
    op.add_column("steps", sa.Column("lapses_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column(
        "steps", sa.Column("approval", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True)
    )
    op.create_index(
        "steps_waiting_idx", "steps", ["lapses_at"], postgresql_where=sa.text("status = 'waiting_approval'")
    )
    op.add_column("turns", sa.Column("asked", sa.Boolean(), server_default="false", nullable=False))
    op.add_column("turns", sa.Column("waiting_since", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("turns", "waiting_since")
    op.drop_column("turns", "asked")
    op.drop_index("steps_waiting_idx", table_name="steps", postgresql_where=sa.text("status = 'waiting_approval'"))
    op.drop_column("steps", "approval")
    op.drop_column("steps", "lapses_at")
    op.drop_column("steps", "parked")
