"""Load once what workers and beat need, and fork: `python -m turnloom.workers.embedded.preloader SUPERVISOR SOCKET…`.

In: the supervisor's process id, and for each fork the number of a socket. On standard input come, as JSON, the settings
and the path of the log. They come when Postgres runs; what needs no settings is loaded before.

Out: on each socket the process id of its fork. A line of JSON comes back that tells the fork what to become. If the
socket is closed instead, the fork ends.

This process ends as soon as it has forked, and the supervisor becomes the parent of its forks. It has one thread and no
connection; all that a fork inherits is loaded modules, the settings, the tools and the texts of replies, which are the
same in all of them.
"""

import ctypes
import importlib
import json
import os
import signal
import socket
import sys
import time
from contextlib import suppress

from turnloom.models.errors import TurnloomError
from turnloom.models.runtime.lean_imports import loading
from turnloom.workers.broker import celery_program
from turnloom.workers.embedded.launch import end_with_parent

_PROGRAMS = ("celery.bin.beat", "celery.bin.worker", "celery.concurrency.prefork", "celery.concurrency.thread")
_TASKS = "turnloom.workers.broker.app"
_WITHOUT_SETTINGS = (
    *_PROGRAMS,
    "turnloom.planner.llm.openai",
    "turnloom.planner.reply.responder",
    "turnloom.models.ledger.steps",
)
"""Modules that read no setting when they are loaded. With what they load, they are most of the work."""
_PR_SET_NAME = 15


def main(supervisor: int, sockets: list[int]) -> None:
    """Load and fork. In each fork, become what the supervisor wants."""
    end_with_parent(signal.SIGKILL, supervisor)
    load_without_settings()
    given = sys.stdin.read()
    if not given:
        return
    _enter(**json.loads(given))
    load()
    preloader = os.getpid()
    for number in sockets:
        if os.fork() == 0:
            for other in set(sockets) - {number}:
                os.close(other)
            _belong_to(supervisor, preloader)
            _become(socket.socket(fileno=number))
            return
    # What modules want done at the end of a process is for the forks to do.
    os._exit(0)


def load_without_settings() -> None:
    """Load as much as can be loaded before the settings are known."""
    with loading():
        for name in _WITHOUT_SETTINGS:
            importlib.import_module(name)
        importlib.import_module("turnloom.planner.reply.grounding").prepare()


def load() -> None:
    """Load the modules of every worker and of beat, and the tools and texts of every worker."""
    with loading():
        importlib.import_module(_TASKS).app.loader.import_default_modules()
        with suppress(TurnloomError):  # each worker meets the same fault, says what it is, and ends
            importlib.import_module("turnloom.workers.turns.process_parts").load_shared()


def _enter(environment: dict[str, str], log: str) -> None:
    """Take these settings and this log. Standard input becomes empty."""
    os.environ.update(environment)
    _redirect(0, os.devnull, os.O_RDONLY)
    for output in (1, 2):
        _redirect(output, log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def _redirect(number: int, path: str, flags: int) -> None:
    opened = os.open(path, flags, 0o666)
    os.dup2(opened, number)
    os.close(opened)


def _belong_to(supervisor: int, preloader: int) -> None:
    """Lead a session of our own and end with the supervisor, as every process does that it starts itself."""
    while os.getppid() == preloader:
        time.sleep(0.001)
    os.setsid()
    end_with_parent(signal.SIGKILL, supervisor)


def _become(connection: socket.socket) -> None:
    wanted = ""
    with suppress(ConnectionError), connection, connection.makefile("rw", encoding="utf-8") as lines:
        print(os.getpid(), file=lines, flush=True)
        wanted = lines.readline()
    if wanted:
        _run(**json.loads(wanted))


def _run(name: str, arguments: list[str], environment: dict[str, str], log: str) -> None:
    """Run a Celery program as a process of its own would: with this name, environment and log."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode())
    os.environ.clear()
    _enter(environment, log)
    sys.argv = [celery_program.__file__, *arguments]
    celery_program.main(arguments[0], arguments[1], arguments[2:])


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(number) for number in sys.argv[2:]])
