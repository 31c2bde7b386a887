"""Start and stop the whole service together: Postgres, Valkey, the API, the workers and beat."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import httpx2

from turnloom.models.contracts.fault_file import FaultFile
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.fault_folder import make_fault_folder
from turnloom.models.runtime.settings import Placement, settings
from turnloom.tools.packs.hotel.settings import HotelSettings
from turnloom.workers.broker.command_lines import (
    beat_command,
    flower_command,
    queues_of_threads,
    web_command,
    worker_command,
)
from turnloom.workers.embedded.forks import ForkedProcess, Preloader, preloading
from turnloom.workers.embedded.home import ApiAccess
from turnloom.workers.embedded.injection import Injection, check_names, check_servers
from turnloom.workers.embedded.process import Process, Program, launch_command
from turnloom.workers.embedded.progress import Told, tell_nobody, timed
from turnloom.workers.embedded.servers import EmbeddedServer, EmbeddedServers, free_port, is_free

_HOST = "127.0.0.1"
_READY_TIMEOUT_S = 60.0
_FINISH_TIMEOUT_S = 30.0
_PROBE_TIMEOUT_S = 3.0
_BACKLOG = 2048
"""Connections that may wait for a web server."""
# By default Flower's API refuses requests without a login. Here it listens on this machine only, and changes nothing.
_FLOWER_SETTINGS = {"TURNLOOM_TASK_EVENTS": "true", "FLOWER_UNAUTHENTICATED_API": "true"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StackOptions:
    """The choice of a stack's parts."""

    data_dir: Path | None = Path(".turnloom")
    """Directory for the data; None means a temporary directory that is removed at the end."""
    port: int = 8000
    """Port of the API; 0 chooses a free one."""
    webs: int = 1
    """Web servers, which share one socket."""
    planners: int = 1
    """Worker processes that plan and answer."""
    tool_workers: int = 2
    """Worker processes for `tools.io`."""
    flower_port: int | None = None
    """Port of Flower; 0 chooses a free one, None leaves Flower out."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further environment variables for the processes."""
    faults: FaultFile | None = None
    """What goes wrong once the stack is ready."""


class Stack:
    """The whole service as child processes, while the context is open.

    Attributes: `url`, `flower_url` (None without Flower), `dev_key`, `servers`, `processes` (by name: web, web-2 …,
    beat, worker-plan, worker-plan-2 …, worker-io-1 …, worker-cpu, worker-replay, flower) and `environment`, which makes
    another process of ours use this stack.
    """

    def __init__(self, options: StackOptions, told: Told = tell_nobody) -> None:
        """`told` is called for each part that comes up."""
        self.options = options
        self._told = told
        self.processes: dict[str, Process] = {}
        self.closing = False
        self._socket: socket.socket | None = None
        self._injection = ExitStack()

    def __enter__(self) -> Self:
        given = settings().model_fields_set
        if self.options.faults:
            check_names(self.options.faults, [*self._web_names(), *self._celery_commands()])
            check_servers(given)
        # The preloader loads while Postgres starts and the database is migrated.
        with preloading(len(self._celery_commands()), self.options.settings) as preloader:
            self.servers = EmbeddedServers(
                self.options.data_dir,
                database_url=settings().database_url if "database_url" in given else None,
                redis_url=settings().redis_url if "redis_url" in given else None,
                told=self._told,
            )
            try:
                self._start(preloader)
            except BaseException:
                self.close()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let every process finish its work, then stop the servers. Leaves no process and no pid file."""
        self.closing = True
        self._injection.close()
        deadline = time.monotonic() + _FINISH_TIMEOUT_S
        for process in self.processes.values():
            process.ask_to_stop()
        for process in self.processes.values():
            process.stop(max(deadline - time.monotonic(), 0.0))
        if self._socket:
            self._socket.close()
        self.servers.home.withdraw()
        self.servers.close()

    def hurry(self) -> None:
        """While `close` waits, kill the processes instead. May be called from a signal handler."""
        for process in self.processes.values():
            process.kill()

    @property
    def database_url(self) -> str:
        """URL of Postgres for the application's role."""
        return self.servers.database_url

    @property
    def redis_url(self) -> str:
        """Valkey."""
        return self.servers.redis_url

    @property
    def environment_file(self) -> Path:
        """The file that a shell sources so that its commands use this stack."""
        return self.servers.home.environment_file

    @property
    def postgres(self) -> EmbeddedServer:
        """The embedded Postgres, to be stopped and started."""
        assert self.servers.postgres, "DATABASE_URL names another server"
        return self.servers.postgres

    @property
    def redis(self) -> EmbeddedServer:
        """The embedded Valkey, to be stopped and started."""
        assert self.servers.redis, "REDIS_URL names another server"
        return self.servers.redis

    def _start(self, preloader: Preloader | None) -> None:
        port = _port(self.options.port, "--port")
        flower = self.options.flower_port
        flower_port = None if flower is None else _port(flower, "--flower-port")
        self.url = f"http://{_HOST}:{port}"
        self.flower_url = None if flower_port is None else f"http://{_HOST}:{flower_port}"
        self.dev_key = settings().dev_key or self.servers.home.secrets.dev_key
        self.environment = {
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "TURNLOOM_DEV_KEY": self.dev_key,
            "TURNLOOM_CONSOLE_SIGN_IN": str(settings().console_sign_in is not False),
            "TURNLOOM_OFFLINE_MODEL": "true",
            "TURNLOOM_LINK_SECRET": settings().of(HotelSettings).link_secret or self.servers.home.secrets.link_secret,
            "TURNLOOM_AUDIT_KEY": settings().audit_key or self.servers.home.secrets.audit_key,
            "TURNLOOM_SECRET_KEYS": json.dumps(settings().secret_keys or [self.servers.home.secrets.secret_key]),
            "TURNLOOM_RUN_DIR": str(self.servers.home.path / "pulses"),
            "TURNLOOM_PACKS": json.dumps(list(dict.fromkeys([*settings().packs, "sim"]))),
            **({"TURNLOOM_FLOWER_URL": self.flower_url, **_FLOWER_SETTINGS} if self.flower_url else {}),
            **self.options.settings,
        }
        self._of_processes = self.environment | self._going_wrong()
        forks = preloader.fork(self._of_processes, self.servers.home.logs / "preloader.log") if preloader else []
        # The socket outlives every web server: the next one answers clients that connect while none runs.
        self._socket = socket.create_server((_HOST, port), backlog=_BACKLOG)
        web, workers = self._web_programs(self._socket.fileno()), self._programs(flower_port, forks)
        # A web server needs no tables to start.
        self._run(web)
        with timed(self._told, "the database's tables"):
            self._migrate()
        self._run(workers)
        self._wait_for("web", "the API", f"{self.url}/healthz")
        self._wait_for("web", "the workers and beat", f"{self.url}/healthz?deep=1")
        if self.flower_url:
            self._wait_for("flower", "Flower", f"{self.flower_url}/healthcheck")
        reached = {"TURNLOOM_API_URL": self.url, "TURNLOOM_API_KEY": self.dev_key}
        self.servers.home.publish(ApiAccess(self.url, self.dev_key), {**self.environment, **reached})
        if self.options.faults:
            self._injection.enter_context(self.inject(self.options.faults))

    def inject(self, file: FaultFile) -> Injection:
        """Return a context in which processes of the running stack die, and messages come twice, as a file says.

        Raises:
            Misconfigured: it names a process or a queue that there is none of.
        """
        return Injection(file, self.processes, self.redis_url, self._crash_at)

    @property
    def _crash_at(self) -> Path:
        given = self.options.settings.get("TURNLOOM_CRASH_AT")
        return Path(given) if given else self.servers.home.path / "crash_at"

    def _going_wrong(self) -> dict[str, str]:
        """Return the settings by which the processes, and no others, read the fault file; none without one."""
        if self.options.faults is None:
            return {}
        folder = self.servers.home.path / "faults"
        make_fault_folder(folder, self.options.faults)
        self._crash_at.write_text("")  # a stack that was killed may have left points in it
        crash_at = {"TURNLOOM_CRASH_AT": str(self._crash_at)} if self.options.faults.crash_points else {}
        return {"TURNLOOM_FAULTS": str(folder), **crash_at}

    def _wait_for(self, process: str, part: str, url: str) -> None:
        # One client serves all checks: making one reads all of the machine's certificate authorities.
        with timed(self._told, part), httpx2.Client(timeout=_PROBE_TIMEOUT_S) as http:
            self.processes[process].wait_until(partial(_check_ready, http, url), timeout_s=_READY_TIMEOUT_S)

    def _migrate(self) -> None:
        """Bring the database up to date, in a process with this stack's settings."""
        done = subprocess.run(  # noqa: S603 - our own command
            launch_command([sys.executable, "-m", "turnloom.workers.cli", "migrate", "--with-dev-key"]),
            env={**os.environ, **self.environment, "TURNLOOM_OWNER_DATABASE_URL": self.servers.owner_url},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise Unavailable(f"the database could not be migrated: {done.stderr.strip() or done.stdout.strip()}")

    def _run(self, programs: Iterable[Program]) -> None:
        for program in programs:
            process = Process(program, records=self.servers.home.records, logs=self.servers.home.logs)
            self.processes[program.name] = process
            process.start()

    def _web_programs(self, listening: int) -> list[Program]:
        """Return the web servers. `listening` is the file number of the API's socket."""
        command = web_command(bind=f"fd://{listening}", processes=1)
        ours = partial(Program, environment=self._of_processes, command=command, is_watched=True, files=(listening,))
        return [ours(name=name) for name in self._web_names()]

    def _web_names(self) -> list[str]:
        return ["web", *(f"web-{number}" for number in range(2, self.options.webs + 1))]

    def _programs(self, flower_port: int | None, forks: Sequence[ForkedProcess]) -> list[Program]:
        """Return the programs that need the database's tables: beat, the workers, and Flower."""
        ours = partial(Program, environment=self._of_processes)
        programs = [
            ours(name=name, command=command, is_watched=True, fork=fork)
            for (name, command), fork in zip_longest(self._celery_commands().items(), forks)
        ]
        if flower_port is not None:
            programs.append(ours(name="flower", command=flower_command(host=_HOST, port=flower_port)))
        return programs

    def _celery_commands(self) -> dict[str, list[str]]:
        """Return the commands of beat and the workers, by the names of their processes."""
        placement = self.options.settings.get("TURNLOOM_PLACEMENT", settings().placement)
        threads = queues_of_threads(self.options.planners, self.options.tool_workers, cast("Placement", placement))
        commands = {
            "beat": beat_command(),
            "worker-cpu": worker_command(["tools.cpu"], name="worker-cpu", pool="prefork", concurrency=2),
            "worker-replay": worker_command(["replay"], name="worker-replay", pool="threads", concurrency=2),
        }
        for name, queues in threads.items():
            commands[f"worker-{name}"] = worker_command(queues, name=f"worker-{name}", pool="threads", concurrency=16)
        return commands


def _port(wanted: int, option: str) -> int:
    port = wanted or free_port()
    if not is_free(port):
        raise Unavailable(f"port {port} is taken; stop what listens there, or choose another {option}")
    return port


def _check_ready(http: httpx2.Client, url: str) -> None:
    try:
        answer = http.get(url)
    except httpx2.HTTPError as error:
        raise Unavailable(f"{url} does not answer: {error}") from error
    if answer.status_code != httpx2.codes.OK:
        raise Unavailable(f"{url} says {answer.status_code}: {answer.text[:300]}")
