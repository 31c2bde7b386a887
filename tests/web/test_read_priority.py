"""A message is accepted before reads that come with it, however many. The order of the answers shows it."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.facts import wait_for
from tests.web.slow_app import READERS
from tests.web.test_gunicorn_worker import Connect, asked, served

MESSAGE = b"POST /place HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
FIRST = {0, 1, 2}
"""Two readers may be answered before a message: one that has just been let through, and one between two messages."""


@pytest.fixture
def connect() -> Iterator[Connect]:
    # No connection may time out while the process is blocked.
    with served(HEADER_TIMEOUT_S=60, IDLE_TIMEOUT_S=60) as connecting:
        yield connecting


def test_a_message_is_answered_before_simultaneous_reads(connect: Connect, tmp_path: Path) -> None:
    """The message may come before all readers or after them."""
    holder, before, after, *readers = clients = [connect() for _ in range(3 + READERS)]
    for client in clients:
        asked(client, b"GET /wait?s=0 HTTP/1.1\r\nHost: x\r\n\r\n")  # the server has it
    holder.sendall(_get(f"/hold?folder={tmp_path}"))
    wait_for((tmp_path / "held").exists)
    before.sendall(MESSAGE)
    for reader in readers:
        reader.sendall(_get("/place"))
    after.sendall(MESSAGE)
    (tmp_path / "go").touch()

    assert {_place(before), _place(after)} <= FIRST
    assert {_place(reader) for reader in readers} < set(range(READERS + 2))


def test_a_message_overtakes_the_answers_of_a_shared_read(connect: Connect, tmp_path: Path) -> None:
    """A message that comes during a shared read is answered before all but two of the readers."""
    poster, *readers = [connect() for _ in range(1 + READERS)]
    asked(poster, b"GET /wait?s=0 HTTP/1.1\r\nHost: x\r\n\r\n")
    for reader in readers:
        reader.sendall(_get(f"/read?folder={tmp_path}"))
    wait_for((tmp_path / "held").exists)
    poster.sendall(MESSAGE)
    (tmp_path / "go").touch()

    place = _place(poster)
    answers = [asked(reader, b"").rpartition(b"\n")[2].split() for reader in readers]
    assert sum(int(before) < place for was_last, before in answers if was_last == b"True") in FIRST


def _get(address: str) -> bytes:
    return f"GET {address} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def _place(client: socket.socket) -> int:
    return int(asked(client, b"").rpartition(b"\n")[2])
