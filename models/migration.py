"""Bring a database up to date: the roles, the revisions of migrations/, the functions of the hot path, the grants.

The application's role owns nothing and is no superuser, so that row-level security can be switched on; and it may not
change the audit log, but by the function that erases contents and records that it did.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import create_engine, make_url
from sqlalchemy.exc import DBAPIError

from models import functions
from models.database import CONNECT_TIMEOUT_S, driver_url
from models.errors import Conflict, Misconfigured, Unavailable
from models.sessions import session_settings
from models.settings import ROOT
from models.tables import Row

OWNER_ROLE = "turnloom_owner"
APPLICATION_ROLE = "turnloom"

_GRANTS = """
    GRANT USAGE ON SCHEMA public, {functions} TO {role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
    REVOKE UPDATE, DELETE ON audit, audit_heads, overrides FROM {role};
    REVOKE DELETE ON conversations, turns, tenants FROM {role};
    REVOKE INSERT, UPDATE, DELETE ON alembic_version FROM {role};
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {functions} TO {role};
"""


def provision(superuser_url: str, *, database: str, owner_password: str, application_password: str) -> tuple[str, str]:
    """Make the two roles and the database where they are missing; return (owner's URL, application's URL).

    Raises:
        Unavailable: Postgres does not answer, or has no space left.
    """
    with _faults(), psycopg.connect(superuser_url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S) as connection:
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
    """Upgrade to the newest revision, install the functions and grant what the application needs. May run again.

    Raises:
        Conflict: a newer version has migrated the database, and has dropped this version's functions.
        Misconfigured: the role of this URL may not change the tables.
        Unavailable: Postgres does not answer, or has no space left.
    """
    with _faults():
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
    """Let each new session of the application's role begin with its settings, which a pooler lets no client name."""
    with _faults(), psycopg.connect(application_url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        row = connection.execute("SELECT current_database()").fetchone()
        assert row is not None
        for name, value in session_settings().items():
            names = {"database": sql.Identifier(row[0]), "name": sql.Identifier(name), "value": sql.Literal(value)}
            connection.execute(
                sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {database} SET {name} = {value}").format(**names)
            )


@contextmanager
def _faults() -> Iterator[None]:
    """Say in one sentence what an operator can mend."""
    try:
        yield
    except (DBAPIError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        said = str(cause).strip().split("\n", 1)[0]
        if isinstance(cause, psycopg.errors.InsufficientPrivilege):
            owner = "let TURNLOOM_OWNER_DATABASE_URL name the role that owns the tables"
            raise Misconfigured(f"this role of Postgres may not migrate: {said}; {owner}") from error
        if isinstance(cause, psycopg.OperationalError):
            raise Unavailable(f"Postgres cannot be used: {said}", code="database_unavailable") from error
        raise


def downgrade(owner_url: str, revision: str) -> None:
    """Go back to a revision, `-1` for one step, `base` for an empty database."""
    with psycopg.connect(owner_url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        functions.drop(connection, functions.installed(connection))
    command.downgrade(_config(owner_url), revision)


def pending(url: str) -> str | None:
    """Return what keeps this database from being up to date, in words; None where nothing does.

    A revision that this version does not know is a newer version's, which lets the one before go on.
    """
    current, known, head = _revisions(url)
    if current == head or current not in known:
        return None
    return f"the database is at revision {current}, this version needs {head}"


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


def _is_ahead(url: str) -> bool:
    """Return whether a newer version has migrated this database and has left this version's functions there."""
    current, known, _ = _revisions(url)
    if current in known:
        return False
    with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        if functions.schema() in functions.installed(connection):
            return True
    raise Conflict(f"the database is at revision {current} of a newer version, which this one cannot work with")


def _revisions(url: str) -> tuple[str | None, set[str | None], str | None]:
    """Return the database's revision, those that this version knows (an empty database has None), and its newest."""
    script = ScriptDirectory.from_config(_config(url))
    engine = create_engine(driver_url(url), connect_args={"connect_timeout": CONNECT_TIMEOUT_S})
    try:
        with engine.connect() as connection:
            current = MigrationContext.configure(connection).get_current_revision()
    finally:
        engine.dispose()
    return current, {None, *(each.revision for each in script.walk_revisions())}, script.get_current_head()


def _config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(ROOT / "migrations"))
    config.attributes["url"] = driver_url(url)
    return config
