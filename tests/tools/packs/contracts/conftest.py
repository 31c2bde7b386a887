"""Provide one database for all cases, emptied before each. Making one takes longer than most calls."""

from collections.abc import Iterator

import psycopg
import pytest
from redis import Redis

from tests.conftest import new_database
from turnloom.models.tables.base import Row
from turnloom.workers.embedded.servers import EmbeddedServers


@pytest.fixture(scope="module")
def shared(servers: EmbeddedServers) -> Iterator[str]:
    """A migrated database, named by the settings, and Valkey. Yields the URL of a role that may delete anything."""
    assert servers.postgres
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDIS_URL", servers.redis_url)
        with new_database(servers, patch) as url:
            yield f"{servers.postgres.url.rpartition('/')[0]}/{url.rpartition('/')[2]}"


@pytest.fixture
def emptied(shared: str, servers: EmbeddedServers) -> None:
    """Empty the database and Valkey."""
    with Redis.from_url(servers.redis_url) as client:
        client.flushall()
    deletions = "; ".join(f"DELETE FROM {table}" for table in Row.metadata.tables)
    with psycopg.connect(shared) as admin:
        # Triggers would protect the audit log, and foreign keys demand an order.
        admin.execute(f"SET session_replication_role = replica; {deletions}")  # type: ignore[arg-type]
