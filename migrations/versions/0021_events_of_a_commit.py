"""The events of a commit are one row, with the last of them in its columns. The rows that there are stay as they are.

The release before writes and reads one row for each event: for its processes a view has the old name of the table. A
revision of a later release drops the view.

Revision ID: 0021
Revises: 0019
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0021"
down_revision = "0019"
branch_labels = None
depends_on = None

_EVENTS = """
    SELECT w.turn_id, (w.seq - jsonb_array_length(w.earlier) - 1 + e.n)::int AS seq, w.tenant_id,
           e.event ->> 'type' AS type, coalesce(e.event -> 'data', '{}') AS data, w.at
      FROM turn_events w
     CROSS JOIN LATERAL jsonb_array_elements(w.earlier || jsonb_build_object('type', w.type, 'data', w.data))
       WITH ORDINALITY AS e (event, n)
"""
_INSERT = """
    CREATE RULE append AS ON INSERT TO events DO INSTEAD
    INSERT INTO turn_events (turn_id, seq, tenant_id, type, data, at)
    VALUES (new.turn_id, new.seq, new.tenant_id, new.type, new.data, new.at)
"""
# The only change that there is of events.
_ERASE = """
    CREATE RULE erase AS ON UPDATE TO events DO INSTEAD
    UPDATE turn_events w
       SET data = new.data,
           earlier = (SELECT coalesce(jsonb_agg(e - 'data'), '[]') FROM jsonb_array_elements(w.earlier) AS e)
     WHERE w.turn_id = old.turn_id
"""
# At once, because the processes of the release before do not wait for the grants at the end of the migration.
_GRANTS = """
    DO $$
    DECLARE
      granted record;
    BEGIN
      FOR granted IN SELECT a.grantee::regrole AS role, a.privilege_type AS privilege
                       FROM pg_class c, aclexplode(c.relacl) a
                      WHERE c.oid = 'turn_events'::regclass AND a.grantee NOT IN (0, c.relowner)
      LOOP
        EXECUTE format('GRANT %s ON events TO %s', granted.privilege, granted.role);
      END LOOP;
    END $$
"""


def upgrade() -> None:
    op.rename_table("events", "turn_events")
    op.execute("ALTER INDEX events_pkey RENAME TO turn_events_pkey")
    op.add_column(
        "turn_events",
        sa.Column(
            "earlier", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), server_default="[]", nullable=False
        ),
    )
    op.execute(f"CREATE VIEW events WITH (security_invoker = true) AS {_EVENTS}")
    for statement in (_INSERT, _ERASE, _GRANTS):
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP VIEW events")
    op.execute(f"""
        INSERT INTO turn_events (turn_id, seq, tenant_id, type, data, at)
        {_EVENTS} WHERE e.n <= jsonb_array_length(w.earlier)
    """)
    op.drop_column("turn_events", "earlier")
    op.execute("ALTER INDEX turn_events_pkey RENAME TO events_pkey")
    op.rename_table("turn_events", "events")
