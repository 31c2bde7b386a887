"""Row-level security.

`turnloom migrate` makes the policies after the last revision, because they name the application's role and belong to
packs' tables, too (models/schema/policies.py). This revision takes them away again.

Revision ID: 0034
Revises: 0033
"""

from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

# Other databases of the server may use the role: it stays, without rights here.
_REMOVE = """
DO $$
DECLARE
  r record;
BEGIN
  FOR r IN SELECT tablename, policyname FROM pg_policies p
            WHERE schemaname = 'public' AND EXISTS (
              SELECT FROM pg_policies o WHERE o.schemaname = 'public' AND o.tablename = p.tablename
                                          AND o.policyname = 'turnloom_tenant')
  LOOP
    EXECUTE format('DROP POLICY %I ON %I', r.policyname, r.tablename);
    EXECUTE format('ALTER TABLE %I DISABLE ROW LEVEL SECURITY', r.tablename);
  END LOOP;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'turnloom_tenant') THEN
    REVOKE ALL ON ALL TABLES IN SCHEMA public FROM turnloom_tenant;
    REVOKE ALL ON SCHEMA public FROM turnloom_tenant;
  END IF;
END $$
"""


def upgrade() -> None:
    pass


def downgrade() -> None:
    op.execute(_REMOVE)
