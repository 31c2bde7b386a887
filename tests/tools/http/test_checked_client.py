"""The client for URLs that somebody else names connects only to addresses that were checked."""

import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Received
from werkzeug import Response

from tests.certificates import certificate
from tests.tools.serving import LocalServer
from turnloom.models.errors import PolicyDenied
from turnloom.models.runtime.settings import settings
from turnloom.tools.http import addresses
from turnloom.tools.http.checked_client import client


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    """A server on this machine. The setting allows it at its port, and at no other."""
    with LocalServer() as started:
        monkeypatch.setenv("TURNLOOM_ALLOWED_HOSTS", f'["127.0.0.1:{started.port}"]')
        settings.cache_clear()
        yield started
    settings.cache_clear()


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Let each lookup of any name get the next answer. Return the names that were looked up."""
    asked: list[str] = []

    def resolve(name: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(name)
        found = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(addresses, "getaddrinfo", resolve)
    return asked


def test_the_other_side_sees_the_name(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client connects to an address, and asks for the given name."""
    seen: list[str] = []

    def answer(request: Received) -> Response:
        seen.append(request.host)
        return Response("here")

    server.expect_request("/page").respond_with_handler(answer)
    resolving(monkeypatch, ["127.0.0.1"])

    found = client().get(f"http://Bücher.example:{server.port}/page")

    assert found.text == "here"
    assert seen == [f"xn--bcher-kva.example:{server.port}"]


def test_the_checked_address_is_the_one_connected_to(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that changes a moment later is not resolved again. The next request is checked again."""
    server.expect_request("/").respond_with_data("here")
    asked = resolving(monkeypatch, ["127.0.0.1"], ["127.0.0.2"])
    url = f"http://rebound.example:{server.port}/"

    assert client().get(url).text == "here"
    assert asked == ["rebound.example"]
    with pytest.raises(PolicyDenied):
        client().get(url)


def test_the_next_address_is_tried_where_one_does_not_answer(
    server: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Browsers do so too."""
    server.expect_request("/").respond_with_data("here")
    monkeypatch.setenv("TURNLOOM_ALLOWED_HOSTS", '["127.0.0.0/8"]')
    settings.cache_clear()
    resolving(monkeypatch, ["127.0.0.9", "127.0.0.1"])

    assert client().get(f"http://two.example:{server.port}/").text == "here"


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://0x7f.1/",
        "//10.0.0.1/",
    ],
)
def test_a_redirect_is_checked_as_well(server: HTTPServer, target: str) -> None:
    """This holds for our own redirects and for those of httpx2."""
    server.expect_request("/").respond_with_response(Response(status=302, headers={"Location": target}))

    with pytest.raises(PolicyDenied):
        client().get(server.url_for("/"), follow_redirects=True)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "http://user:secret@example.com/",
        "http://user@example.com/",
        "http://127.0.0.1/",
        "http://127。0。0。1/",
        "http://[::ffff:127.0.0.1]/",
        "http://2130706433/",
        "http://localhost/",
    ],
)
def test_some_urls_are_never_called(url: str) -> None:
    """Other schemes, names and passwords, and this machine by any name are refused."""
    with pytest.raises((PolicyDenied, httpx2.UnsupportedProtocol)):
        client().get(url)


@pytest.mark.parametrize("host", ["nowhere.invalid", f"{'a' * 64}.example"])
def test_an_unknown_name_cannot_be_reached(host: str) -> None:
    """The failure is the same as for a server that is down."""
    with pytest.raises((httpx2.ConnectError, httpx2.InvalidURL)):
        client().get(f"http://{host}/")


def test_no_proxy_is_asked(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would resolve the name again, unseen by us."""
    server.expect_request("/").respond_with_data("here")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    client.cache_clear()

    assert client().get(server.url_for("/")).text == "here"
    client.cache_clear()


def test_the_certificate_must_be_for_the_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """TLS checks the name, not the address. An untrusted certificate ends the connection."""
    named: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(tmp_path, "secure.example"))
    context.sni_callback = lambda _socket, name, _context: named.append(name)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        monkeypatch.setenv("TURNLOOM_ALLOWED_HOSTS", f'["127.0.0.1:{port}"]')
        settings.cache_clear()
        resolving(monkeypatch, ["127.0.0.1"])
        serving = threading.Thread(target=_shake_hands, args=(listener, context))
        serving.start()

        with pytest.raises(httpx2.ConnectError, match=r"(?i)certificate"):
            client().get(f"https://secure.example:{port}/")
        serving.join(5)

    assert named == ["secure.example"]
    settings.cache_clear()


def _shake_hands(listener: socket.socket, context: ssl.SSLContext) -> None:
    connection, _ = listener.accept()
    with connection, pytest.raises(OSError):  # noqa: PT011 - the client may break off in any way
        context.wrap_socket(connection, server_side=True)
