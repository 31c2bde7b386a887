"""Postgres and Valkey run as child processes."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from redis import AuthenticationError, Redis

from tests.facts import is_alive, wait_for
from turnloom.models.connections.database import ping
from turnloom.models.errors import Conflict
from turnloom.workers.embedded.home import Home
from turnloom.workers.embedded.servers import EmbeddedServers, free_port, is_free

CRASHING = """
import signal, sys
from pathlib import Path
import psycopg
from redis import Redis
from turnloom.workers.embedded.servers import EmbeddedServers
servers = EmbeddedServers(Path(sys.argv[1]))
with psycopg.connect(servers.owner_url) as connection:
    connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
print(servers.postgres.process.pid, servers.redis.process.pid, flush=True)
signal.pause()
"""


def test_servers_leave_nothing_behind():
    """An ephemeral pair of servers leaves no process and no directory."""
    servers = EmbeddedServers(None)
    pids = [servers.postgres.process.pid, servers.redis.process.pid]
    home = servers.home.path

    servers.close()

    assert not any(is_alive(pid) for pid in pids)
    assert not home.exists()


def test_a_free_port_is_kept_for_who_asked():
    """Another call does not return it before its server listens."""
    port = free_port()

    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
    with socket.create_server(("127.0.0.1", port)):
        assert not is_free(port)


def test_new_tables_soon_have_statistics(tmp_path):
    """Without statistics Postgres plans badly, so autovacuum runs more often than its default of once a minute."""
    servers = EmbeddedServers(tmp_path)

    try:
        with psycopg.connect(servers.owner_url) as connection:
            setting = "SELECT setting::int FROM pg_settings WHERE name = 'autovacuum_naptime'"
            assert connection.execute(setting).fetchone() == (15,)
    finally:
        servers.close()


def test_data_survives_kill_9(tmp_path):
    """After kill -9, a new start on the same directory works, and committed data is there."""
    with subprocess.Popen([sys.executable, "-c", CRASHING, str(tmp_path)], stdout=subprocess.PIPE) as crashing:
        assert crashing.stdout
        pids = [int(pid) for pid in crashing.stdout.readline().split()]
        crashing.kill()

    servers = EmbeddedServers(tmp_path)

    try:
        assert not any(is_alive(pid) for pid in pids)
        with psycopg.connect(servers.owner_url) as connection:
            assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
    finally:
        servers.close()


def test_second_stack_in_the_same_directory_is_refused(tmp_path):
    """A directory has one stack. The error of a second one names the process that holds it and says what to do."""
    first = Home(tmp_path)

    with pytest.raises(Conflict, match=r"another stack \(process \d+\) runs in .*; stop it, or choose another"):
        Home(tmp_path)

    first.release()
    Home(tmp_path).release()


def test_passwords_are_kept_for_the_owner_only(tmp_path):
    """Passwords are made once, and nobody else can read them."""
    first = Home(tmp_path)
    first.release()

    second = Home(tmp_path)

    second.release()
    assert second.secrets == first.secrets
    assert stat.S_IMODE((tmp_path / "secrets.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("user", ["postgres", "turnloom", "turnloom_owner"])
def test_postgres_refuses_a_wrong_password(servers, user):
    """Postgres accepts no user without the right password."""
    _, _, address = servers.postgres.url.rpartition("@")

    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(f"postgresql://{user}:wrong@{address}")


def test_a_password_is_hashed_once(servers):
    """The passwords are long and random. A client computes every further round for each connection."""
    with psycopg.connect(servers.postgres.url) as admin:
        hashes = admin.execute(
            "SELECT rolpassword FROM pg_authid WHERE rolname LIKE 'turnloom%' AND rolcanlogin"
        ).fetchall()

    assert [hashed.partition(":")[0] for (hashed,) in hashes] == ["SCRAM-SHA-256$1"] * 2


def test_redis_refuses_strangers(servers):
    """Valkey accepts no client without the password, which is not on its command line."""
    _, _, address = servers.redis_url.rpartition("@")

    with Redis.from_url(f"redis://{address}") as stranger, pytest.raises(AuthenticationError):
        stranger.ping()

    command_line = Path(f"/proc/{servers.redis.process.pid}/cmdline")
    assert not command_line.exists() or servers.home.secrets.redis not in command_line.read_text()


def test_ports_are_below_those_of_outgoing_connections(servers):
    """A fixed port in the range of outgoing connections would sometimes be taken."""
    ports = [int(url.rpartition(":")[2].partition("/")[0]) for url in (servers.database_url, servers.redis_url)]

    assert all(1024 < port < 32_768 for port in ports)


def test_a_stopped_server_comes_back_with_its_data():
    """Stopping and starting a server keeps its address and its data. A killed server is started again."""
    servers = EmbeddedServers(None)
    try:
        with Redis.from_url(servers.redis_url) as client:
            client.set("kept", "1")
            servers.redis.stop()
            servers.redis.start()
            kept = client.get("kept")
        first = servers.postgres.process.pid

        servers.postgres.process.kill()

        wait_for(lambda: servers.postgres.process.pid not in (None, first))
        servers.postgres.process.wait_until(lambda: ping(servers.database_url), timeout_s=8)
        assert kept == b"1"
    finally:
        servers.close()


def test_given_servers_are_used(servers, tmp_path):
    """With DATABASE_URL and REDIS_URL given, no server is started."""
    given = EmbeddedServers(tmp_path, database_url=servers.database_url, redis_url=servers.redis_url)

    given.close()

    assert (given.postgres, given.redis) == (None, None)
    assert given.database_url == servers.database_url
    assert list((tmp_path / "run").iterdir()) == []


def test_the_directory_of_a_killed_ephemeral_stack_is_removed(tmp_path, monkeypatch):
    """The next ephemeral stack removes the directory of a killed one, and keeps that of a running one."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    script = "import os; from turnloom.workers.embedded.home import Home; Home(None); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    [abandoned] = tmp_path.iterdir()
    running = Home(None)

    another = Home(None)

    assert not abandoned.exists()
    assert set(tmp_path.iterdir()) == {running.path, another.path}
    running.release()
    another.release()
    assert list(tmp_path.iterdir()) == []
