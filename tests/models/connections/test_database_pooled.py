"""A pooler lends a server connection for one transaction at a time. Statements of many clients do not collide."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.factories import make_tenant, open_turn
from tests.pooler import pooled, reconnect
from turnloom.models.connections.database import close_connections, examine, snapshot, statement
from turnloom.models.connections.postgres_sessions import session_settings
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import turns
from turnloom.models.runtime.settings import ROOT, settings
from turnloom.models.schema.migration import set_defaults

IGNORING = "ignore_startup_parameters = options"


@pytest.fixture
def through(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Put PgBouncer in front of the test's database. The settings name it, but do not declare it."""
    with pooled(database, tmp_path / "pooler", more=IGNORING) as url:
        monkeypatch.setenv("DATABASE_URL", url)
        close_connections()
        settings.cache_clear()
        yield url
        close_connections()


@pytest.fixture
def declared(through: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same, but the settings declare it."""
    monkeypatch.setenv("TURNLOOM_DATABASE_POOLED", "true")
    settings.cache_clear()
    return through


def test_statements_of_many_clients_do_not_collide(declared: str) -> None:
    """Eight threads share four server connections, and each can open and read turns."""
    tenant_id = make_tenant()

    def work(number: int) -> bool:
        turn_id = open_turn(tenant_id, conversation_id=f"c{number}").turn_id
        with snapshot() as db:
            return turns.get(db, turn_id, tenant_id) is not None

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(80)))

    with statement() as db:
        prepared = db.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
    assert found == [True] * 80
    assert prepared == (0,)


def test_sessions_have_their_settings_from_the_role(declared: str) -> None:
    """`turnloom migrate` sets on the role what a client behind a pooler cannot set at its start."""
    before = examine()

    set_defaults(declared)
    set_defaults(declared)
    reconnect(declared)
    close_connections()

    assert before.is_pooled
    assert before.differing.keys() == session_settings().keys()
    assert examine().differing == {}


def test_the_error_of_an_undeclared_pooler_names_the_setting(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pooler that refuses a session's startup parameters is recognised by that."""
    with pooled(database, tmp_path / "pooler") as url:
        monkeypatch.setenv("DATABASE_URL", url)
        close_connections()
        settings.cache_clear()

        with pytest.raises(Unavailable, match="TURNLOOM_DATABASE_POOLED"), statement():
            pass


def test_a_pooler_is_recognised(through: str) -> None:
    """A pooler that ignores startup parameters is recognised too: another process answers than the one it names."""
    assert examine().is_pooled


def test_nothing_is_kept_in_a_session() -> None:
    """No statement relies on the state of a session: between two transactions a pooler may lend another one."""
    kept = re.compile(
        r"pg_(try_)?advisory_(unlock|lock)|\b(UN)?LISTEN\b|\bNOTIFY\b|CREATE TEMP|SET SESSION|stream_results|yield_per"
    )
    files = [*ROOT.glob("models/**/*.py"), *ROOT.glob("models/**/*.sql"), *ROOT.glob("migrations/**/*.py")]

    found = [f"{path}: {line}" for path in files for line in path.read_text("utf-8").splitlines() if kept.search(line)]

    assert files
    assert found == []


def test_without_a_pooler_a_session_sends_its_own_settings(database: str) -> None:
    """It needs no defaults of the role."""
    seen = examine()

    assert not seen.is_pooled
    assert seen.differing == {}
