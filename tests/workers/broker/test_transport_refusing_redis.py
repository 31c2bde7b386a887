"""Redis answers with errors: out of disk, out of memory, a replica since a failover, loading."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection
from kombu.transport import TRANSPORT_ALIASES
from redis import Redis, RedisError, ResponseError

from tests.facts import wait_for
from turnloom.models.connections.redis import beat_lives, deltas, note_beat, push, queue_lengths, redis, run_script
from turnloom.models.errors import Unavailable
from turnloom.models.runtime import metrics
from turnloom.models.runtime.counters import Counts
from turnloom.models.runtime.settings import settings
from turnloom.workers.dispatch import PUBLISH_ERRORS
from turnloom.workers.embedded.home import Home
from turnloom.workers.embedded.servers import EmbeddedServer
from turnloom.workers.embedded.servers import redis as valkey

Refuse = Callable[[Redis, Path], object]


def out_of_memory(admin: Redis, _: Path) -> None:
    admin.config_set("maxmemory", 1)


def out_of_disk(admin: Redis, data: Path) -> None:
    """Let a snapshot fail; after that the server refuses writes."""
    admin.config_set("appendonly", "no")
    admin.config_set("save", "3600 1")
    shutil.rmtree(data)
    admin.bgsave()
    wait_for(lambda: admin.info("persistence")["rdb_last_bgsave_status"] == "err")


def replica(admin: Redis, _: Path) -> None:
    """Follow a primary that does not exist, and serve existing data."""
    admin.replicaof("127.0.0.1", 1)


def replica_without_data(admin: Redis, _: Path) -> None:
    admin.config_set("replica-serve-stale-data", "no")
    admin.replicaof("127.0.0.1", 1)


def without_replicas(admin: Redis, _: Path) -> None:
    admin.config_set("min-replicas-to-write", 1)


REFUSALS = {
    "OOM": out_of_memory,
    "MISCONF": out_of_disk,
    "READONLY": replica,
    "MASTERDOWN": replica_without_data,
    "NOREPLICAS": without_replicas,
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[EmbeddedServer, Path]]:
    """A Valkey of the test's own and its data directory. The settings name it."""
    home = Home(tmp_path / "home")
    made = valkey(home)
    made.start()
    monkeypatch.setenv("REDIS_URL", made.url)
    settings.cache_clear()
    redis.cache_clear()
    yield made, home.path / "redis"
    redis().close()
    redis.cache_clear()
    settings.cache_clear()
    made.process.kill()
    made.stop()
    home.release()


@pytest.fixture
def broker(server: tuple[EmbeddedServer, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """A connection as a worker has it."""
    monkeypatch.setitem(TRANSPORT_ALIASES, "redis", "turnloom.workers.broker.transport:Transport")
    options = {"ack_emulation": False, "priority_steps": [0], "socket_timeout": 5}
    with Connection(server[0].url, transport_options=options) as connection:
        yield connection


@pytest.mark.parametrize("code", REFUSALS)
def test_a_server_that_refuses_is_a_broker_that_is_out(
    code: str, server: tuple[EmbeddedServer, Path], broker: Connection
) -> None:
    """A worker that waits for messages sees a lost connection, and continues when the server serves again."""
    queue = broker.SimpleQueue("q")
    queue.put("before")
    queue.get(timeout=5).ack()
    with Redis.from_url(server[0].url) as admin:
        REFUSALS[code](admin, server[1])
        with pytest.raises(ResponseError) as plain:
            admin.lpush("q", "x")

    def wait_for_message() -> None:
        for _ in range(3):  # the server does not answer a command that waited before
            with suppress(Empty):
                queue.get(timeout=1)

    with pytest.raises(broker.recoverable_connection_errors) as lost:
        queue.put("after") if code == "OOM" else wait_for_message()

    assert not isinstance(lost.value, ResponseError)
    assert str(plain.value) in str(lost.value)


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refused_command_is_unavailable(code: str, server: tuple[EmbeddedServer, Path]) -> None:
    """Each of our commands raises the error that its callers expect of a server that is down."""
    run_script("chord", ["group"], [0, 2, 60, 60], spare=False)
    counted = Counts()
    counted.add("turnloom_tool_retries_total", "t", "c")
    with Redis.from_url(server[0].url) as admin:
        REFUSALS[code](admin, server[1])

    with pytest.raises(PUBLISH_ERRORS) as unsent:
        push("plan", [b"message"])
    for command in (
        lambda: note_beat(6),
        lambda: run_script("chord", ["group"], [1, 2, 60, 60], spare=False),
    ):
        with pytest.raises(Unavailable):
            command()
    metrics.hand_on(counted)

    assert not isinstance(unsent.value, ResponseError)
    assert counted._left
    if code == "MASTERDOWN":
        with pytest.raises(Unavailable):
            beat_lives()
        assert (deltas("00000000-0000-0000-0000-000000000000"), queue_lengths(["plan"])) == ([], None)


def test_a_demoted_server_is_left(server: tuple[EmbeddedServer, Path]) -> None:
    """A connection that gets READONLY is closed. The next one goes to the server that the address leads to by then."""
    push("plan", [b"message"])
    with Redis.from_url(server[0].url) as admin:
        before = {client["id"] for client in admin.client_list()} - {str(admin.client_id())}
        replica(admin, server[1])
        with pytest.raises(RedisError):
            push("plan", [b"message"])
        admin.replicaof("NO", "ONE")
        push("plan", [b"message"])

        after = {client["id"] for client in admin.client_list()} - {str(admin.client_id())}

    assert before
    assert not before & after


@pytest.mark.usefixtures("redis_url")
def test_a_wrong_command_is_no_outage() -> None:
    """An error about the command itself is raised unchanged, and the connection stays."""
    redis().set("text", "x")
    [before] = _ours()

    with pytest.raises(ResponseError, match="WRONGTYPE"):
        push("text", [b"x"])

    assert before in _ours()


def _ours() -> list[Any]:
    return [client["id"] for client in redis().client_list() if client["cmd"].startswith("client")]
