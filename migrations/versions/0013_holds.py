"""Rooms that a booking link holds, in place of the count of those taken; where a hotel's own system is.

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "hotel_holds",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("hotel_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("check_in", sa.Date(), nullable=False),
        sa.Column("check_out", sa.Date(), nullable=False),
        sa.Column("room_type", sa.Text(), nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("rate_code", sa.Text(), nullable=False),
        sa.Column("price", sa.Numeric(12, 2), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("cancellable", sa.Boolean(), nullable=False),
        sa.Column("free", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "hotel_id", "conversation_id", name=op.f("hotel_holds_pkey")),
    )
    op.add_column("hotels", sa.Column("system", postgresql.JSONB(none_as_null=True, astext_type=sa.Text())))
    op.drop_table("hotel_nights")


def downgrade() -> None:
    op.create_table(
        "hotel_nights",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("hotel_id", sa.Text(), nullable=False),
        sa.Column("room_type", sa.Text(), nullable=False),
        sa.Column("night", sa.Date(), nullable=False),
        sa.Column("held", sa.Integer(), nullable=False),
        sa.CheckConstraint("held >= 0", name=op.f("hotel_nights_held_check")),
        sa.PrimaryKeyConstraint("tenant_id", "hotel_id", "room_type", "night", name=op.f("hotel_nights_pkey")),
        postgresql_with={"fillfactor": 70},
    )
    op.drop_column("hotels", "system")
    op.drop_table("hotel_holds")
