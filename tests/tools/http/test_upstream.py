"""The client for outside services meets a local server that answers in every way that a service can."""

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Received
from werkzeug import Response

from tests.tools.serving import LocalServer, answering_once
from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.http.upstream import Refused, Shape, UpstreamRequest, get_json, get_shape, post, send

Make = Callable[..., ToolContext]


class Day(Shape):
    date: date


class Days(Shape):
    days: list[Day]


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    """A service on a port of its own."""
    with LocalServer() as started:
        yield started


def test_json_comes_back_as_it_was_meant(server: HTTPServer, make_context: Make) -> None:
    """The query is encoded, and a compressed answer is unpacked."""
    packed = gzip.compress(json.dumps({"name": "Kyōto"}).encode())
    server.expect_request("/search", query_string={"name": "Kyōto & more"}).respond_with_data(
        packed, headers={"Content-Encoding": "gzip"}
    )

    assert get_json(server.url_for("/search"), {"name": "Kyōto & more"}, make_context()) == {"name": "Kyōto"}


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (301, Refused, "UPSTREAM_4XX"),
        (400, Refused, "UPSTREAM_4XX"),
        (401, Refused, "UNAUTHORIZED"),
        (403, Refused, "UPSTREAM_4XX"),
        (404, Refused, "UPSTREAM_4XX"),
        (429, Unavailable, "RATE_LIMITED"),
        (500, Unavailable, "UPSTREAM_5XX"),
        (503, Unavailable, "UPSTREAM_5XX"),
    ],
)
def test_each_status_has_its_error(
    server: HTTPServer, make_context: Make, status: int, kind: type[Exception], code: str
) -> None:
    """Errors that may pass are Unavailable, others are refused. One request is made either way."""
    server.expect_request("/").respond_with_json({"reason": "because"}, status=status, headers={"Location": "/x"})

    with pytest.raises(kind) as caught:
        get_json(server.url_for("/"), None, make_context())

    assert isinstance(caught.value, ToolFailed | Unavailable)
    assert caught.value.code == code
    assert len(server.log) == 1
    if isinstance(caught.value, Refused):
        assert caught.value.answer.json() == {"reason": "because"}


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("soon", None), ("", None), ("-3", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)
@pytest.mark.parametrize("status", [429, 503])
def test_the_service_says_when_to_come_back(
    server: HTTPServer, make_context: Make, status: int, header: str, seconds: float | None
) -> None:
    """Retry-After counts in seconds or as a date that has passed. Any other value is ignored."""
    server.expect_request("/").respond_with_data(status=status, headers={"Retry-After": header})

    with pytest.raises(Unavailable) as caught:
        get_json(server.url_for("/"), None, make_context())

    assert caught.value.retry_after_s == seconds


def test_the_service_names_a_date_to_come_back_at(server: HTTPServer, make_context: Make) -> None:
    """A date ahead is the seconds until then."""
    at = datetime.now(UTC) + timedelta(seconds=90)
    headers = {"Retry-After": format_datetime(at, usegmt=True)}
    server.expect_request("/").respond_with_data(status=429, headers=headers)

    with pytest.raises(Unavailable) as caught:
        get_json(server.url_for("/"), None, make_context())

    assert 80 < (caught.value.retry_after_s or 0) <= 90


def test_a_slow_service_is_left_at_the_deadline(server: HTTPServer, make_context: Make) -> None:
    """If no byte comes, the wait ends with the call's time."""
    ended = threading.Event()

    def wait(_: Received) -> Response:
        ended.wait(10)
        return Response("{}")

    server.expect_request("/").respond_with_handler(wait)
    try:
        with pytest.raises(TimeoutError, match="did not answer in time"):
            get_json(server.url_for("/"), None, make_context(time_s=0.2))
    finally:
        ended.set()


def test_a_service_that_drips_is_left_at_the_deadline(server: HTTPServer, make_context: Make) -> None:
    """Bytes that come one by one do not prolong the time."""
    ended = threading.Event()

    def drip(_: Received) -> Response:
        def drops() -> Iterator[bytes]:
            while not ended.wait(0.02):
                yield b"1"

        return Response(drops())

    server.expect_request("/").respond_with_handler(drip)
    context = make_context(time_s=0.3)
    try:
        with pytest.raises(TimeoutError):
            get_json(server.url_for("/"), None, context)
    finally:
        ended.set()

    assert context.remaining_s == 0


def test_an_answer_that_is_cut_off_is_not_complete(make_context: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body without a length ends with its connection, which we cut off at the deadline."""
    monkeypatch.setenv("TURNLOOM_ALLOWED_HOSTS", '["127.0.0.1"]')
    settings.cache_clear()
    context = make_context(time_s=0.3)

    # A single read may take 0.3 s, too: the second one would end after 0.5 s.
    with answering_once(b"HTTP/1.1 200 OK\r\n\r\n", b"{", b"}", pause_s=0.2) as url, pytest.raises(TimeoutError):
        send(UpstreamRequest(url=url, is_named_by_others=True), context)


def test_nothing_is_sent_after_the_deadline(server: HTTPServer, make_context: Make) -> None:
    """A call without time left is not made."""
    with pytest.raises(TimeoutError):
        get_json(server.url_for("/"), None, make_context(time_s=0))

    assert server.log == []


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Encoding: gzip\r\n\r\nnope",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"{}")[:-4],
        b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n<html/>",
        b"no HTTP at all\r\n\r\n",
        b"",
    ],
    ids=["cut", "packed badly", "packed and cut", "not JSON", "not HTTP", "nothing"],
)
def test_a_broken_answer_may_be_asked_for_again(data: bytes, make_context: Make) -> None:
    """An incomplete answer is a failure of the service."""
    with answering_once(data) as url, pytest.raises(Unavailable) as caught:
        get_json(url, None, make_context())

    assert caught.value.code == "UPSTREAM_5XX"


def test_another_shape_is_named(server: HTTPServer, make_context: Make) -> None:
    """A service that has changed is not asked again. The message says where, and shows no value."""
    server.expect_request("/").respond_with_json({"days": [{"date": "2030-05-01"}, {"date": "Jane Doe"}]})

    with pytest.raises(ToolFailed, match=r"at days\.1\.date$") as caught:
        get_shape(Days, server.url_for("/"), {}, make_context())

    assert caught.value.code == "UPSTREAM_5XX"


def test_a_service_that_is_not_there_may_come_back(make_context: Make) -> None:
    """A refused connection is a failure of the service. The error shows only the host."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(Unavailable) as caught:
        get_json(f"http://127.0.0.1:{port}/secret", {"name": "Jane Doe"}, make_context())

    assert caught.value.code == "UPSTREAM_5XX"
    assert "Jane" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("packed", [True, False])
def test_a_huge_answer_is_given_up(server: HTTPServer, make_context: Make, packed: bool) -> None:
    """The limit counts unpacked bytes. Asking again would not help."""
    body = b" " * 50_000_000
    data, headers = (gzip.compress(body, 1), {"Content-Encoding": "gzip"}) if packed else (body, {})
    server.expect_request("/").respond_with_data(data, headers=headers)

    with pytest.raises(ToolFailed, match="more than 1000 bytes") as caught:
        send(UpstreamRequest(url=server.url_for("/"), max_bytes=1000), make_context())

    assert caught.value.code == "UPSTREAM_5XX"


def test_an_unrequested_encoding_is_refused(server: HTTPServer, make_context: Make) -> None:
    """The client accepts gzip and says so."""
    server.expect_request("/", headers={"Accept-Encoding": "gzip"}).respond_with_data(
        b"x", headers={"Content-Encoding": "br"}
    )

    with pytest.raises(ToolFailed, match="nobody asked for"):
        get_json(server.url_for("/"), None, make_context())


@pytest.mark.parametrize("url", ["nowhere", "ftp://example.org/", "http://[::1", "http://:x/", ""])
def test_what_is_no_url_is_refused(make_context: Make, url: str) -> None:
    """A fault of the configuration, or of an argument, is not tried again."""
    with pytest.raises(ToolFailed) as caught:
        get_json(url, None, make_context())

    assert caught.value.code == "VALIDATION_ERROR"


def test_a_redirect_is_an_answer(server: HTTPServer, make_context: Make) -> None:
    """The caller decides whether to follow it."""
    server.expect_request("/").respond_with_data(status=302, headers={"Location": "http://169.254.169.254/"})

    answer = send(UpstreamRequest(url=server.url_for("/")), make_context())

    assert (answer.status, answer.headers["location"]) == (302, "http://169.254.169.254/")
    assert len(server.log) == 1


def test_no_cookie_is_kept(server: HTTPServer, make_context: Make) -> None:
    """A cookie that a service sets for one tenant's call is not sent with another's."""
    server.expect_request("/").respond_with_json({}, headers={"Set-Cookie": "who=tenant-1"})

    for _ in range(2):
        get_json(server.url_for("/"), None, make_context())

    assert [request.headers.get("Cookie") for request, _ in server.log] == [None, None]


def test_forms_and_content_are_posted(server: HTTPServer, make_context: Make) -> None:
    """A form is encoded. Content is sent as it is, with the headers of the request."""
    server.expect_request("/", method="POST").respond_with_data("<b/>")

    post(UpstreamRequest(url=server.url_for("/"), form={"data": "[out:json];é"}), make_context())
    answer = post(
        UpstreamRequest(url=server.url_for("/"), content=b"<a/>", headers={"Content-Type": "text/xml"}), make_context()
    )

    form, content = (request for request, _ in server.log)
    assert form.form.to_dict() == {"data": "[out:json];é"}
    assert (content.get_data(), content.content_type) == (b"<a/>", "text/xml")
    assert answer.body == b"<b/>"


@pytest.mark.parametrize(
    ("contact", "expected"), [(None, "Turnloom"), ("ops@example.org", "Turnloom (ops@example.org)")]
)
def test_we_say_who_we_are(
    server: HTTPServer, make_context: Make, monkeypatch: pytest.MonkeyPatch, contact: str | None, expected: str
) -> None:
    """The User-Agent has the contact if one is set."""
    if contact:
        monkeypatch.setenv("TURNLOOM_CONTACT", contact)
    settings.cache_clear()
    server.expect_request("/").respond_with_json({})

    get_json(server.url_for("/"), None, make_context())

    assert server.log[0][0].headers["User-Agent"] == expected
    settings.cache_clear()
