"""Migration brings a database up to date: the revisions of migrations/, the functions of the hot path, the grants.

The application's role may change the audit log only through the function that erases contents and records that it did.
"""

import psycopg
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from psycopg import sql
from sqlalchemy import create_engine, make_url

from turnloom.models.connections.database import CONNECT_TIMEOUT_S, driver_url
from turnloom.models.connections.sessions import session_settings
from turnloom.models.errors import Conflict
from turnloom.models.runtime.settings import ROOT
from turnloom.models.schema import functions, revisions
from turnloom.models.schema.roles import APPLICATION_ROLE, postgres_faults
from turnloom.models.tables import Row

_GRANTS = """
    GRANT USAGE ON SCHEMA public, {functions} TO {role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
    REVOKE UPDATE, DELETE ON audit, audit_heads, overrides FROM {role};
    REVOKE DELETE ON conversations, turns, tenants FROM {role};
    REVOKE INSERT, UPDATE, DELETE ON alembic_version FROM {role};
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {functions} TO {role};
"""


def upgrade(owner_url: str, application_role: str = APPLICATION_ROLE) -> None:
    """Upgrade to the newest revision, install the functions and grant the application's rights. May run again.

    Raises:
        Conflict: a newer version has migrated the database, and has dropped this version's functions.
        Misconfigured: the role of this URL may not change the tables.
        Unavailable: Postgres does not answer, or has no space left.
    """
    with postgres_faults():
        if not _is_ahead(owner_url):
            _upgrade(owner_url, application_role)


def _upgrade(owner_url: str, application_role: str) -> None:
    command.upgrade(_config(owner_url), "head")
    with psycopg.connect(owner_url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        # One at a time: two migrating processes would create the same functions.
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('turnloom.migration'))")
        functions.install(connection)
        if application_role != make_url(owner_url).username:
            names = {"role": sql.Identifier(application_role), "functions": sql.Identifier(functions.schema())}
            connection.execute(sql.SQL(_GRANTS).format(**names))


def set_defaults(application_url: str) -> None:
    """Set our session settings as defaults of the application's role: behind a pooler no client may set them."""
    with postgres_faults(), psycopg.connect(application_url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        row = connection.execute("SELECT current_database()").fetchone()
        assert row is not None
        for name, value in session_settings().items():
            names = {"database": sql.Identifier(row[0]), "name": sql.Identifier(name), "value": sql.Literal(value)}
            connection.execute(
                sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {database} SET {name} = {value}").format(**names)
            )


def downgrade(owner_url: str, revision: str) -> None:
    """Go back to a revision, `-1` for one step, `base` for an empty database."""
    with psycopg.connect(owner_url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        functions.drop(connection, functions.installed(connection))
    command.downgrade(_config(owner_url), revision)


def differences(owner_url: str) -> list[object]:
    """Return the differences between the migrated database and the tables that modules loaded so far declare."""
    engine = create_engine(driver_url(owner_url))
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_server_default": True})
            return list(compare_metadata(context, Row.metadata))
    finally:
        engine.dispose()


def _is_ahead(url: str) -> bool:
    """Return whether a newer version has migrated this database and has left this version's functions there."""
    current = revisions.current(url)
    if not revisions.is_newer(current):
        return False
    with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        if functions.schema() in functions.installed(connection):
            return True
    raise Conflict(f"the database is at revision {current}, too new for this version: run the newer version")


def _config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(ROOT / "migrations"))
    config.attributes["url"] = driver_url(url)
    return config
