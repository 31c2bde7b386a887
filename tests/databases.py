"""Databases for tests: one of this process that is emptied before each test, and new ones for whatever else runs."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

import psycopg
from psycopg import sql

from turnloom.models.schema.roles import OWNER_ROLE
from turnloom.workers.embedded.servers import EmbeddedServers

_LOCK_TIMEOUT_MS = 500
"""The time that emptying waits for a transaction that begins meanwhile."""
_KEPT = 2
"""How many spent databases are kept. Dropping one whose connections are just closing takes a tenth of a second."""

_WATCH = """
CREATE SCHEMA tests;
CREATE TABLE tests.changes (command text);
GRANT USAGE ON SCHEMA tests TO public;
GRANT INSERT ON tests.changes TO public;
CREATE FUNCTION tests.note() RETURNS event_trigger LANGUAGE plpgsql
AS 'BEGIN INSERT INTO tests.changes VALUES (tg_tag); END';
"""
_NOTE = "CREATE EVENT TRIGGER note ON ddl_command_end EXECUTE FUNCTION tests.note()"
_STATE = """
SELECT (SELECT count(*) FROM tests.changes), (SELECT array_agg(version_num) FROM alembic_version), (
    SELECT count(*) FROM pg_db_role_setting JOIN pg_database ON pg_database.oid = setdatabase
    WHERE datname = current_database()), (
    SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE datname = current_database() AND pid <> pg_backend_pid())"""
"""The schema's changes, its revisions, the database's own settings, and the locks of others: an earlier test's open
transaction would keep a migration waiting."""
_EMPTY = """
CREATE FUNCTION pg_temp.empty() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- Triggers would protect the audit log, and foreign keys demand an order.
    SET LOCAL session_replication_role = replica;
    {}
END $$"""
_EMPTY_TABLE = "IF EXISTS (SELECT FROM {0}) THEN DELETE FROM {0}; END IF;"
_TABLES = """
SELECT nspname, relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relkind = 'r' AND relname NOT LIKE '%alembic_version%'
AND nspname NOT IN ('tests', 'pg_catalog', 'information_schema')"""


class Databases:
    """The databases of one Postgres, made from its migrated template `turnloom`."""

    def __init__(self, servers: EmbeddedServers) -> None:
        assert servers.postgres
        self._url = servers.postgres.url
        self._admin = psycopg.connect(self._url, autocommit=True)
        self._spent: list[str] = []
        self._ours: _Emptied | None = None

    def emptied(self, *, anew: bool) -> str:
        """Return the name of this process's database, which is as it was after the migration.

        It is a new one if that is wanted, or if a test changed the schema of the one before or left a transaction open
        in it.
        """
        if anew or not self._ours or not self._ours.empty():
            self._replace()
        assert self._ours
        return self._ours.name

    @contextmanager
    def new(self) -> Iterator[str]:
        """Make a database, and yield its name."""
        name = self._made()
        yield name
        self._spent.append(name)

    def close(self) -> None:
        """Close the connections."""
        if self._ours:
            self._ours.close()
        self._admin.close()

    def _replace(self) -> None:
        if self._ours:
            self._ours.close()
            self._spent.append(self._ours.name)
        name = self._made()
        self._ours = _Emptied(name, f"{self._url.rpartition('/')[0]}/{name}")

    def _made(self) -> str:
        while len(self._spent) > _KEPT:
            self._admin.execute(f"DROP DATABASE {self._spent.pop(0)} WITH (FORCE)")
        name = f"test_{uuid4().hex}"
        self._admin.execute(f"CREATE DATABASE {name} TEMPLATE turnloom STRATEGY FILE_COPY OWNER {OWNER_ROLE}")
        return name


class _Emptied:
    """A database that its tests leave to the next one."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self._admin = psycopg.connect(url, autocommit=True)
        tables = [sql.Identifier(*each) for each in self._admin.execute(_TABLES)]
        self._admin.execute(sql.SQL(_EMPTY).format(sql.SQL("\n").join(sql.SQL(_EMPTY_TABLE).format(t) for t in tables)))
        self._admin.execute(_WATCH)
        self._admin.execute(_NOTE)
        self._state = self._admin.execute(_STATE).fetchone()
        self._admin.execute(f"SET lock_timeout = {_LOCK_TIMEOUT_MS}")

    def empty(self) -> bool:
        """Remove all rows; returns whether the database is now as it was made."""
        with suppress(psycopg.Error):
            if self._admin.execute(_STATE).fetchone() == self._state:
                self._admin.execute("SELECT pg_temp.empty()")
                return True
        return False

    def close(self) -> None:
        """Close the connection."""
        self._admin.close()
