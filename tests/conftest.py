"""Provide real servers for tests, and an empty database for each test that needs one.

The environment of the person who runs the tests does not matter. Their keys and servers are never used.
"""

import gc
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import httpx2
import hypothesis
import pytest
import structlog
from redis import Redis
from sqlalchemy import event, make_url
from sqlalchemy.orm import Session

from tests.databases import Databases
from tests.facts import is_alive
from tests.journeys.stacks import client_of
from tests.loaded_python import serving
from tests.stack_scheduling import ByStack
from tests.time_report import TimeReport
from turnloom.models.connections.database import close_connections, engine
from turnloom.models.connections.postgres_sessions import session_arguments
from turnloom.models.connections.redis import redis as redis_client
from turnloom.models.errors import Misconfigured
from turnloom.models.runtime import settings as settings_module
from turnloom.models.runtime.lean_imports import loading
from turnloom.models.runtime.settings import settings
from turnloom.models.schema.migration import upgrade
from turnloom.models.tables.callbacks import CallbackRow
from turnloom.models.tables.fragments import FragmentRow
from turnloom.models.tables.replies import ReplyRow
from turnloom.models.tables.steps import StepRow
from turnloom.models.tables.turns import TurnRow
from turnloom.workers.broker.app import app
from turnloom.workers.embedded.servers import EmbeddedServers
from turnloom.workers.embedded.stack import Stack, StackOptions

# The time of an example depends on the machine. The examples are the same in each run: a fault that was there before
# must not stop somebody else's change. `--hypothesis-seed=N` with the profile `searching` looks for further ones.
hypothesis.settings.register_profile("searching", deadline=None)
hypothesis.settings.register_profile("same", deadline=None, derandomize=True)
hypothesis.settings.load_profile("same")

ALLOWED_HOST = "127.0.0.2"
"""An address of this machine that a user's URL may have. 127.0.0.1 is refused."""
DEV_KEY = "tl_dev_of_the_tests"

_OURS = ("TURNLOOM_", "OPENAI_", "DATABASE_URL", "REDIS_URL")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(TimeReport())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from the modules and tests, which all stay, and let it look for others less often."""
    with loading():
        done = yield
    gc.set_threshold(20_000, 20, 20)
    return done


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return ByStack(config, log)


@event.listens_for(Session, "before_flush")
def refuse_rows_of_functions(session: Session, *_: Any) -> None:
    """Fail if a session would write a row that only the ledger's functions change."""
    written = {type(row) for row in (*session.new, *session.dirty, *session.deleted)}
    assert written.isdisjoint([TurnRow, StepRow, FragmentRow, ReplyRow, CallbackRow]), (
        "write a function in models/ledger/transitions"
    )


@pytest.fixture(scope="session", autouse=True)
def clean_environment() -> Iterator[None]:
    """Keep the settings of the surrounding shell from tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(_OURS)]:
            patch.delenv(name)
        patch.setenv("TURNLOOM_OFFLINE_MODEL", "true")
        patch.setenv("TURNLOOM_ROW_SECURITY", "true")  # whatever works with it works without
        # A command run in this process must not fix the target of log lines, or tests would capture none.
        patch.setattr(structlog, "configure", partial(_configure_anew, structlog.configure))
        patch.setattr("turnloom.models.runtime.settings._read", partial(_read_alone, settings_module._read))
        settings.cache_clear()
        yield


@pytest.fixture(scope="session")
def servers(clean_environment: None) -> Iterator[EmbeddedServers]:
    """Run one Postgres and one Valkey for the whole run. The database `turnloom` is the migrated template."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", _memory())
        started = EmbeddedServers(None)
    app.conf.update(broker_url=started.redis_url)
    try:
        upgrade(started.owner_url)
        yield started
    finally:
        if _databases.cache_info().currsize:
            _databases(started).close()
        started.close()


@pytest.fixture
def database(
    servers: EmbeddedServers, redis_url: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[str]:
    """Empty this process's migrated database. The settings name it. Yields the application's URL.

    A test marked `new_database` gets one that no test has used.

    Connections stay open from test to test, unless a test connects otherwise: what Postgres learns in each of them
    about tables and functions takes longer than most tests.
    """
    anew = request.node.get_closest_marker("new_database") is not None
    url = _named(servers, _databases(servers).emptied(anew=anew), monkeypatch)
    given = _connecting()
    if engine().url.database != make_url(url).database:
        close_connections()
    yield url
    if _connecting() != given:
        close_connections()


def _connecting() -> tuple[Any, ...] | None:
    """Return what a new connection would depend on; None if the settings are wrong."""
    try:
        return settings().database_url, settings().database_pool_size, session_arguments()
    except Misconfigured:
        return None


_databases = lru_cache(maxsize=1)(Databases)
_reading = threading.Lock()
"""Held while settings are read, so that none that were read before they are forgotten are kept afterwards."""


@contextmanager
def new_database(servers: EmbeddedServers, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """Make a migrated, empty database, and let the settings name it while the block runs."""
    with _databases(servers).new() as name:
        close_connections()
        yield _named(servers, name, patch)
        _forget_settings()
        close_connections()


def _named(servers: EmbeddedServers, name: str, patch: pytest.MonkeyPatch) -> str:
    """Let the settings name this database; returns the application's URL of it."""
    url, owner_url = (f"{each.rpartition('/')[0]}/{name}" for each in (servers.database_url, servers.owner_url))
    patch.setenv("DATABASE_URL", url)
    patch.setenv("TURNLOOM_OWNER_DATABASE_URL", owner_url)
    _forget_settings()
    return url


@contextmanager
def stack_on(servers: EmbeddedServers, tool_workers: int = 2, **own: str) -> Iterator[Stack]:
    """Run a stack with these settings on a new database. A Postgres of its own takes longer to start."""
    options = StackOptions(data_dir=None, port=0, tool_workers=tool_workers, settings=own)
    assert "REDIS_URL" not in os.environ, "it would share the queues of whatever uses that Redis"
    with ExitStack() as running:
        with pytest.MonkeyPatch.context() as patch:
            running.enter_context(new_database(servers, patch))
            started = running.enter_context(Stack(options))
        _forget_settings()
        yield started


@pytest.fixture(scope="session")
def valkey(servers: EmbeddedServers) -> Iterator[Redis]:
    """Return a client of the Valkey that tests share."""
    with Redis.from_url(servers.redis_url) as client:
        yield client


@pytest.fixture
def redis_url(servers: EmbeddedServers, valkey: Redis, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Empty the Valkey that the settings name."""
    valkey.flushall()
    monkeypatch.setenv("REDIS_URL", servers.redis_url)
    _forget_settings()
    yield servers.redis_url
    _forget_settings()


@pytest.fixture(scope="session")
def sim_log(clean_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file in which the stack's sim pack records its effects."""
    return tmp_path_factory.mktemp("sim") / "sim.log"


@pytest.fixture(scope="session")
def stack(sim_log: Path) -> Iterator[Stack]:
    """Run the whole service, once for all journeys. A test that stops a part of it starts that part again.

    At its end it leaves no process and no directory.
    """
    own = {"TURNLOOM_SIM_LOG": str(sim_log), "TURNLOOM_ALLOWED_HOSTS": f'["{ALLOWED_HOST}"]'}
    options = StackOptions(data_dir=None, port=0, flower_port=0, settings=own)
    with pytest.MonkeyPatch.context() as patch, ExitStack() as running:
        patch.setenv("TURNLOOM_DEV_KEY", DEV_KEY)
        settings.cache_clear()
        started = running.enter_context(Stack(options))
        patch.undo()
        settings.cache_clear()
        yield started
        last = [process.pid for process in started.processes.values() if process.pid]
    assert not any(is_alive(pid) for pid in last)
    assert not started.servers.home.path.exists()


@pytest.fixture(scope="session")
def loaded_python() -> Iterator[list[str]]:
    """Return a command line in place of `python`: it runs in a fork of a process that has loaded the libraries."""
    with serving() as command:
        yield command


@pytest.fixture
def api(stack: Stack) -> Iterator[httpx2.Client]:
    """Return a client of the stack's API with the development key."""
    with client_of(stack) as client:
        yield client


def _memory() -> str | None:
    """Return a folder in memory, if there is one with room.

    Each database has several hundred files, and a disk is slow at making and removing them for each test.
    """
    memory = Path("/dev/shm")
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > 4 * 2**30
    return str(memory) if has_room else None


def _configure_anew(configure: Callable[..., None], **options: Any) -> None:
    configure(**options | {"cache_logger_on_first_use": False})


def _forget_settings() -> None:
    """Forget the settings first: a thread of an earlier test that connects meanwhile must find the new ones."""
    with _reading:
        settings.cache_clear()
    if redis_client.cache_info().currsize:
        redis_client().close()
    redis_client.cache_clear()


def _read_alone(read: Callable[[Any], Any], kind: Any) -> Any:
    with _reading:
        given = frozenset(each for each in os.environ.items() if each[0] != "PYTEST_CURRENT_TEST")
        return _read_once(read, kind, given)


@lru_cache(maxsize=64)
def _read_once(read: Callable[[Any], Any], kind: Any, _environment: frozenset[tuple[str, str]]) -> Any:
    """Return the settings of an environment. Most tests have the same one."""
    return read(kind)
