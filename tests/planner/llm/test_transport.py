"""Persistent connections work against a server that misbehaves on the wire."""

import gzip
import socket
import ssl
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.certificates import certificate
from tests.facts import wait_for
from tests.planner.llm.wire import OK, Wire, chunked, echoes, resets, sends, wire
from turnloom.planner.llm.transport import KeptConnections

HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def server() -> Iterator[Wire]:
    """Run a server that answers by script."""
    with wire() as server:
        yield server


@pytest.fixture
def http(server: Wire) -> Iterator[httpx2.Client]:
    """Return a client of the server with kept connections."""
    with httpx2.Client(transport=KeptConnections(), base_url=server.address, timeout=8) as client:
        yield client


@pytest.mark.parametrize(
    "answer",
    [
        OK,
        chunked(b"o", b"k"),
        chunked(b"ok").replace(b"0\r\n\r\n", b"0\r\nServer-Timing: 3\r\n\r\n"),
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK,
    ],
    ids=["length", "chunks", "trailer", "informational"],
)
def test_a_connection_is_used_again(server: Wire, http: httpx2.Client, answer: bytes) -> None:
    """After a whole answer of any form, the next request uses the same connection."""
    server.otherwise = sends(answer)

    texts = [http.post("/", content=b"x" * 100_000).text for _ in range(3)]

    assert texts == ["ok", "ok", "ok"]
    assert server.connections == [1, 1, 1]


@pytest.mark.parametrize(
    "answer",
    [
        OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
        OK.replace(b"1.1", b"1.0"),
        OK + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nforged"[:-1],
    ],
    ids=["close", "http 1.0", "another answer"],
)
def test_a_connection_that_ends_or_says_too_much_is_not_used_again(
    server: Wire, http: httpx2.Client, answer: bytes
) -> None:
    """If a server announces a close, or sends more than the answer, the next request gets a new connection."""
    server.otherwise = sends(answer)

    texts = [http.post("/").text for _ in range(2)]

    assert texts == ["ok", "ok"]
    assert server.connections == [1, 2]


@pytest.mark.parametrize("parting", [sends(goes_on=False), resets], ids=["closes", "resets"])
def test_a_connection_that_died_is_replaced_once(server: Wire, http: httpx2.Client, parting: object) -> None:
    """If a kept connection ends before the answer, there is one more try. For a new connection there is none."""
    server.answers = [sends(OK), parting, sends(OK), parting, parting]  # type: ignore[list-item]

    texts = [http.post("/").text for _ in range(2)]
    with pytest.raises(httpx2.RemoteProtocolError):
        http.post("/")

    assert texts == ["ok", "ok"]
    assert server.connections == [1, 1, 2, 2, 3]


def test_a_connection_that_was_closed_while_idle_is_not_tried(server: Wire, http: httpx2.Client) -> None:
    """The close is noticed before the next request is sent."""
    server.answers = [sends(OK, goes_on=False)]

    texts = [http.post("/").text for _ in range(2)]

    assert texts == ["ok", "ok"]
    assert server.connections in ([1, 2], [1, 1, 2])  # the end of the connection may still be under way


@pytest.mark.parametrize("part", [b"H", HEAD, HEAD + b"Content-Length: 5\r\n\r\nhal"], ids=["byte", "line", "body"])
def test_a_request_answered_in_part_is_not_sent_again(server: Wire, http: httpx2.Client, part: bytes) -> None:
    """After the first byte of an answer there is no second try, even on a kept connection."""
    server.answers = [sends(OK), sends(part, goes_on=False)]
    http.post("/")

    with pytest.raises(httpx2.RemoteProtocolError):
        http.post("/")

    assert server.connections == [1, 1]


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        HEAD + b"Content-Length: -5\r\n\r\nhello",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nsoon\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * 300_000,
        HEAD + b"X: " + b"x" * 300_000 + b"\r\n\r\n",
        HEAD + b"X: x\r\n" * 60_000 + b"\r\n",
        b"220 mail.example ESMTP\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n",
    ],
    ids=["lengths", "negative", "chunk", "endless chunk", "header", "headers", "mail", "upgrade", "tls"],
)
def test_an_invalid_http_answer_is_an_error(server: Wire, http: httpx2.Client, answer: bytes) -> None:
    """Wrong lengths, endless headers and other protocols are protocol errors. Nothing more is read."""
    server.answers = [sends(answer)]

    with pytest.raises(httpx2.RemoteProtocolError):
        http.post("/")

    wait_for(lambda: server.ended or server.connections == [1])
    assert http.post("/").text == "ok"
    assert server.connections == [1, 2]


@pytest.mark.parametrize("after", [b"", HEAD, HEAD + b"Transfer-Encoding: chunked\r\n\r\n"], ids=["", "head", "body"])
@pytest.mark.parametrize("piece", [b"", b"1\r\nx\r\n"], ids=["silent", "dripping"])
def test_the_time_to_read_bounds_the_whole_answer(
    server: Wire, http: httpx2.Client, after: bytes, piece: bytes
) -> None:
    """A server that falls silent, and one that sends a little now and then, end at the same timeout."""
    dripping = piece if after.endswith(b"\r\n\r\n") else b"HTTP/1.1 100 Go on\r\n\r\n" if not after else b"X: x\r\n"
    server.otherwise = server.repeats(dripping if piece else b"", after=after)

    with pytest.raises(httpx2.ReadTimeout):
        http.post("/", timeout=0.3)

    assert server.connections == [1]


def test_a_server_that_takes_nothing_ends_the_sending(http: httpx2.Client) -> None:
    """A request that a server does not read ends at the write timeout."""
    much, timeout = b"x" * 50_000_000, httpx2.Timeout(8, write=0.3)

    with socket.create_server(("127.0.0.1", 0)) as deaf, pytest.raises(httpx2.WriteTimeout):
        http.post(f"http://localhost:{deaf.getsockname()[1]}", content=much, timeout=timeout)


def test_a_server_that_does_not_finish_tls_ends_the_connecting(server: Wire, http: httpx2.Client) -> None:
    """A silent TLS server ends at the connect timeout. A port on which nothing listens ends at once."""
    address = server.address.replace("http:", "https:")

    with pytest.raises(httpx2.ConnectTimeout):
        http.post(address, timeout=httpx2.Timeout(8, connect=0.3))
    with pytest.raises(httpx2.ConnectError):
        http.post("http://localhost:9")
    with pytest.raises(httpx2.UnsupportedProtocol):
        http.post("ftp://localhost/")


def test_a_stream_that_is_closed_early_gives_its_connection_up(server: Wire, http: httpx2.Client) -> None:
    """If part of an answer was not read, its connection is closed, so that nobody else reads the rest."""
    begun = HEAD + b"Content-Length: 100\r\n\r\nfirst"
    server.answers = [sends(begun)]

    with http.stream("POST", "/") as response:
        first = next(response.iter_raw())

    assert first == b"first"
    wait_for(lambda: server.ended == [1])
    assert http.post("/").text == "ok"
    assert server.connections == [1, 2]


def test_an_end_that_comes_after_the_last_words_is_waited_for(server: Wire, http: httpx2.Client) -> None:
    """A reader that stops at `[DONE]` keeps its connection, although the end of the body comes later."""
    body = chunked(b"data: [DONE]\n\n")
    server.otherwise = sends(body.removesuffix(b"0\r\n\r\n"), b"0\r\n\r\n")

    for _ in range(20):  # on a slow machine the end may be late once
        with http.stream("POST", "/") as response:
            assert next(response.iter_raw()) == b"data: [DONE]\n\n"

    assert len(set(server.connections)) < 20


@pytest.mark.parametrize(("encoding", "encode"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_encoded_bodies_are_decoded(server: Wire, http: httpx2.Client, encoding: str, encode: object) -> None:
    """The reader gets the plain text of a compressed body."""
    encoded: bytes = encode(b"many words")  # type: ignore[operator]
    server.answers = [sends(chunked(encoded[:5], encoded[5:], Content_Encoding=encoding))]

    assert http.post("/").text == "many words"


def test_a_certificate_must_be_trusted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A server is trusted if SSL_CERT_FILE has its certificate, and refused by default or under another name."""
    path = certificate(tmp_path, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)

    with wire(context) as server:
        with httpx2.Client(transport=KeptConnections()) as http, pytest.raises(httpx2.ConnectError, match="verify"):
            http.post(server.address)
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        with httpx2.Client(transport=KeptConnections()) as http:
            texts = [http.post(server.address, content=b"x" * 200_000).text for _ in range(2)]
            with pytest.raises(httpx2.ConnectError, match="verify"):
                http.post(server.address.replace("localhost", "127.0.0.1"))

        assert texts == ["ok", "ok"]
        assert len(set(server.connections)) == 1


def test_threads_do_not_share_a_connection_at_a_time(server: Wire, http: httpx2.Client) -> None:
    """Parallel calls have a connection each, reuse it, and get their own answers."""
    names = [f"{number}".encode() for number in range(400)]
    server.otherwise = echoes

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda name: http.post("/", content=name).content, names))

    assert answers == names
    assert len(set(server.connections)) <= 8


def test_a_forked_process_has_connections_of_its_own(server: Wire) -> None:
    """A child leaves its parent's connections alone, and both go on."""
    program = """
        import os, sys, httpx2
        from turnloom.planner.llm.transport import KeptConnections
        http = httpx2.Client(transport=KeptConnections())
        # One write a line: the two processes share the pipe, and an unbuffered print makes two.
        ask = lambda: os.write(1, f"{http.post(sys.argv[1]).text}\\n".encode())
        ask()
        child = os.fork()
        ask()
        if child:
            os.waitpid(child, 0)
            ask()
    """
    command = [sys.executable, "-c", textwrap.dedent(program), server.address]

    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    assert said.stdout.split() == ["ok"] * 4
    assert sorted(server.connections) == [1, 1, 1, 2]


def test_a_header_that_cannot_be_sent_is_not_shown(server: Wire, http: httpx2.Client) -> None:
    """The error does not contain the header, which may be the key."""
    request = httpx2.Request("POST", server.address, headers=[(b"Authorization", b"Bearer secret\n")])

    with pytest.raises(httpx2.LocalProtocolError) as caught:
        http.send(request)

    assert "secret" not in repr(caught.value)
    assert caught.value.__suppress_context__
