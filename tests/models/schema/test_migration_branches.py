"""A pack of another distribution makes its tables with its own migrations, a branch beside ours."""

from pathlib import Path

import psycopg
import pytest

from turnloom.models.connections.database import statement
from turnloom.models.errors import Conflict, Misconfigured, NotFound
from turnloom.models.runtime.settings import settings
from turnloom.models.schema.migration import drop_tables, upgrade
from turnloom.models.schema.revisions import NO_BRANCHES, current, known_revisions, pending, unknown

REVISION = """
from alembic import op

revision, down_revision = "{revision}", {before!r}
branch_labels = {labels!r}


def upgrade() -> None:
    op.execute("CREATE TABLE {table} (tenant_id uuid REFERENCES tenants (id))")


def downgrade() -> None:
    op.execute("DROP TABLE {table}")
"""
OURS = {"": known_revisions()[-1]}


@pytest.fixture
def owner_url(database: str) -> str:
    url = settings().owner_database_url
    assert url is not None
    return url


@pytest.fixture
def acme(tmp_path: Path) -> dict[str, Path]:
    """The migrations of the pack `acme`: one revision so far."""
    write(tmp_path, 1)
    return {"acme": tmp_path}


def write(folder: Path, number: int, labels: tuple[str, ...] | None = ("acme",)) -> None:
    before = f"acme_{number - 1:04}" if number > 1 else None
    fields = {"revision": f"acme_{number:04}", "before": before, "table": f"acme_{number}"}
    text = REVISION.format(**fields, labels=None if before else labels)
    (folder / f"{number:04}_more.py").write_text(text, "utf-8")


def test_a_branch_is_upgraded_beside_our_tables(database: str, owner_url: str, acme: dict[str, Path]) -> None:
    """Its first revision is applied, later the next. The application's role may use its tables."""
    steps = [pending(database, acme)]
    upgrade(owner_url, branches=acme)
    steps.append(pending(database, acme))
    write(acme["acme"], 2)
    steps.append(pending(database, acme))
    upgrade(owner_url, branches=acme)
    upgrade(owner_url, branches=acme)

    assert steps == [
        "the tables of the pack acme are at revision None, this version needs acme_0001",
        None,
        "the tables of the pack acme are at revision acme_0001, this version needs acme_0002",
    ]
    assert current(database) == OURS | {"acme": "acme_0002"}
    with statement() as db:
        assert db.execute("DELETE FROM acme_2").rowcount == 0


def test_a_pack_that_is_gone_is_named(database: str, owner_url: str, acme: dict[str, Path]) -> None:
    """Migrating stops with an error that names it. Processes run without the pack."""
    upgrade(owner_url, branches=acme)

    with pytest.raises(Conflict, match=r"tables of the pack 'acme' \(revision acme_0001\), which is not enabled here"):
        upgrade(owner_url)
    assert pending(database) is None


def test_an_older_package_cannot_migrate(database: str, owner_url: str, acme: dict[str, Path]) -> None:
    """Its migrations do not know the revision of the database. Its processes still run."""
    write(acme["acme"], 2)
    upgrade(owner_url, branches=acme)
    (acme["acme"] / "0002_more.py").unlink()

    with pytest.raises(Conflict, match=r"revision acme_0002\) of a newer version than the package here"):
        upgrade(owner_url, branches=acme)
    assert pending(database, acme) is None


def test_tables_of_a_pack_are_dropped_by_its_migrations(database: str, owner_url: str, acme: dict[str, Path]) -> None:
    """Afterwards the database is as if the pack had never been there, and can be migrated without it."""
    write(acme["acme"], 2)
    upgrade(owner_url, branches=acme)

    drop_tables(owner_url, "acme", acme)
    upgrade(owner_url)

    assert (current(database), unknown(current(database), NO_BRANCHES)) == (OURS, None)
    with psycopg.connect(owner_url) as db:
        assert db.execute("SELECT to_regclass('acme_1'), to_regclass('acme_2')").fetchone() == (None, None)
    with pytest.raises(NotFound, match="no enabled pack 'acne'"):
        drop_tables(owner_url, "acne", acme)


@pytest.mark.parametrize("labels", [None, ("other",)])
def test_migrations_must_be_a_branch_of_the_packs_name(
    owner_url: str, tmp_path: Path, labels: tuple[str, ...] | None
) -> None:
    """Otherwise they could be taken for ours. Nothing is migrated."""
    write(tmp_path, 1, labels)

    with pytest.raises(Misconfigured, match="the first says branch_labels = \\('acme',\\)"):
        upgrade(owner_url, branches={"acme": tmp_path})
    assert current(owner_url) == OURS
