"""Redis fails over: a replica is promoted, and the address leads to it after that."""

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis import Redis

from tests.chaos.disturbances import once
from tests.chaos.drills import PLAN, TURNS, Ground, drill, drilled_stack
from tests.facts import wait_for
from turnloom.workers.embedded.home import Home
from turnloom.workers.embedded.servers import EmbeddedServer, free_port
from turnloom.workers.embedded.servers import redis as valkey

WITHIN_S = 60 + TURNS
LOAD = [{"plan": {"steps": PLAN}}] * TURNS

pytestmark = [pytest.mark.drill, pytest.mark.timeout(180 + 3 * TURNS)]


class Address:
    """The address at which clients find the primary. It can change for new connections; open ones stay, as with DNS."""

    def __init__(self, url: str) -> None:
        self._at = urlsplit(url).port
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        self.url = url.replace(f":{self._at}/", f":{self._listener.getsockname()[1]}/")
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def lead_to(self, url: str) -> None:
        """Lead new connections to another server."""
        self._at = urlsplit(url).port

    def close(self) -> None:
        """Accept no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._at or 0))
                except OSError:
                    client.close()
                    continue
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while piece := one.recv(65_536):
            other.sendall(piece)
    with suppress(OSError):
        other.shutdown(socket.SHUT_RDWR)
    one.close()


@contextmanager
def running(folder: Path) -> Iterator[EmbeddedServer]:
    """Run a Valkey server."""
    home = Home(folder)
    server = valkey(home)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        home.release()


@pytest.mark.parametrize("end", ["demoted", "gone"])
def test_every_turn_ends_well_despite_a_failover(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old primary becomes a read-only replica and keeps its connections, or is killed. No worker ends."""
    with running(tmp_path / "old") as old, running(tmp_path / "new") as new:
        address = Address(old.url)
        monkeypatch.setenv("REDIS_URL", address.url)
        with Redis.from_url(new.url, single_connection_client=True) as promoted, Redis.from_url(old.url) as primary:
            password = urlsplit(old.url).password
            for server in (promoted, primary):
                server.config_set("masterauth", password)
            promoted.config_set("requirepass", password)  # the password that clients know
            promoted.replicaof("127.0.0.1", urlsplit(old.url).port)
            wait_for(lambda: promoted.info("replication")["master_link_status"] == "up", 30)

            def fail_over(_: Ground, __: random.Random) -> None:
                promoted.replicaof("NO", "ONE")
                address.lead_to(new.url)
                if end == "gone":
                    old.process.kill()
                    old.process.ask_to_stop()
                else:
                    primary.replicaof("127.0.0.1", urlsplit(new.url).port)

            with drilled_stack(tmp_path) as ground:
                report = drill(ground, LOAD, once(fail_over), within_s=WITHIN_S)
                restarts = {name: process.restarts for name, process in ground.stack.processes.items()}
        address.close()

    report.assert_nothing_lost_or_doubled()
    assert report.statuses == {"succeeded": report.accepted}
    assert set(restarts.values()) == {0}
