"""Requests that are not well-formed, byte by byte as a broken client sends them: each is answered, with a status."""

import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from tests.conftest import DEV_KEY
from turnloom.workers.embedded.stack import Stack

BODY = b'{"messages": [{"role": "user", "content": "Hello"}]}'
LINE = b"POST /api/ai/chat HTTP/1.1"
FIELDS = (b"Host: x", b"Authorization: Bearer " + DEV_KEY.encode(), b"Content-Type: application/json")
LENGTH = b"Content-Length: %d"
CHUNKED = b"Transfer-Encoding: chunked"


def request(line: bytes = LINE, *more: bytes, body: bytes = b"", fields: Iterable[bytes] = FIELDS) -> bytes:
    return b"\r\n".join([line, *fields, *more, b"", body])


def sized(body: bytes, *more: bytes) -> bytes:
    return request(LINE, LENGTH % len(body), *more, body=body)


def chunked(body: bytes) -> bytes:
    return request(LINE, CHUNKED, body=body)


LINES = {
    "a method in small letters": (request(b"post /api/ai/chat HTTP/1.1"), 400),
    "an unknown method": (request(b"FROB /api/ai/chat HTTP/1.1"), 405),
    "another method": (request(b"GET /api/ai/chat HTTP/1.1"), 405),
    "HEAD": (request(b"HEAD /api/ai/chat HTTP/1.1"), 405),
    "CONNECT": (request(b"CONNECT x:443 HTTP/1.1"), 404),
    "no version": (request(b"POST /api/ai/chat"), 400),
    "HTTP/2": (request(b"POST /api/ai/chat HTTP/2.0"), 400),
    "HTTP/2's preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    "an empty target": (request(b"POST  HTTP/1.1"), 400),
    "bytes in the target": (request(b"POST /api/ai/ch\xe4t HTTP/1.1"), 400),
    "NUL in the target": (request(b"POST /api/ai/ch\0t HTTP/1.1"), 400),
    "a whole URL as target": (request(b"POST http://x/api/ai/nothing HTTP/1.1", LENGTH % 0), 404),
    "a long target": (request(b"POST /api/ai/chat?" + b"x" * 9_000 + b" HTTP/1.1"), 414),
}
HEADERS = {
    "NUL": (request(LINE, b"X-Odd: a\0b"), 400),
    "a lone CR": (request(LINE, b"X-Odd: a\rb"), 400),
    "a lone LF": (request(LINE, b"X-Odd: a\nb: c"), 400),
    "no colon": (request(LINE, b"X-Odd"), 400),
    "no name": (request(LINE, b": odd"), 400),
    "a blank in a name": (request(LINE, b"X Odd: a"), 400),
    "a folded line": (request(LINE, b"X-Odd: a", b" b"), 400),
    "two hosts": (request(LINE, b"Host: y"), 400),
    "an expectation": (request(LINE, b"Expect: coffee"), 417),
    "a long field": (request(LINE, b"X-Odd: " + b"x" * 9_000), 431),
    "a very long field": (request(LINE, b"X-Odd: " + b"x" * 2_000_000), 431),
    "many fields": (request(LINE, *[b"X-Odd: 1"] * 200), 431),
    "bytes in the key": (request(LINE, LENGTH % 0, fields=[b"Host: x", b"Authorization: Bearer \xff\xfe"]), 401),
    "a type that is none": (request(LINE, LENGTH % 2, fields=[*FIELDS[:2], b"Content-Type: ;;=\xff"], body=b"{}"), 415),
    "an encoding": (sized(BODY, b"Content-Encoding: gzip"), 415),
}
LENGTHS = {
    "a word": (request(LINE, b"Content-Length: ten", body=BODY), 400),
    "a negative number": (request(LINE, b"Content-Length: -1", body=BODY), 400),
    "a power": (request(LINE, b"Content-Length: \xb2", body=BODY), 400),
    "two": (sized(BODY, LENGTH % len(BODY)), 400),
    "a list": (request(LINE, b"Content-Length: 5, 5", body=BODY), 400),
    "too much": (request(LINE, b"Content-Length: 99999999999999", body=BODY), 413),
    "more than comes": (request(LINE, LENGTH % 1_000, body=BODY), 400),
    "with chunks": (sized(BODY, CHUNKED), 400),
    "none": (request(body=BODY), 400),
}
CHUNKS = {
    "no size": (chunked(b"zz\r\n" + BODY + b"\r\n0\r\n\r\n"), 400),
    "a negative size": (chunked(b"-1\r\n" + BODY + b"\r\n0\r\n\r\n"), 400),
    "no end of a chunk": (chunked(b"5\r\n" + BODY + b"\r\n0\r\n\r\n"), 400),
    "an endless size": (chunked(b"0" * 20_000), 400),
    "a broken trailer": (chunked(b"34\r\n" + BODY + b"\r\n0\r\nodd\r\n\r\n"), 400),
    "less than said": (chunked(b"fff\r\n" + BODY), 400),
    "no last chunk": (chunked(b"34\r\n" + BODY + b"\r\n"), 400),
    "of HTTP/1.0": (request(b"POST /api/ai/chat HTTP/1.0", CHUNKED, body=b"0\r\n\r\n"), 400),
    "twice": (request(LINE, b"Transfer-Encoding: chunked, chunked", body=b"0\r\n\r\n"), 400),
    "another coding": (request(LINE, b"Transfer-Encoding: gzip", body=BODY), 400),
    "an unknown coding": (request(LINE, b"Transfer-Encoding: odd", body=BODY), 501),
}
BODIES = {
    "nothing": (sized(b""), 400),
    "no UTF-8": (sized(b'{"messages": "\xff\xfe"}'), 400),
    "half a character": (sized('{"messages": "\u00e4'.encode()[:-1]), 400),
    "NUL": (sized(b"\0" * 50), 400),
    "half a surrogate pair": (sized(b'{"messages": [{"role": "user", "content": "\\ud800"}]}'), 422),
    "brackets": (sized(b"[" * 100_000), 400),
    "a number without end": (sized(b'{"messages": ' + b"9" * 5_000 + b"}"), 422),
    "a name twice": (sized(b'{"messages": [], "messages": []}'), 400),
}
REQUESTS = {
    f"{kind}: {name}": case
    for kind, cases in (
        *(("line", LINES), ("header", HEADERS), ("length", LENGTHS)),
        *(("chunks", CHUNKS), ("body", BODIES)),
    )
    for name, case in cases.items()
}


def answered(stack: Stack, sent: bytes) -> bytes:
    """Send these bytes and nothing more; return everything that comes."""
    at = urlsplit(stack.url)
    assert at.hostname
    assert at.port
    with socket.create_connection((at.hostname, at.port), timeout=20) as client:
        with suppress(OSError):  # the server may have answered and closed before it has all of it
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
        return b"".join(_received(client))


def _received(client: socket.socket) -> Iterator[bytes]:
    while piece := client.recv(65_536):
        yield piece


@pytest.mark.parametrize(("sent", "status"), REQUESTS.values(), ids=REQUESTS)
def test_a_malformed_request_is_answered(stack: Stack, sent: bytes, status: int) -> None:
    """The answer says with its status what is wrong. The connection never ends without one."""
    answer = answered(stack, sent)

    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:200]


def test_a_client_that_awaits_permission_for_its_body_gets_it(stack: Stack) -> None:
    """`Expect: 100-continue` gets 100, and after the body the answer."""
    answer = answered(stack, sized(b"{}", b"Expect: 100-continue"))

    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 422 ")


def test_after_a_broken_body_the_connection_ends(stack: Stack) -> None:
    """Nobody knows where the next request begins. The answer says that the connection ends."""
    answer = answered(stack, chunked(b"zz\r\n") + sized(b"{}"))

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nConnection: close\r\n" in answer
    assert answer.count(b"HTTP/1.1 ") == 1


def test_requests_that_come_together_are_answered_in_order(stack: Stack) -> None:
    """A request that is malformed in its body alone does not end the connection."""
    answer = answered(stack, sized(b"{") + request(b"GET /healthz HTTP/1.1"))

    assert [part.partition(b" ")[0] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"400", b"200"]
