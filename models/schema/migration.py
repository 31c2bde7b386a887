"""Migration brings a database up to date: the revisions of migrations/ and of packs, functions, policies, the grants.

The application's role may change the audit log only through the function that erases contents and records that it did.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import create_engine

from turnloom.models.connections.database import CONNECT_TIMEOUT_S, driver_url
from turnloom.models.connections.postgres_sessions import session_settings
from turnloom.models.connections.row_security import TENANT_ROLE
from turnloom.models.errors import Conflict, Misconfigured, NotFound
from turnloom.models.runtime.settings import ROOT, settings
from turnloom.models.schema import functions, policies, revisions
from turnloom.models.schema.revisions import NO_BRANCHES, OURS, Branches
from turnloom.models.schema.roles import APPLICATION_ROLE, postgres_faults
from turnloom.models.tables import Row

_GRANTS = """
    GRANT USAGE ON SCHEMA public, {functions} TO {role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
    REVOKE UPDATE, DELETE ON audit, audit_heads, overrides FROM {role};
    REVOKE DELETE ON conversations, turns, tenants, rollouts FROM {role};
    REVOKE INSERT, UPDATE, DELETE ON alembic_version FROM {role};
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {functions} TO {role};
"""
_TENANTS_GRANTS = _GRANTS + "REVOKE INSERT, UPDATE, DELETE ON leaders, workers FROM {role};"


def upgrade(owner_url: str, application_role: str = APPLICATION_ROLE, branches: Branches = NO_BRANCHES) -> None:
    """Upgrade to the newest revisions, install the functions and grant the application's rights. May run again.

    Raises:
        Conflict: a newer version has migrated the database, and has dropped this version's functions; or it has tables
            of a pack that is not among the branches, or is newer there.
        Misconfigured: the role of this URL may not change the tables, or the migrations of a pack are no branch.
        Unavailable: Postgres does not answer, or has no space left.
    """
    with postgres_faults():
        found = revisions.current(owner_url)
        if _is_ahead(owner_url, found.get(OURS)):
            return
        if fault := revisions.unknown(found, branches):
            raise Conflict(fault)
        _upgrade(owner_url, application_role, branches)


def _upgrade(owner_url: str, application_role: str, branches: Branches) -> None:
    if settings().row_security:
        with _migrating(owner_url) as owner:
            policies.ensure_role(owner, application_role)
    config = _config(owner_url, branches)
    command.upgrade(config, revisions.known_revisions()[-1])
    if branches:  # after our own tables, to which a pack's may refer
        command.upgrade(config, "heads")
    with _migrating(owner_url) as owner:
        if settings().row_security:
            policies.install(owner_url, application_role)
        functions.install(owner)
        _grant(owner, application_role)


@contextmanager
def _migrating(owner_url: str) -> Iterator[psycopg.Connection]:
    """Open a transaction, one at a time: two migrating processes would create the same functions."""
    with psycopg.connect(owner_url, connect_timeout=CONNECT_TIMEOUT_S) as owner:
        owner.execute("SELECT pg_advisory_xact_lock(hashtext('turnloom.migration'))")
        yield owner


def _grant(owner: psycopg.Connection, application_role: str) -> None:
    granted = {application_role: _GRANTS} if application_role != owner.info.user else {}
    if settings().row_security:
        granted[TENANT_ROLE] = _TENANTS_GRANTS
    for role, grants in granted.items():
        names = {"role": sql.Identifier(role), "functions": sql.Identifier(functions.schema())}
        owner.execute(sql.SQL(grants).format(**names))


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


def drop_tables(owner_url: str, pack: str, branches: Branches) -> None:
    """Drop the tables of a pack of another distribution, by its own migrations.

    Raises:
        NotFound: the pack is not among the branches.
    """
    if pack not in branches:
        raise NotFound(f"no enabled pack {pack!r} has tables of its own; look at TURNLOOM_PACKS")
    with postgres_faults():
        command.downgrade(_config(owner_url, branches), f"{pack}@base")


def differences(owner_url: str) -> list[object]:
    """Return the differences between the migrated database and the tables that modules loaded so far declare."""
    engine = create_engine(driver_url(owner_url))
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_server_default": True})
            return list(compare_metadata(context, Row.metadata))
    finally:
        engine.dispose()


def _is_ahead(url: str, current: str | None) -> bool:
    """Return whether a newer version has migrated this database and has left this version's functions there."""
    if not revisions.is_newer(current):
        return False
    with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        if functions.schema() in functions.installed(connection):
            return True
    raise Conflict(f"the database is at revision {current}, too new for this version: run the newer version")


def _config(url: str, branches: Branches = NO_BRANCHES) -> Config:
    config = Config()
    config.set_main_option("script_location", str(ROOT / "migrations"))
    folders = [ROOT / "migrations" / "versions", *branches.values()]
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", "\n".join(map(str, folders)))
    config.attributes["url"] = driver_url(url)
    for pack, folder in branches.items():
        _check_branch(ScriptDirectory.from_config(config), pack, folder)
    return config


def _check_branch(scripts: ScriptDirectory, pack: str, folder: Path) -> None:
    found = {each.revision: each for each in scripts.walk_revisions() if Path(each.path).parent == folder}
    known = revisions.known_revisions(folder, pack)
    if not known or sorted(found) != known or pack not in found[known[0]].branch_labels:
        raise Misconfigured(
            f"the migrations of the pack {pack!r} in {folder} must be files 0001_….py, 0002_….py and so on with the"
            f" revisions {pack}_0001, {pack}_0002; the first says branch_labels = ({pack!r},)"
        )
