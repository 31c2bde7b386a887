"""Row-level security: what each role sees of each table."""

from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from turnloom.models.errors import Misconfigured
from turnloom.models.runtime.settings import settings
from turnloom.models.schema import functions, policies
from turnloom.models.schema.migration import downgrade, upgrade
from turnloom.models.schema.policies import WITHOUT_TENANT, unprotected
from turnloom.workers.embedded.servers import EmbeddedServers

A, B = uuid4(), uuid4()

_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
_COLUMNS = """
    SELECT attname, format_type(atttypid, atttypmod), attnum FROM pg_attribute
     WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attnotnull AND NOT atthasdef
"""
_VALUES = {
    "uuid": "gen_random_uuid()",
    "text": "'{name}'",
    "jsonb": "'{{}}'",
    "bytea": "uuid_send(gen_random_uuid())",
    "boolean": "true",
    "timestamp with time zone": "now() + make_interval(days => {number})",
    "tsvector": "''",
    "date": "current_date + {number}",
}
"""SQL for a value of each type, by the column's name and number; of other types 1, of arrays an empty one."""


@pytest.fixture
def owner_url(database: str) -> str:
    url = settings().owner_database_url
    assert url is not None
    return url


@pytest.fixture
def filled(servers: EmbeddedServers, database: str) -> str:
    """Put a row of each of two tenants into every table that has tenants. Returns the application's URL."""
    assert servers.postgres
    url = f"{servers.postgres.url.rpartition('/')[0]}/{database.rpartition('/')[2]}"
    with psycopg.connect(url, autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")  # no foreign keys
        for table in _tables(superuser):
            for tenant_id in (A, B):
                _insert(superuser, table, tenant_id)
    return database


def _tables(db: psycopg.Connection) -> list[str]:
    """Return the tables whose rows belong to tenants."""
    return [table for (table,) in db.execute(_TABLES) if table not in WITHOUT_TENANT]


def _column(table: str) -> str:
    return "id" if table == "tenants" else "tenant_id"


def _insert(db: psycopg.Connection, table: str, tenant_id: UUID) -> None:
    values = {
        name: f"'{{}}'::{kind}" if kind.endswith("[]") else _VALUES.get(kind, "1").format(name=name, number=number)
        for name, kind, number in db.execute(_COLUMNS, (table,))
    }
    if "name" in values and table in ("tenants", "channel_accounts"):
        values["name"] = f"'{tenant_id}'"
    values[_column(table)] = f"'{tenant_id}'"
    form = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(values.values())})"
    db.execute(form.encode())


def _counts(db: psycopg.Connection) -> dict[str, int]:
    """Return how many rows of each table this role sees."""
    query = sql.SQL("SELECT count(*) FROM {}")
    return {table: db.execute(query.format(sql.Identifier(table))).fetchone()[0] for table in _tables(db)}  # type: ignore[index]


def _as_tenants(url: str, *tenants: UUID) -> psycopg.Connection:
    db = psycopg.connect(url, autocommit=True)
    db.execute("SET ROLE turnloom_tenant")
    if tenants:
        db.execute(f"SET turnloom.tenants = '{{{','.join(map(str, tenants))}}}'".encode())
    return db


def test_every_table_of_tenants_has_its_policies(owner_url: str) -> None:
    """A new table is covered as soon as it has the column `tenant_id`. Without that column it has to be named here."""
    with psycopg.connect(owner_url) as db:
        tables = {table for (table,) in db.execute(_TABLES)}
        secured = {table for (table,) in db.execute("SELECT relname FROM pg_class WHERE relrowsecurity")}
        found = {tuple(row) for row in db.execute("SELECT tablename, policyname FROM pg_policies")}
        lacking = unprotected(db)

    assert secured == tables - WITHOUT_TENANT
    assert found == {(table, role) for table in secured for role in ("turnloom", "turnloom_tenant")}
    assert lacking == []


def test_without_a_tenant_nothing_is_there(filled: str) -> None:
    """No table shows a row to the tenants' role before a tenant is named, nor after the transaction that named one."""
    with _as_tenants(filled) as db:
        before = _counts(db)
        with db.transaction():
            db.execute("SELECT set_config('turnloom.tenants', %s, true)", (f"{{{A}}}",))
            during = _counts(db)
        after = _counts(db)

    assert len(before) > 30
    assert set(before.values()) == {0}
    assert set(during.values()) == {1}
    assert set(after.values()) == {0}


def test_a_tenant_sees_its_own_rows(filled: str) -> None:
    """Of every table, one tenant sees its row, two tenants see both, and the application sees all."""
    with _as_tenants(filled, A) as one, _as_tenants(filled, A, B) as two, psycopg.connect(filled) as application:
        seen = [set(_counts(each).values()) for each in (one, two, application)]
        own = [
            one.execute(sql.SQL("SELECT {} FROM {}").format(sql.Identifier(_column(table)), sql.Identifier(table)))
            for table in _tables(one)
        ]

    assert seen == [{1}, {2}, {2}]
    assert {row for each in own for row in each} == {(A,)}


def test_a_tenant_cannot_write_into_anothers_rows(filled: str) -> None:
    """Another tenant's rows are neither changed nor removed, and none is added or handed over."""
    forms = ("INSERT INTO {table} ({column}) VALUES ({other})", "UPDATE {table} SET {column} = {other}")
    with _as_tenants(filled, A) as db, psycopg.connect(filled) as application:
        for table in _tables(db):
            names = {"table": sql.Identifier(table), "column": sql.Identifier(_column(table)), "other": sql.Literal(B)}
            for form in forms:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    db.execute(sql.SQL(form).format(**names))
            for form in ("UPDATE {table} SET {column} = {column}", "DELETE FROM {table}"):
                try:
                    assert db.execute(sql.SQL(form).format(**names)).rowcount <= 1, table
                except psycopg.errors.InsufficientPrivilege as error:
                    assert "permission denied" in str(error)  # noqa: PT017 - append-only tables
        left = [
            application.execute(
                sql.SQL("SELECT FROM {table} WHERE {column} = {other}").format(
                    table=sql.Identifier(table), column=sql.Identifier(_column(table)), other=sql.Literal(B)
                )
            ).rowcount
            for table in _tables(application)
        ]

    assert set(left) == {1}


@pytest.mark.parametrize("table", sorted(WITHOUT_TENANT))
def test_tables_without_tenants_are_not_written_for_one(database: str, table: str) -> None:
    """They can be read, to explain what a turn waits for."""
    with _as_tenants(database, A) as db:
        db.execute(sql.SQL("SELECT FROM {}").format(sql.Identifier(table)))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))


@pytest.mark.parametrize(("function", "more"), [("erase_audit", ", NULL, NULL"), ("prune_turns", "")])
def test_functions_with_the_owners_rights_serve_the_named_tenant_only(database: str, function: str, more: str) -> None:
    """Policies do not apply to them: they look at the tenant themselves."""
    schema = sql.Identifier(functions.schema())
    call = sql.SQL("SELECT {}.{}(%s, 'c1'{})").format(schema, sql.Identifier(function), sql.SQL(more))
    with _as_tenants(database, A) as db, pytest.raises(psycopg.errors.InsufficientPrivilege, match="does not serve"):
        db.execute(call, (B,))


def test_a_packs_table_is_covered_by_the_next_migration(owner_url: str) -> None:
    """A table that was added outside of our revisions gets its policies, and a second migration changes nothing."""
    with psycopg.connect(owner_url) as db:
        db.execute("CREATE TABLE distance_stops (tenant_id uuid, place text)")
        lacking = unprotected(db)
    for _ in range(2):
        upgrade(owner_url)

    with psycopg.connect(owner_url) as db:
        assert (lacking, unprotected(db)) == (["distance_stops"], [])


def test_the_form_of_revision_0034_is_replaced(owner_url: str) -> None:
    """It let Postgres choose an index of all of a tenant's rows. Until the migration, it guards as well."""
    with psycopg.connect(owner_url) as db:
        db.execute(
            "ALTER POLICY turnloom_tenant ON turns USING (tenant_id = ANY"
            " ((SELECT nullif(current_setting('turnloom.tenants', true), '')::uuid[])::uuid[]))"
        )
        lacking = unprotected(db)
    upgrade(owner_url)

    with psycopg.connect(owner_url) as db:
        assert (lacking, unprotected(db)) == (["turns"], [])


def test_going_back_takes_the_policies_away(owner_url: str, database: str) -> None:
    """The release before works without them. Going forward makes them again."""
    downgrade(owner_url, "0029")
    with psycopg.connect(owner_url) as db:
        left = db.execute("SELECT count(*) FROM pg_policies").fetchone()
        secured = db.execute("SELECT count(*) FROM pg_class WHERE relrowsecurity").fetchone()
    upgrade(owner_url)

    assert (left, secured) == ((0,), (0,))
    with psycopg.connect(owner_url) as db:
        assert unprotected(db) == []


def test_an_owner_that_may_make_no_role_is_told_what_to_run(owner_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence has the commands for an administrator, and the setting to do without. Nothing is migrated before."""
    monkeypatch.setattr(policies, "TENANT_ROLE", "turnloom_absent")

    with pytest.raises(Misconfigured) as refused:
        upgrade(owner_url)

    assert 'CREATE ROLE turnloom_absent NOLOGIN; GRANT turnloom_absent TO "turnloom"' in str(refused.value)
    assert "TURNLOOM_ROW_SECURITY=0" in str(refused.value)
