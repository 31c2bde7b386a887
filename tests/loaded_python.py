"""Run Python as `python -m` and `python -c` do, but in forks of a process that has loaded what most programs need.

Loading them takes longer than most commands. Of ours only modules of `models` are loaded, which read no setting then:
the examples of the documents bring their own `tools`.

In: `loaded_python.py SOCKET -m MODULE ARGUMENT…` runs a module with this directory, environment and standard files,
`loaded_python.py SOCKET -c CODE ARGUMENT…` a text.
`loaded_python.py SOCKET` is the process that forks, until its standard input ends.
"""

import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOADED = (
    *("alembic.command", "babel.numbers", "celery", "click", "httpx2", "jinja2", "openai", "opentelemetry.trace"),
    *("psycopg", "psycopg_pool", "pydantic_settings", "redis", "rich.console", "sqlalchemy.dialects.postgresql"),
    *("sqlalchemy.orm", "structlog", "yaml"),
    *("turnloom.models.connections.redis", "turnloom.models.ledger.conversations", "turnloom.models.ledger.keys"),
    *("turnloom.models.ledger.integrations", "turnloom.models.ledger.steps", "turnloom.models.runtime.logging"),
)
_FILES = 3
"""Standard input, standard output, standard error."""


@contextmanager
def serving() -> Iterator[list[str]]:
    """Start the process that forks. Yield the beginning of a command line; `-m` or `-c` follows."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, str(Path(folder) / "socket")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
            yield [sys.executable, "-E", "-S", *command[1:]]


def _serve(path: str) -> None:
    for name in _LOADED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        # Its standard input ends with the process that started it.
        while 0 not in select.select([listening, 0], [], [])[0]:
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                _answer(connection)
            connection.close()


def _answer(connection: socket.socket) -> None:
    """Run the program in a fork, and tell its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length = int.from_bytes(connection.recv(4))
    _, files, _, _ = socket.recv_fds(connection, 1, _FILES)
    with connection.makefile("rb") as asked:
        wanted = json.loads(asked.read(length))
    running = os.fork()
    if running == 0:
        connection.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        _run(**wanted)
    code = os.waitstatus_to_exitcode(os.waitpid(running, 0)[1])
    connection.sendall(bytes([code if code >= 0 else 128 - code]))
    os._exit(0)


def _run(kind: str, program: str, arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[0:1] = [folder, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = [program if kind == "-m" else kind, *arguments]
    if kind == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
    sys.exit()


def _ask(path: str, kind: str, program: str, *arguments: str) -> int:
    """Have a program run, and return its exit code."""
    wanted = {
        "kind": kind,
        "program": program,
        "arguments": arguments,
        "folder": str(Path.cwd()),
        "environment": dict(os.environ),
    }
    text = json.dumps(wanted).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(len(text).to_bytes(4))
        socket.send_fds(connection, [b"0"], list(range(_FILES)))
        connection.sendall(text)
        return connection.recv(1)[0]


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(_ask(*sys.argv[1:]))
    _serve(sys.argv[1])
