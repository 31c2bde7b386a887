"""An application over an empty database, and API keys for it."""

import os
from collections.abc import Callable, Generator, Iterator
from functools import lru_cache
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.scope import SCOPES, Scope
from turnloom.models.ledger import keys, tenants
from turnloom.web.app import create_app, install_caches
from turnloom.web.event_hub import Hub, hub
from turnloom.web.event_stream import Position, stream
from turnloom.workers.broker.app import app as celery
from turnloom.workers.dispatch import settle

KeyMaker = Callable[..., dict[str, str]]


def follow(turn_id: UUID, position: Position = (0, 0)) -> Generator[bytes, None, None]:
    """Follow a turn of the tenant that owns the keys."""
    with transaction() as db:
        tenant_id = tenants.ensure(db, "ours")
    return stream(turn_id, tenant_id, position)


_PASSED = "TURNLOOM_OWNER_DATABASE_URL"
"""A variable that differs from test to test, and that an application does not read when it is made."""


@lru_cache(maxsize=4)
def _application(_: frozenset[tuple[str, str]]) -> APIFlask:
    """Return the application of an environment. Its routes are not compiled again for each test."""
    return create_app()


@pytest.fixture
def app(database: str, redis_url: str) -> Iterator[APIFlask]:
    # Celery's application is a module's attribute and has the settings that held at import.
    celery.conf.update(broker_url=redis_url, broker_write_url=redis_url)
    shared = _application(
        frozenset((n, v) for n, v in os.environ.items() if n.startswith("TURNLOOM_") and n != _PASSED)
    )
    install_caches(shared.extensions)
    yield shared
    hub().close()
    hub.cache_clear()


@pytest.fixture
def own_app(database: str) -> APIFlask:
    """Return an application to which the test may add routes."""
    return create_app()


@pytest.fixture
def new_hub() -> Iterator[Callable[[], Hub]]:
    """Return a function that makes hubs, and close them after the test."""
    made: list[Hub] = []

    def make() -> Hub:
        made.append(Hub())
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def key(database: str) -> KeyMaker:
    """Make a key and return it as a header: `key("turns:read", tenant="b")`; it has all scopes by default."""

    def make(*scopes: Scope, tenant: str = "ours") -> dict[str, str]:
        with transaction() as db:
            _, plain = keys.create(db, tenants.ensure(db, tenant), "test", scopes or SCOPES)
        return {"Authorization": f"Bearer {plain}"}

    return make


@pytest.fixture
def client(app: APIFlask, key: KeyMaker) -> Iterator[FlaskClient]:
    """A client whose key has all scopes. The turns that it posts are on their queue before the next test begins."""
    made = app.test_client()
    made.environ_base["HTTP_AUTHORIZATION"] = key()["Authorization"]
    yield made
    settle()


@pytest.fixture
def operator(app: APIFlask, key: KeyMaker) -> FlaskClient:
    """A client of an operator of the tenant to which the turns of the factories belong."""
    made = app.test_client()
    made.environ_base["HTTP_AUTHORIZATION"] = key(tenant="acme")["Authorization"]
    return made
