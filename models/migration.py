"""Bring a database up to date: the roles, the revisions of migrations/, the functions of the hot path, the grants.

The application's role owns nothing and is no superuser, so that row-level security can be switched on; and it may not
change the audit log, but for erasing content.
"""

from pathlib import Path

import psycopg
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import create_engine, make_url

from models.database import CONNECT_TIMEOUT_S, driver_url
from models.settings import ROOT
from models.tables import Row

OWNER_ROLE = "turnloom_owner"
APPLICATION_ROLE = "turnloom"

_FUNCTIONS = Path(__file__).parent / "ledger" / "hot"

_GRANTS = """
    GRANT USAGE ON SCHEMA public, hot TO {role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
    REVOKE UPDATE, DELETE ON audit, overrides FROM {role};
    REVOKE INSERT, UPDATE, DELETE ON alembic_version FROM {role};
    GRANT UPDATE (content) ON audit TO {role};
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA hot TO {role};
"""


def provision(
    superuser_url: str, *, database: str, owner_password: str, application_password: str
) -> tuple[str, str]:
    """Make the two roles and the database where they are missing; return (owner's URL, application's URL)."""
    with psycopg.connect(superuser_url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        for role, password in ((OWNER_ROLE, owner_password), (APPLICATION_ROLE, application_password)):
            exists = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
            verb = "ALTER" if exists else "CREATE"
            statement = sql.SQL(verb + " ROLE {} LOGIN NOSUPERUSER PASSWORD {}")
            connection.execute(statement.format(sql.Identifier(role), sql.Literal(password)))
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchone():
            statement = sql.SQL("CREATE DATABASE {} OWNER {}")
            connection.execute(statement.format(sql.Identifier(database), sql.Identifier(OWNER_ROLE)))
    base = make_url(superuser_url).set(database=database)
    owner = base.set(username=OWNER_ROLE, password=owner_password)
    application = base.set(username=APPLICATION_ROLE, password=application_password)
    return owner.render_as_string(hide_password=False), application.render_as_string(hide_password=False)


def upgrade(owner_url: str, application_role: str = APPLICATION_ROLE) -> None:
    """Upgrade to the newest revision, install the functions and grant what the application needs. May run again."""
    command.upgrade(_config(owner_url), "head")
    with psycopg.connect(owner_url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        # One at a time: two migrating processes would drop each other's functions.
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('turnloom.migration'))")
        for part in sorted(_FUNCTIONS.glob("*.sql")):
            connection.execute(part.read_bytes())
        if application_role != make_url(owner_url).username:
            connection.execute(sql.SQL(_GRANTS).format(role=sql.Identifier(application_role)))


def downgrade(owner_url: str, revision: str) -> None:
    """Go back to a revision, `-1` for one step, `base` for an empty database."""
    with psycopg.connect(owner_url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        connection.execute("DROP SCHEMA IF EXISTS hot CASCADE")
    command.downgrade(_config(owner_url), revision)


def pending(url: str) -> str | None:
    """Return what keeps this database from being up to date, in words; None where nothing does."""
    head = ScriptDirectory.from_config(_config(url)).get_current_head()
    engine = create_engine(driver_url(url), connect_args={"connect_timeout": CONNECT_TIMEOUT_S})
    try:
        with engine.connect() as connection:
            current = MigrationContext.configure(connection).get_current_revision()
    finally:
        engine.dispose()
    return None if current == head else f"the database is at revision {current}, this version needs {head}"


def differences(owner_url: str) -> list[object]:
    """Return what the migrated database and models/tables/ do not agree in."""
    engine = create_engine(driver_url(owner_url))
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_server_default": True})
            return list(compare_metadata(context, Row.metadata))
    finally:
        engine.dispose()


def role_rights(url: str) -> tuple[bool, bool]:
    """Return whether the role of this URL is a superuser, and whether it owns tables of ours."""
    with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        row = connection.execute(
            "SELECT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),"
            " EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = 'public' AND tableowner = current_user)"
        ).fetchone()
        assert row is not None
        return bool(row[0]), bool(row[1])


def _config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(ROOT / "migrations"))
    config.attributes["url"] = driver_url(url)
    return config
