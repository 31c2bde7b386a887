"""Hotel: the inventory of hotels, and what is taken of it.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "hotels",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("timezone", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("booking_url", sa.Text(), nullable=False),
        sa.Column("longest_stay_nights", sa.Integer(), nullable=False),
        sa.Column("faq", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("hotels_pkey")),
    )
    op.create_table(
        "hotel_room_types",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("hotel_id", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("beds", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("sleeps", sa.Integer(), nullable=False),
        sa.Column("included", sa.Integer(), nullable=False),
        sa.Column("boards", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("amenities", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("rooms", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "hotel_id", "code", name=op.f("hotel_room_types_pkey")),
    )
    op.create_table(
        "hotel_seasons",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("hotel_id", sa.Text(), nullable=False),
        sa.Column("starts", sa.Integer(), nullable=False),
        sa.Column("ends", sa.Integer(), nullable=False),
        sa.Column("season", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "hotel_id", "starts", name=op.f("hotel_seasons_pkey")),
    )
    op.create_table(
        "hotel_rates",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("hotel_id", sa.Text(), nullable=False),
        sa.Column("room_type", sa.Text(), nullable=False),
        sa.Column("season", sa.Text(), nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("rate_code", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("cancellable", sa.Boolean(), nullable=False),
        sa.Column("price", sa.Numeric(12, 2), nullable=False),
        sa.Column("extra_adult", sa.Numeric(12, 2), nullable=False),
        sa.Column("child", sa.Numeric(12, 2), nullable=False),
        sa.PrimaryKeyConstraint(
            "tenant_id", "hotel_id", "room_type", "season", "board", "rate_code", name=op.f("hotel_rates_pkey")
        ),
    )
    op.create_table(
        "hotel_allotments",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("hotel_id", sa.Text(), nullable=False),
        sa.Column("room_type", sa.Text(), nullable=False),
        sa.Column("starts", sa.Integer(), nullable=False),
        sa.Column("ends", sa.Integer(), nullable=False),
        sa.Column("rooms", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "hotel_id", "room_type", "starts", name=op.f("hotel_allotments_pkey")),
    )
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


def downgrade() -> None:
    for table in ("nights", "allotments", "rates", "seasons", "room_types"):
        op.drop_table(f"hotel_{table}")
    op.drop_table("hotels")
