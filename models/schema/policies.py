"""Row-level security in the schema: the role of transactions that serve tenants, and the policies of the tables.

Every table with the column `tenant_id`, packs' tables too, gets two policies, each named like its role: the application
sees all rows, the tenants' role those of the tenants that its transaction names. No policy applies to the owner.
"""

from typing import LiteralString

import psycopg
from psycopg import sql

from turnloom.models.connections.database import CONNECT_TIMEOUT_S
from turnloom.models.connections.row_security import TENANT_ROLE, TENANTS
from turnloom.models.errors import Misconfigured

WITHOUT_TENANT = frozenset({"alembic_version", "leaders", "workers"})
"""Our tables whose rows belong to no tenant. They tell of processes and of the schema."""

_RIGHT = "CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END"
_MAY_TAKE = f"SELECT pg_has_role(%s, %s, {_RIGHT})"
MAY_SERVE = (
    f"SELECT pg_has_role(oid, {_RIGHT}) AND has_table_privilege(oid, 'turns', 'INSERT')"  # noqa: S608 - our own text
    " FROM pg_roles WHERE rolname = :role"
)
"""Whether the application may take the tenants' role, and whether that one can write turns."""

_TABLES = """
    SELECT c.relname::text, a.attname::text,
           array(SELECT polname::text FROM pg_policy WHERE polrelid = c.oid AND c.relrowsecurity
                    AND pg_get_expr(polqual, polrelid) !~ 'ANY')
      FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
                         AND a.attname = CASE c.relname WHEN 'tenants' THEN 'id' ELSE 'tenant_id' END
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
     ORDER BY c.relname
"""
"""The tables with a tenant's rows, their column that names it, and their policies, save those of revision 0034."""
# The condition must be none that an index could serve, such as `= ANY`, which revision 0034 had: where the query names
# the tenant itself, Postgres would rather take an index of all of the tenant's rows than the one made for the query.
# To look for the id in the text costs a row least, too. The text is null or empty where no tenant was named.
_OF_TENANTS = f"""
    ALTER TABLE {{table}} ENABLE ROW LEVEL SECURITY;
    DROP POLICY IF EXISTS {{role}} ON {{table}};
    CREATE POLICY {{role}} ON {{table}} TO {{role}}
     USING (strpos(current_setting('{TENANTS}', true), {{column}}::text) > 0)
"""
_OF_ALL = "CREATE POLICY {role} ON {table} TO {role} USING (true)"


def ensure_role(owner: psycopg.Connection, application_role: str) -> None:
    """Make the tenants' role, which nobody logs in as, and let the application take it.

    Raises:
        Misconfigured: the role of this connection may not.
    """
    taker, tenants = sql.Identifier(application_role), sql.Identifier(TENANT_ROLE)
    try:
        if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (TENANT_ROLE,)).fetchone():
            owner.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(tenants))
        if owner.execute(_MAY_TAKE, (application_role, TENANT_ROLE)).fetchone() != (True,):
            owner.execute(sql.SQL("GRANT {} TO {}").format(tenants, taker))
    except psycopg.errors.InsufficientPrivilege as error:
        raise Misconfigured(
            f"row-level security needs the role {TENANT_ROLE}, which this Postgres role may not make: let an"
            f' administrator run `CREATE ROLE {TENANT_ROLE} NOLOGIN; GRANT {TENANT_ROLE} TO "{application_role}"` if it'
            " is not there, then migrate again; or set TURNLOOM_ROW_SECURITY=0 everywhere"
        ) from error


def install(owner_url: str, application_role: str) -> None:
    """Give each table the policies that it lacks. Each table is locked by itself, for a moment."""
    with psycopg.connect(owner_url, connect_timeout=CONNECT_TIMEOUT_S, autocommit=True) as owner:
        for table, column, present in owner.execute(_TABLES).fetchall():
            wanted = {TENANT_ROLE: _OF_TENANTS}
            if application_role != owner.info.user:
                wanted[application_role] = _OF_ALL
            lacking = [_policy(form, table, column, role) for role, form in wanted.items() if role not in present]
            if lacking:
                # Together: with the first policy alone, the application would see nothing.
                owner.execute(sql.SQL("; ").join(lacking))


def unprotected(db: psycopg.Connection) -> list[str]:
    """Return the tables with a tenant's rows that lack the policy of the tenants' role."""
    return [table for table, _, present in db.execute(_TABLES).fetchall() if TENANT_ROLE not in present]


def _policy(form: LiteralString, table: str, column: str, role: str) -> sql.Composed:
    names = {"table": table, "column": column, "role": role}
    return sql.SQL(form).format(**{name: sql.Identifier(value) for name, value in names.items()})
