"""The database has three roles: the owner's migrates it, the application's works with it, and one serves tenants.

The application's role owns nothing and is not a superuser, so that it is subject to row-level security. It takes the
tenants' role, which nobody logs in as, for what it does on behalf of tenants.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from turnloom.models.connections.database import CONNECT_TIMEOUT_S
from turnloom.models.errors import Misconfigured, Unavailable
from turnloom.models.schema import policies

OWNER_ROLE = "turnloom_owner"
APPLICATION_ROLE = "turnloom"
_ROUNDS_SINCE = 160_000
"""The version of Postgres that has the setting `scram_iterations`."""


def provision(superuser_url: str, *, database: str, owner_password: str, application_password: str) -> tuple[str, str]:
    """Create the roles and the database if they are missing; return (owner's URL, application's URL).

    The passwords must be long and random.

    Raises:
        Unavailable: Postgres does not answer, or has no space left.
    """
    with (
        postgres_faults(),
        psycopg.connect(superuser_url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S) as connection,
    ):
        if connection.info.server_version >= _ROUNDS_SINCE:
            # Further rounds of hashing slow down each connection, and only weak passwords need them.
            connection.execute("SET scram_iterations = 1")
        for role, password in ((OWNER_ROLE, owner_password), (APPLICATION_ROLE, application_password)):
            exists = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
            verb = "ALTER" if exists else "CREATE"
            statement = sql.SQL(verb + " ROLE {} LOGIN NOSUPERUSER PASSWORD {}")
            connection.execute(statement.format(sql.Identifier(role), sql.Literal(password)))
        policies.ensure_role(connection, APPLICATION_ROLE)
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchone():
            statement = sql.SQL("CREATE DATABASE {} OWNER {}")
            connection.execute(statement.format(sql.Identifier(database), sql.Identifier(OWNER_ROLE)))
    base = make_url(superuser_url).set(database=database)
    owner = base.set(username=OWNER_ROLE, password=owner_password)
    application = base.set(username=APPLICATION_ROLE, password=application_password)
    return owner.render_as_string(hide_password=False), application.render_as_string(hide_password=False)


def role_rights(url: str) -> tuple[bool, bool]:
    """Return whether the role of this URL is a superuser, and whether it owns tables of ours."""
    with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        row = connection.execute(
            "SELECT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),"
            " EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = 'public' AND tableowner = current_user)"
        ).fetchone()
        assert row is not None
        return bool(row[0]), bool(row[1])


@contextmanager
def postgres_faults() -> Iterator[None]:
    """Turn errors that an operator can mend into a sentence that says how."""
    try:
        yield
    except (DBAPIError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        said = str(cause).strip().split("\n", 1)[0]
        if isinstance(cause, psycopg.errors.InsufficientPrivilege):
            owner = "set TURNLOOM_OWNER_DATABASE_URL to the role that owns the tables"
            raise Misconfigured(f"this Postgres role may not migrate: {said}; {owner}") from error
        if isinstance(cause, psycopg.OperationalError):
            raise Unavailable(f"Postgres cannot be used: {said}", code="database_unavailable") from error
        raise
