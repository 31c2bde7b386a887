"""Run a real Postgres and a real Valkey as child processes."""

import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from turnloom.models.connections import database
from turnloom.models.connections import redis as live
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import settings
from turnloom.models.schema.roles import provision
from turnloom.workers.embedded.binaries import postgres_folder, redis_server
from turnloom.workers.embedded.home import Home, write_private, writing
from turnloom.workers.embedded.process import Process, Program, launch_command
from turnloom.workers.embedded.progress import Told, tell_nobody, timed

DATABASE = "turnloom"
_LOWEST_PORT, _PORTS = 20_000, 12_000
"""Below 32768, where Linux begins to hand out ports for outgoing connections."""
_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 15.0
_MAX_CONNECTIONS = 300
_BUILTIN_LOCALE_SINCE = 17


class EmbeddedServer:
    """A server program and its address."""

    def __init__(self, program: Program, home: Home, url: str, check: Callable[[str], object]) -> None:
        self.url = url
        self.process = Process(program, records=home.records, logs=home.logs)
        self._check = check

    def start(self) -> None:
        """Start the server and return when it answers.

        Raises:
            Unavailable: the server does not answer in time; the message has the end of its log.
        """
        self.process.start()
        self.process.wait_until(lambda: self._check(self.url), timeout_s=_START_TIMEOUT_S)

    def stop(self) -> None:
        """Stop the server and return when it has ended. It can be started again, at the same address."""
        self.process.stop(_STOP_TIMEOUT_S)


class EmbeddedServers:
    """Postgres with our database, and Valkey. A server whose URL is given is used as it is, and not started.

    Attributes: `home`; `postgres` and `redis`, None where a URL was given; `database_url` (the application's role),
    `owner_url` (the role that migrates), `redis_url`.
    """

    def __init__(
        self,
        data_dir: Path | None,
        *,
        database_url: str | None = None,
        redis_url: str | None = None,
        told: Told = tell_nobody,
    ) -> None:
        self.home = Home(data_dir)
        self._told = told
        self.postgres: EmbeddedServer | None = None
        self.redis: EmbeddedServer | None = None
        try:
            with writing(self.home.path):
                self.redis_url = redis_url or self._start_redis()
                self.database_url = database_url or self._start_postgres()
            if database_url:
                self.owner_url = settings().owner_database_url or database_url
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop the servers, Valkey first, and release the directory."""
        for server in (self.redis, self.postgres):
            if server:
                server.stop()
        self.home.release()

    def _start_redis(self) -> str:
        with timed(self._told, "Valkey"):
            self.redis = redis(self.home)
            self.redis.start()
        return self.redis.url

    def _start_postgres(self) -> str:
        with timed(self._told, "Postgres"):
            self.postgres = postgres(self.home)
            self.postgres.start()
        secrets = self.home.secrets
        self.owner_url, application_url = provision(
            self.postgres.url, database=DATABASE, owner_password=secrets.owner, application_password=secrets.application
        )
        return application_url


def postgres(home: Home) -> EmbeddedServer:
    """Return this home's Postgres, and make its data directory if there is none. `url` is the superuser's."""
    folder, data = postgres_folder(), home.path / "postgres"
    if not data.exists():
        _initdb(folder, data, home)
    # No server uses it: we hold the directory's lock, and have ended what was left. After a reboot its process id may
    # belong to another process, which Postgres would take for a running server.
    (data / "postmaster.pid").unlink(missing_ok=True)
    port = free_port()
    options = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": "",
        "max_connections": _MAX_CONNECTIONS,
        # At other levels it also logs the rows and statements of an error, which contain what users have written.
        "log_error_verbosity": "terse",
        "log_min_error_statement": "panic",
    }
    if home.ephemeral:
        options["fsync"] = "off"  # data survives kill -9 without it; only a crash of the machine needs it
    else:
        # New tables have no statistics. Until autovacuum gathers them, a turn reads all turns of its tenant.
        options["autovacuum_naptime"] = "15s"
    command = [str(folder / "postgres"), "-D", str(data)]
    command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    program = Program(
        name="postgres",
        command=command,
        stop_signal=signal.SIGINT,
        death_signal=signal.SIGINT,
        unprivileged=data,
    )
    url = f"postgresql://postgres:{home.secrets.superuser}@127.0.0.1:{port}/postgres"
    return EmbeddedServer(program, home, url, database.ping)


def redis(home: Home) -> EmbeddedServer:
    """Return this home's Valkey."""
    data, port = home.path / "redis", free_port()
    data.mkdir(mode=0o700, exist_ok=True)
    config = home.path / "redis.conf"
    # The configuration is in a file, because everybody can read a command line.
    write_private(
        config,
        f"bind 127.0.0.1\nport {port}\nrequirepass {home.secrets.redis}\ndir {_quoted(data)}\n"
        'appendonly yes\nappendfsync everysec\nsave ""\nmaxmemory-policy noeviction\n',
    )
    program = Program(name="redis", command=[str(redis_server()), str(config)], death_signal=signal.SIGTERM)
    return EmbeddedServer(program, home, f"redis://:{home.secrets.redis}@127.0.0.1:{port}/0", live.ping)


def free_port() -> int:
    """Return a port of this machine that nobody uses, below the range for outgoing connections.

    The port is closed by its own side here, so the kernel keeps it in TIME_WAIT for a minute. Our servers may listen at
    such a port (they set SO_REUSEADDR), and another call does not return it before its server has started.
    """
    while True:
        port = _LOWEST_PORT + secrets.randbelow(_PORTS)
        with socket.socket() as listening, suppress(OSError):
            listening.bind(("127.0.0.1", port))
            # Only now: before, it would let us bind what is kept for somebody else.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.listen()
            with socket.create_connection(("127.0.0.1", port)):
                listening.accept()[0].close()
            return port


def is_free(port: int) -> bool:
    """Return whether a server could listen at this port now."""
    with socket.socket() as probe:
        # Servers set this too, so that connections in TIME_WAIT of an ended server do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _initdb(folder: Path, data: Path, home: Home) -> None:
    """Make a data directory, completely or not at all: it gets its name when it is ready."""
    nursery = home.path / "postgres.new"
    shutil.rmtree(nursery, ignore_errors=True)
    nursery.mkdir(mode=0o700)
    password, new = nursery / "password", nursery / "data"
    write_private(password, home.secrets.superuser)
    command = [str(folder / "initdb"), "-D", str(new), "-U", "postgres", "--encoding=UTF8", *_locale(folder)]
    command += ["--auth=scram-sha-256", f"--pwfile={password}", *(["--no-sync"] if home.ephemeral else [])]
    done = subprocess.run(  # noqa: S603 - the command is our own
        launch_command(command, unprivileged=nursery), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Unavailable(f"initdb failed: {done.stderr.strip() or done.stdout.strip()}")
    new.rename(data)
    shutil.rmtree(nursery)


def _locale(folder: Path) -> list[str]:
    """Choose a locale that sorts the same on every machine. Postgres 17 added one that also knows all letters."""
    command = [str(folder / "postgres"), "--version"]
    version = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own
    if int(version.split()[2].split(".")[0]) < _BUILTIN_LOCALE_SINCE:
        return ["--locale=C"]
    return ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
