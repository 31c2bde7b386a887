"""Each version has its own functions, so that processes of two versions run side by side."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.factories import make_tenant, open_turn
from turnloom.models.connections.database import statement, transaction
from turnloom.models.errors import Conflict, Unavailable
from turnloom.models.ledger import readiness
from turnloom.models.runtime.settings import settings
from turnloom.models.schema import functions
from turnloom.models.schema.migration import upgrade
from turnloom.models.schema.revisions import pending


@pytest.fixture
def owner_url(database: str) -> str:
    url = settings().owner_database_url
    assert url is not None
    return url


@pytest.fixture
def owner(owner_url: str) -> Iterator[psycopg.Connection]:
    """Return a connection of the role that migrates."""
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection


def other_version(folder: Path, number: int) -> Path:
    """Return a folder with the SQL of another version, in which a function has another name."""
    shutil.copytree(functions.FOLDER, folder / str(number))
    for part in (folder / str(number)).glob("*.sql"):
        part.write_text(part.read_text("utf-8").replace("hot.open_turn", f"hot.open_turn_{number}"), "utf-8")
    return folder / str(number)


def test_the_version_before_goes_on(owner: psycopg.Connection, tmp_path: Path) -> None:
    """Its processes still run after a newer version has migrated the database. Both versions are there."""
    newer = other_version(tmp_path, 1)

    functions.install(owner, newer)

    assert open_turn(make_tenant())
    assert functions.installed(owner) == [functions.schema(newer), functions.schema()]


def test_a_version_is_dropped_at_the_migration_after_next(owner: psycopg.Connection, tmp_path: Path) -> None:
    """A process that still runs it is not ready, and says what to do."""
    newer = [other_version(tmp_path, number) for number in (1, 2)]

    for each in newer:
        functions.install(owner, each)

    assert functions.installed(owner) == [functions.schema(each) for each in reversed(newer)]
    with pytest.raises(Unavailable, match="run `turnloom migrate`"):
        open_turn(make_tenant())
    with pytest.raises(Unavailable, match="run `turnloom migrate`"), transaction() as db:
        db.connection().exec_driver_sql("SELECT hot.is_final('failed')")
    with transaction() as db:
        assert "run `turnloom migrate`" in str(readiness.lacking(db))


def test_a_return_to_the_version_before_keeps_both(owner: psycopg.Connection, tmp_path: Path) -> None:
    """The version migrated to last counts as the newest. The next migration keeps it and drops the other."""
    first, second, third = (other_version(tmp_path, number) for number in (1, 2, 3))
    for each in (first, second, first):
        functions.install(owner, each)

    functions.install(owner, third)

    assert functions.installed(owner) == [functions.schema(third), functions.schema(first)]


def test_functions_that_have_not_changed_are_left(owner: psycopg.Connection, owner_url: str) -> None:
    """`turnloom migrate` with nothing to migrate creates no function."""
    query = "SELECT max(oid::bigint), count(*) FROM pg_proc"
    before = owner.execute(query).fetchone()

    upgrade(owner_url)

    assert owner.execute(query).fetchone() == before


def test_the_schema_without_a_version_counts_as_the_oldest(owner: psycopg.Connection, tmp_path: Path) -> None:
    """A database may come from a version with a single schema, called `hot`."""
    owner.execute("CREATE SCHEMA hot")
    functions.install(owner)
    kept = functions.installed(owner)

    functions.install(owner, other_version(tmp_path, 1))

    assert kept == [functions.schema(), "hot"]
    assert "hot" not in functions.installed(owner)


def test_a_newer_revision_is_no_reason_to_migrate(owner: psycopg.Connection, owner_url: str) -> None:
    """While our functions are there, an older process neither asks for a migration nor undoes one."""
    owner.execute("UPDATE alembic_version SET version_num = '9999'")

    upgrade(owner_url)

    assert pending(owner_url) is None
    assert owner.execute("SELECT version_num FROM alembic_version").fetchone() == ("9999",)


def test_a_database_of_a_much_newer_version_is_refused(owner: psycopg.Connection, owner_url: str) -> None:
    """If our functions are gone, `turnloom migrate` says why it can do nothing."""
    owner.execute("UPDATE alembic_version SET version_num = '9999'")
    functions.drop(owner, functions.installed(owner))

    with pytest.raises(Conflict, match="newer version"):
        upgrade(owner_url)


def test_only_the_name_of_the_schema_is_replaced(database: str) -> None:
    """A word that ends like it, and a statement without it, stay as they are."""
    with statement() as db:
        row = db.execute("SELECT hot.is_final('failed'), 'shot.x', snapshot.id FROM (VALUES (1)) AS snapshot (id)")

    assert row.fetchone() == (True, "shot.x", 1)
