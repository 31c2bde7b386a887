"""The end of each tenant's own audit chain.

Revision ID: 0037
Revises: 0034
"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0034"
branch_labels = None
depends_on = None

# Their chains would have no end to verify against.
_REMOVE_RECORDS = "DELETE FROM audit WHERE conversation_id = ''"


def upgrade() -> None:
    op.add_column("tenants", sa.Column("audit_seq", sa.Integer(), server_default="0", nullable=False))
    op.add_column("tenants", sa.Column("audit_hash", sa.LargeBinary(), server_default="", nullable=False))


def downgrade() -> None:
    op.execute(_REMOVE_RECORDS)
    op.drop_column("tenants", "audit_hash")
    op.drop_column("tenants", "audit_seq")
