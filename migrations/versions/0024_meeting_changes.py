"""Changes of confirmed meetings.

Revision ID: 0024
Revises: 0023
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "meeting_changes",
        *(sa.Column(name, sa.Uuid(), nullable=False) for name in ("tenant_id", "id", "session_id")),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        *(sa.Column(name, _TIME, nullable=False) for name in ("starts", "ends")),
        *(sa.Column(name, _TIME, nullable=True) for name in ("new_starts", "new_ends")),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("held_until", _TIME, nullable=True),
        sa.Column("created_at", _TIME, server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "session_id"],
            ["meeting_sessions.tenant_id", "meeting_sessions.id"],
            name=op.f("meeting_changes_tenant_id_session_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("meeting_changes_pkey")),
        sa.UniqueConstraint("tenant_id", "key", name=op.f("meeting_changes_tenant_id_key_key")),
        sa.UniqueConstraint(
            "tenant_id", "session_id", "sequence", name=op.f("meeting_changes_tenant_id_session_id_sequence_key")
        ),
    )
    op.create_index(
        "meeting_changes_held_idx",
        "meeting_changes",
        ["held_until"],
        postgresql_where=sa.text("status = 'begun'"),
    )


def downgrade() -> None:
    op.drop_table("meeting_changes")
