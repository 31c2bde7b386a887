"""Signed heads of the audit log, and the records of what was erased before there were any.

Revision ID: 0019
Revises: 0017
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0019"
down_revision = "0017"
branch_labels = None
depends_on = None

# Contents are missing only before a record of the erasure. The formula of the hash is that of models/ledger/audit.py.
_RECORD_ERASURES = """
    WITH locked AS MATERIALIZED (
      SELECT * FROM conversations WHERE erased_at IS NOT NULL FOR NO KEY UPDATE
    ), erased AS MATERIALIZED (
      SELECT c.tenant_id, c.id, c.audit_seq + 1 AS seq, c.audit_hash AS before, clock_timestamp() AS at,
             jsonb_build_object('through', bare.seq) AS content
        FROM locked c
       CROSS JOIN LATERAL (
         SELECT max(a.seq) AS seq FROM audit a
          WHERE a.tenant_id = c.tenant_id AND a.conversation_id = c.id AND a.content IS NULL
       ) bare
       WHERE bare.seq > (
         SELECT coalesce(max((a.content ->> 'through')::int), 0) FROM audit a
          WHERE a.tenant_id = c.tenant_id AND a.conversation_id = c.id AND a.kind = 'conversation.erased'
       )
    ), digested AS MATERIALIZED (
      SELECT *, sha256(convert_to(content::text, 'UTF8')) AS digest FROM erased
    ), stored AS (
      INSERT INTO audit (tenant_id, conversation_id, seq, kind, content, digest, hash, at)
      SELECT tenant_id, id, seq, 'conversation.erased', content, digest,
             sha256(convert_to(concat_ws('|', tenant_id, id, seq, 'conversation.erased',
               to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
               encode(digest, 'hex'), encode(before, 'hex')), 'UTF8')), at
        FROM digested
      RETURNING tenant_id, conversation_id, seq, hash
    )
    UPDATE conversations c SET audit_seq = s.seq, audit_hash = s.hash
      FROM stored s WHERE c.tenant_id = s.tenant_id AND c.id = s.conversation_id
"""


def upgrade() -> None:
    op.create_table(
        "audit_heads",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("conversations", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("seqs", postgresql.ARRAY(sa.Integer()), nullable=False),
        sa.Column("hashes", postgresql.ARRAY(sa.LargeBinary()), nullable=False),
        sa.Column("signature", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "number", name=op.f("audit_heads_pkey")),
    )
    op.create_index(op.f("audit_heads_at_idx"), "audit_heads", ["at"], unique=False)
    op.execute(_RECORD_ERASURES)
    # Nobody waits while it is made.
    with op.get_context().autocommit_block():
        op.create_index(
            op.f("audit_at_idx"),
            "audit",
            ["at"],
            unique=False,
            postgresql_using="brin",
            postgresql_concurrently=True,
            if_not_exists=True,
        )


def downgrade() -> None:
    op.drop_index(op.f("audit_at_idx"), table_name="audit", postgresql_using="brin")
    op.drop_index(op.f("audit_heads_at_idx"), table_name="audit_heads")
    op.drop_table("audit_heads")
