"""Replies suggest what to say next, and a hotel names the guest's details that its booking links need.

Revision ID: 0022
Revises: 0021
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_COLUMNS = {"replies": "suggestions", "hotels": "link_needs"}


def upgrade() -> None:
    for table, column in _COLUMNS.items():
        kind = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())
        op.add_column(table, sa.Column(column, kind, server_default="[]", nullable=False))


def downgrade() -> None:
    for table, column in _COLUMNS.items():
        op.drop_column(table, column)
