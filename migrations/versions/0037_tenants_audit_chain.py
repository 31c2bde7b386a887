"""The end of each tenant's own audit chain.

Revision ID: 0037
Revises: 0034
"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

# Going back removes no record, so there may be some when it goes forward again.
_GO_ON = """
    UPDATE tenants t SET audit_seq = a.seq, audit_hash = a.hash
      FROM (SELECT DISTINCT ON (tenant_id) tenant_id, seq, hash FROM audit
             WHERE conversation_id = '' ORDER BY tenant_id, seq DESC) a
     WHERE t.id = a.tenant_id
"""


def upgrade() -> None:
    op.add_column("tenants", sa.Column("audit_seq", sa.Integer(), server_default="0", nullable=False))
    op.add_column("tenants", sa.Column("audit_hash", sa.LargeBinary(), server_default="", nullable=False))
    op.execute(_GO_ON)


def downgrade() -> None:
    op.drop_column("tenants", "audit_hash")
    op.drop_column("tenants", "audit_seq")
