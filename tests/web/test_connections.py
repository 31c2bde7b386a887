"""Clients are slow, silent or many, at a real server with short time-outs."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from tests.facts import wait_for
from turnloom.models.runtime.settings import ROOT
from turnloom.web.connections import _address
from turnloom.workers.broker.commands import web_command
from turnloom.workers.embedded.servers import free_port

HEADER_S, BODY_S, IDLE_S = 0.6, 0.6, 1.2
PLACES = 40
CROWDED = PLACES * 7 // 8
LENGTH = b"POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
HANG = 20.0
"""Whoever is not let go of by then, never is."""

Connect = Callable[[], socket.socket]


@contextmanager
def served(**settings: object) -> Iterator[Connect]:
    """Run the application as the API is run; yield what connects to it."""
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
    """Send a request and return its answer, or what there is of it when the connection ends."""
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
    """Return all that comes until the server ends the connection."""
    told = b""
    with suppress(ConnectionResetError):
        while piece := client.recv(65_536):
            told += piece
    return told


def drip(client: socket.socket, text: bytes) -> None:
    """Send a byte now and then, each long before any time-out, until nobody takes them."""
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
    """Its header is sent with its body. A header without a body is sent, too, and so is one before a file."""
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


def test_who_never_says_anything_is_let_go(connect: Connect) -> None:
    """A connection without a first byte ends, without a word."""
    assert until_ended(connect()) == b""


def test_half_a_header_is_answered_and_let_go(connect: Connect) -> None:
    """This holds whether the client stops or goes on byte by byte."""
    still, slow = connect(), connect()

    still.sendall(b"GET / HTTP/1.1\r\nHost:")
    drip(slow, b"GET / HTTP/1.1\r\n" + b"X-Slow: 1\r\n" * 100)

    assert until_ended(still).startswith(b"HTTP/1.1 408 ")
    assert until_ended(slow).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("rest", [b"", b"123456789"], ids=["still", "slow"])
def test_half_a_body_is_answered_and_let_go(connect: Connect, rest: bytes) -> None:
    """The application hears of it as of any error of HTTP."""
    client = connect()
    client.sendall(LENGTH)
    drip(client, rest)

    assert until_ended(client).startswith(b"HTTP/1.1 408 ")


def test_half_a_chunk_is_answered_and_let_go(connect: Connect) -> None:
    """A body without a length is no other."""
    client = connect()
    client.sendall(b"POST /length HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc")

    assert until_ended(client).startswith(b"HTTP/1.1 408 ")


def test_a_connection_may_rest_between_requests(connect: Connect) -> None:
    """For longer than a header may take; then it ends without a word."""
    client = connect()
    first = asked(client, LENGTH + b"0123456789")
    began = time.monotonic()

    rest = until_ended(client)

    assert first.endswith(b"\r\n\r\n10")
    assert (rest, time.monotonic() - began > HEADER_S) == (b"", True)


def test_no_answer_is_cut_short(connect: Connect) -> None:
    """Neither one that is waited for longer than any time-out, nor a stream; the connection is good after it."""
    waiting, streaming = connect(), connect()
    streaming.sendall(b"GET /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    waited = asked(waiting, f"GET /wait?s={IDLE_S + 0.5} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    again = asked(waiting, LENGTH + b"0123456789")

    assert waited.endswith(b"waited")
    assert again.endswith(b"\r\n\r\n10")
    assert until_ended(streaming).count(b"data: ") == 8


def test_who_takes_nothing_of_an_answer_is_let_go(connect: Connect) -> None:
    """Data that fits into no buffer any more is not sent for ever."""
    client = connect()
    client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    time_over = time.monotonic() + 3 * IDLE_S
    wait_for(lambda: time.monotonic() > time_over)  # what is tested is what a silence of that length does

    assert len(until_ended(client)) < 65_536_000


def test_the_silent_make_room(connect: Connect) -> None:
    """Twice as many half-open connections as there are places keep nobody out, not even for a header's time."""
    with served(HEADER_TIMEOUT_S=300) as connect_here:
        flood = [connect_here() for _ in range(2 * PLACES)]
        for client in flood:
            with suppress(OSError):
                client.sendall(b"GET / HTTP/1.1\r\nHost:")

        answers = [asked(connect_here(), LENGTH + b"0123456789") for _ in range(3)]

        assert all(answer.endswith(b"\r\n\r\n10") for answer in answers)


def test_one_address_has_so_many_connections(connect: Connect) -> None:
    """Further ones are refused in a word, until one of them ends. Proxies may have any number."""
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


def test_what_open_requests_hold_is_not_looked_through_for_garbage(connect: Connect) -> None:
    """Collections look only at what new requests leave behind."""
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
def test_what_is_counted_as_one_address(peer: object, counted: str) -> None:
    """Of IPv6 the network, which one client has all of; a socket file is this machine's."""
    assert _address(peer) == counted
