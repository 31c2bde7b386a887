"""An application over a database of its own, and API keys for it."""

from collections.abc import Callable, Generator, Iterator
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.scope import SCOPES, Scope
from turnloom.models.ledger import keys, tenants
from turnloom.web.app import create_app
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


@pytest.fixture
def app(database: str, redis_url: str) -> Iterator[APIFlask]:
    # Celery's application is a module's attribute and has the settings that held at import.
    celery.conf.update(broker_url=redis_url, broker_write_url=redis_url)
    yield create_app()
    hub().close()
    hub.cache_clear()


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
