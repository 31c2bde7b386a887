"""Transcripts of clients that keep the conversation themselves, manners, and feedback.

Revision ID: 0027
Revises: 0026
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    json = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())
    op.add_column("conversations", sa.Column("past", json, server_default="[]", nullable=False))
    op.add_column("turns", sa.Column("manner", json, nullable=True))
    op.add_column("turns", sa.Column("transcript_digest", sa.LargeBinary(), nullable=True))
    op.create_index(
        "turns_transcript_idx",
        "turns",
        ["tenant_id", "transcript_digest", "created_at"],
        postgresql_where=sa.text("transcript_digest IS NOT NULL"),
    )
    op.create_table(
        "feedback",
        *(sa.Column(name, sa.Uuid(), nullable=False) for name in ("tenant_id", "turn_id")),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("user_id", "rating")),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "turn_id", "user_id", name=op.f("feedback_pkey")),
    )


def downgrade() -> None:
    op.drop_table("feedback")
    op.drop_index("turns_transcript_idx", table_name="turns")
    op.drop_column("turns", "transcript_digest")
    op.drop_column("turns", "manner")
    op.drop_column("conversations", "past")
