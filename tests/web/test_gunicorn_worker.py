"""Slow, silent and numerous clients at a real server with short time-outs."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.facts import wait_for
from turnloom.models.runtime.settings import ROOT
from turnloom.web.gunicorn_worker import _address
from turnloom.workers.broker.command_lines import web_command
from turnloom.workers.embedded.servers import free_port

HEADER_S, BODY_S, IDLE_S = 0.6, 0.6, 1.2
PLACES = 40
CROWDED = PLACES * 7 // 8
LENGTH = b"POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
HANG = 20.0
"""A connection that is still open after this time is never closed."""

Connect = Callable[[], socket.socket]


@contextmanager
def served(**settings: object) -> Iterator[Connect]:
    """Start the API's server with the slow application; yield a function that connects to it."""
    port = free_port()
    command = web_command(bind=f"127.0.0.1:{port}", processes=1)
    command[command.index("turnloom.web.app:create_app()")] = "tests.web.slow_app:app"
    command[command.index("--worker-connections") + 1] = str(PLACES)
    times = {"HEADER_TIMEOUT_S": HEADER_S, "BODY_TIMEOUT_S": BODY_S, "IDLE_TIMEOUT_S": IDLE_S}
    named = {f"TURNLOOM_API_{name}": str(value) for name, value in (times | settings).items()}
    process = subprocess.Popen(command, env=os.environ | named, cwd=ROOT, stderr=subprocess.DEVNULL)
    opened = ExitStack()

    def connect() -> socket.socket:
        return opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=HANG))

    def answers() -> bool:
        with suppress(OSError):
            return b"waited" in asked(connect(), b"GET /wait?s=0 HTTP/1.1\r\nHost: x\r\n\r\n")
        return False

    try:
        wait_for(answers, within_s=30)
        opened.close()
        yield connect
    finally:
        opened.close()
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def connect() -> Iterator[Connect]:
    with served() as connecting:
        yield connecting


def asked(client: socket.socket, request: bytes) -> bytes:
    """Send a request. Return its answer, or the part of it that came before the connection ended."""
    client.sendall(request)
    told = b""
    while not (b"\r\n\r\n" in told and len(told.partition(b"\r\n\r\n")[2]) >= _length(told)):
        if not (piece := client.recv(65_536)):
            break
        told += piece
    return told


def _length(answer: bytes) -> int:
    return int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])


def until_ended(client: socket.socket) -> bytes:
    """Return everything that comes until the server ends the connection."""
    told = b""
    with suppress(ConnectionResetError):
        while piece := client.recv(65_536):
            told += piece
    return told


def drip(client: socket.socket, text: bytes) -> None:
    """Send the text byte by byte, each byte well before any time-out, until the server ends the connection."""
    deadline = time.monotonic() + HANG
    with suppress(OSError):
        for place in range(len(text)):
            assert time.monotonic() < deadline
            client.sendall(text[place : place + 1])
            client.settimeout(HEADER_S / 6)
            with suppress(TimeoutError):
                if not client.recv(1, socket.MSG_PEEK) or client.recv(1, socket.MSG_PEEK):
                    break
    client.settimeout(HANG)


def test_an_answer_goes_out_in_one_piece(connect: Connect) -> None:
    """The header is sent with the body. An answer to HEAD and the answer with a file are sent as well."""
    client = connect()
    told = []
    for request in (b"GET /wait?s=0", b"HEAD /wait?s=0"):
        client.sendall(request + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        told.append(client.recv(65_536))
    header, _, content = asked(client, b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n").partition(b"\r\n\r\n")

    assert told[0].endswith(b"\r\n\r\nwaited")
    assert told[1].endswith(b"\r\n\r\n")
    assert header.startswith(b"HTTP/1.1 200")
    assert content == (ROOT / "tests" / "web" / "slow_app.py").read_bytes()


def test_the_header_of_a_stream_does_not_wait(connect: Connect, tmp_path: Path) -> None:
    """It comes when the stream begins, even if nothing follows: no request ends without a status."""
    streaming, broken = connect(), connect()

    streaming.sendall(f"GET /silent?folder={tmp_path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    broken.sendall(b"GET /broken HTTP/1.1\r\nHost: x\r\n\r\n")
    first = b""
    while not first.endswith(b"\r\n\r\n") and (piece := streaming.recv(65_536)):
        first += piece
    (tmp_path / "go").touch()

    assert first.startswith(b"HTTP/1.1 200 ")
    assert b"data: went" in until_ended(streaming)
    assert until_ended(broken).startswith(b"HTTP/1.1 200 ")


def test_who_sends_too_much_still_reads_the_answer(connect: Connect) -> None:
    """The connection is not reset under a client that is still sending a header which was refused."""
    client = connect()
    with suppress(OSError):
        client.sendall(b"POST /length HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 60_000 + b"\r\n\r\n" + b"y" * 30_000)

    assert until_ended(client).startswith(b"HTTP/1.1 431 ")


def test_an_answer_to_a_broken_body_ends_the_connection(connect: Connect) -> None:
    """Where the next request begins is unknown. The answer says that the connection ends."""
    client = connect()
    client.sendall(b"POST /length HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
    answer = until_ended(client)

    assert answer.startswith(b"HTTP/1.1 ")
    assert b"\r\nConnection: close\r\n" in answer


def test_a_silent_connection_is_closed(connect: Connect) -> None:
    """The server closes a connection on which it receives nothing, and sends nothing."""
    assert until_ended(connect()) == b""


def test_half_a_header_gets_408(connect: Connect) -> None:
    """The client gets 408, whether it stops within the header or goes on byte by byte."""
    still, slow = connect(), connect()

    still.sendall(b"GET / HTTP/1.1\r\nHost:")
    drip(slow, b"GET / HTTP/1.1\r\n" + b"X-Slow: 1\r\n" * 100)

    assert until_ended(still).startswith(b"HTTP/1.1 408 ")
    assert until_ended(slow).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("rest", [b"", b"123456789"], ids=["still", "slow"])
def test_half_a_body_gets_408(connect: Connect, rest: bytes) -> None:
    """The client gets 408, whether it stops within the body or goes on byte by byte."""
    client = connect()
    client.sendall(LENGTH)
    drip(client, rest)

    assert until_ended(client).startswith(b"HTTP/1.1 408 ")


def test_half_a_chunk_gets_408(connect: Connect) -> None:
    """A body without a length has the same time-out."""
    client = connect()
    client.sendall(b"POST /length HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc")

    assert until_ended(client).startswith(b"HTTP/1.1 408 ")


def test_a_connection_may_rest_between_requests(connect: Connect) -> None:
    """A connection may rest longer than a header may take. Then the server closes it and sends nothing."""
    client = connect()
    first = asked(client, LENGTH + b"0123456789")
    began = time.monotonic()

    rest = until_ended(client)

    assert first.endswith(b"\r\n\r\n10")
    assert (rest, time.monotonic() - began > HEADER_S) == (b"", True)


def test_no_answer_is_cut_short(connect: Connect) -> None:
    """An answer may take longer than any time-out, a stream as well, and the connection can be used again."""
    waiting, streaming = connect(), connect()
    streaming.sendall(b"GET /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    waited = asked(waiting, f"GET /wait?s={IDLE_S + 0.5} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    again = asked(waiting, LENGTH + b"0123456789")

    assert waited.endswith(b"waited")
    assert again.endswith(b"\r\n\r\n10")
    assert until_ended(streaming).count(b"data: ") == 8


def test_a_client_that_does_not_read_is_cut_off(connect: Connect) -> None:
    """The server closes a connection whose client does not read."""
    client = connect()
    client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    time_over = time.monotonic() + 3 * IDLE_S
    wait_for(lambda: time.monotonic() > time_over)  # the client's silence itself is what the test needs

    assert len(until_ended(client)) < 65_536_000


def test_half_open_connections_make_room(connect: Connect) -> None:
    """Half-open connections, twice as many as the server has places, keep nobody out, not even for a time-out."""
    with served(HEADER_TIMEOUT_S=300) as connect_here:
        flood = [connect_here() for _ in range(2 * PLACES)]
        for client in flood:
            with suppress(OSError):
                client.sendall(b"GET / HTTP/1.1\r\nHost:")

        answers = [asked(connect_here(), LENGTH + b"0123456789") for _ in range(3)]

        assert all(answer.endswith(b"\r\n\r\n10") for answer in answers)


def test_an_address_has_a_limited_number_of_connections(connect: Connect) -> None:
    """An address has a limited number of connections. Further ones get 429 until one ends. Proxies have no limit."""
    with served(CONNECTIONS_PER_ADDRESS=3, PROXIES="[]") as connect_here:
        held: list[socket.socket] = []

        def hold() -> bool:
            if _is_let_in(client := connect_here()):
                held.append(client)
            return len(held) == 3

        wait_for(hold)
        refused = until_ended(connect_here())
        held[0].close()

        assert refused.startswith(b"HTTP/1.1 429 ")
        wait_for(lambda: _is_let_in(connect_here()))

    with served(CONNECTIONS_PER_ADDRESS=3) as connect_here:
        assert all(_is_let_in(connect_here()) for _ in range(5))


def _is_let_in(client: socket.socket) -> bool:
    with suppress(ConnectionResetError, BrokenPipeError):
        return asked(client, LENGTH + b"0123456789").endswith(b"\r\n\r\n10")
    return False


def test_garbage_collections_skip_what_open_requests_hold(connect: Connect) -> None:
    """The garbage collector looks only at objects that new requests leave behind."""
    answer = asked(connect(), b"GET /garbage HTTP/1.1\r\nHost: x\r\n\r\n")
    young, *older = map(int, answer.rpartition(b"[")[2].strip(b"]\n").split(b","))

    assert young > 50
    assert older == [0, 0]


@pytest.mark.parametrize(
    ("peer", "counted"),
    [
        (("10.1.2.3", 5), "10.1.2.3"),
        (("::ffff:10.1.2.3", 5, 0, 0), "10.1.2.3"),
        (("2001:db8:1:2:3:4:5:6", 5, 0, 0), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 5, 0, 0), "fe80::/64"),
        (("::1", 5, 0, 0), "::1"),
        ("", "::1"),
    ],
)
def test_clients_that_count_as_one_address(peer: object, counted: str) -> None:
    """An IPv6 client counts as its /64 network, of which it has every address. A socket file counts as this machine."""
    assert _address(peer) == counted
