"""Run PgBouncer in front of a server, for tests of the code that must work behind it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from turnloom.models.connections import database
from turnloom.workers.embedded.process import Process, Program
from turnloom.workers.embedded.servers import free_port

SERVER_CONNECTIONS = 4

_PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
_START_TIMEOUT_S = 30


@contextmanager
def pooled(database_url: str, folder: Path, *, more: str = "") -> Iterator[str]:
    """Run PgBouncer in transaction mode, with few server connections. Yield the URL of the database through it.

    Skips the test if PgBouncer is not installed.
    """
    if _PROGRAM is None:
        pytest.skip("PgBouncer is not installed: apt-get install pgbouncer")
    url, port = make_url(database_url), free_port()
    folder.mkdir(exist_ok=True)
    (folder / "users.txt").write_text(f'"{url.username}" "{url.password}"\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host={url.host} port={url.port}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = scram-sha-256\nauth_file = {folder}/users.txt\npool_mode = transaction\n"
        f"default_pool_size = {SERVER_CONNECTIONS}\nmax_client_conn = 500\nadmin_users = {url.username}\n{more}\n"
    )
    command = [_PROGRAM, str(folder / "pgbouncer.ini")]
    process = Process(Program(name="pgbouncer", command=command, unprivileged=folder), records=folder, logs=folder)
    through = url.set(port=port).render_as_string(hide_password=False)
    process.start()
    try:
        process.wait_until(lambda: database.ping(through), timeout_s=_START_TIMEOUT_S)
        yield through
    finally:
        process.stop(5)


def reconnect(through: str) -> None:
    """Let PgBouncer open new connections to the server, with the role's current settings."""
    console = make_url(through).set(database="pgbouncer").render_as_string(hide_password=False)
    with psycopg.connect(console, autocommit=True) as db:
        db.execute("RECONNECT")
