"""Real servers for every test that wants them, and for each such test a database of its own.

The environment of whoever runs the tests has no say: no key of theirs, no server of theirs is ever used.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx2
import psycopg
import pytest
from redis import Redis

from models.database import close_connections
from models.migration import OWNER_ROLE, upgrade
from models.redis import redis as redis_client
from models.settings import settings
from workers.app import app
from workers.embedded import Servers, Stack, StackOptions

_OURS = ("TURNLOOM_", "OPENAI_", "DATABASE_URL", "REDIS_URL")


@pytest.fixture(scope="session", autouse=True)
def clean_environment() -> Iterator[None]:
    """No setting of the surrounding shell reaches a test."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(_OURS)]:
            patch.delenv(name)
        settings.cache_clear()
        yield


@pytest.fixture(scope="session")
def servers(clean_environment: None) -> Iterator[Servers]:
    """One Postgres and one Valkey for the whole run; the database `turnloom` in it is the migrated template."""
    started = Servers(None)
    app.conf.update(broker_url=started.redis_url, result_backend=started.redis_url)
    try:
        upgrade(started.owner_url)
        yield started
    finally:
        started.close()


@pytest.fixture
def database(servers: Servers, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A migrated, empty database of this test's own; the settings name it. Yields the application's URL."""
    assert servers.postgres
    name = f"test_{uuid4().hex}"
    with psycopg.connect(servers.postgres.url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE turnloom OWNER {OWNER_ROLE}")
        url, owner_url = (_renamed(url, name) for url in (servers.database_url, servers.owner_url))
        monkeypatch.setenv("DATABASE_URL", url)
        monkeypatch.setenv("TURNLOOM_OWNER_DATABASE_URL", owner_url)
        _forget_settings()
        yield url
        _forget_settings()
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def redis_url(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty Valkey; the settings name it."""
    with Redis.from_url(servers.redis_url) as client:
        client.flushall()
    monkeypatch.setenv("REDIS_URL", servers.redis_url)
    _forget_settings()
    yield servers.redis_url
    _forget_settings()


@pytest.fixture(scope="session")
def sim_log(clean_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the stack's sim pack writes down what it really did."""
    return tmp_path_factory.mktemp("sim") / "sim.log"


@pytest.fixture(scope="session")
def stack(sim_log: Path) -> Iterator[Stack]:
    """The whole service, once for all journeys. A test that stops a part of it starts it again."""
    settings.cache_clear()
    with Stack(StackOptions(data_dir=None, port=0, settings={"TURNLOOM_SIM_LOG": str(sim_log)})) as started:
        yield started


@pytest.fixture
def api(stack: Stack) -> Iterator[httpx2.Client]:
    """A client of the stack's API with the development key."""
    headers = {"Authorization": f"Bearer {stack.dev_key}"}
    with httpx2.Client(base_url=stack.url, headers=headers, timeout=40) as client:
        yield client


def _renamed(url: str, name: str) -> str:
    return f"{url.rpartition('/')[0]}/{name}"


def _forget_settings() -> None:
    close_connections()
    if redis_client.cache_info().currsize:
        redis_client().close()
    redis_client.cache_clear()
    settings.cache_clear()
