"""A user names a calendar's URL, so only public addresses are called, by whatever way."""

from collections.abc import Iterator

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from tests.tools.packs.meetings.arranging import code, connect_calendar
from tests.tools.packs.meetings.conftest import Ask
from tests.tools.serving import LocalServer
from turnloom.models.runtime.settings import settings

pytestmark = pytest.mark.usefixtures("people")

WITH_DAVID = {"counterpart": "David", "duration_mins": 30, "time_s": 3}


@pytest.fixture
def internal() -> Iterator[HTTPServer]:
    """Run a server that the setting does not allow."""
    with LocalServer() as started:
        started.expect_request("/").respond_with_data("secret")
        yield started


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch, people: None) -> Iterator[HTTPServer]:
    """Run a server that the setting allows at its port, and at no other."""
    with LocalServer() as started:
        monkeypatch.setenv("TURNLOOM_ALLOWED_HOSTS", f'["127.0.0.1:{started.port}"]')
        settings.cache_clear()
        yield started


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"])
def test_a_calendar_on_this_machine_is_not_called(
    host: str, ask: Ask, internal: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the setting this holds for any spelling of the address."""
    monkeypatch.setenv("TURNLOOM_ALLOWED_HOSTS", "[]")
    settings.cache_clear()
    connect_calendar("noa", f"http://{host}:{internal.port}/")

    refused = ask("schedule", **WITH_DAVID)

    assert (code(refused), internal.log) == ("CONNECTION_INACTIVE", [])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_leads_nowhere_else(status: int, ask: Ask, internal: HTTPServer, allowed: HTTPServer) -> None:
    """Each hop is checked like the first one."""
    target = Response(status=status, headers={"Location": internal.url_for("/")})
    allowed.expect_request("/noa/").respond_with_response(target)
    connect_calendar("noa", allowed.url_for("/noa/"))

    refused = ask("schedule", **WITH_DAVID)

    assert (code(refused), len(allowed.log) > 0, internal.log) == ("CONNECTION_INACTIVE", True, [])


def test_a_redirect_to_what_may_be_called_is_followed(ask: Ask, allowed: HTTPServer) -> None:
    """Servers that have moved a calendar send one."""
    moved = Response(status=308, headers={"Location": allowed.url_for("/new/")})
    allowed.expect_request("/noa/").respond_with_response(moved)
    allowed.expect_request("/new/").respond_with_data(
        '<?xml version="1.0"?><multistatus xmlns="DAV:"/>', status=207, content_type="application/xml"
    )
    connect_calendar("noa", allowed.url_for("/noa/"))

    assert ask("schedule", **WITH_DAVID).ok


def test_redirects_come_to_an_end(ask: Ask, allowed: HTTPServer) -> None:
    """A server that redirects in a circle has failed."""
    allowed.expect_request("/noa/").respond_with_response(Response(status=308, headers={"Location": "/noa/"}))
    connect_calendar("noa", allowed.url_for("/noa/"))

    assert code(ask("schedule", **WITH_DAVID)) == "UPSTREAM_5XX"


def test_no_proxy_of_the_environment_sees_a_password(
    ask: Ask, internal: HTTPServer, allowed: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proxies are not used, as they would resolve the name themselves, and no `.netrc` is read."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, internal.url_for("/"))
    allowed.expect_request("/noa/").respond_with_data(
        '<?xml version="1.0"?><multistatus xmlns="DAV:"/>', status=207, content_type="application/xml"
    )
    connect_calendar("noa", allowed.url_for("/noa/"))

    assert (ask("schedule", **WITH_DAVID).ok, internal.log) == (True, [])


def test_digest_authentication_goes_the_same_way(ask: Ask, allowed: HTTPServer) -> None:
    """The second request, with the answer to the server's challenge, is made by the same client."""
    challenge = {"WWW-Authenticate": 'Digest realm="r", nonce="n", qop="auth", algorithm=MD5'}

    def answer(request: object) -> Response:
        given = getattr(request, "authorization", None)
        if given is None or given.type != "digest":
            return Response(status=401, headers=challenge)
        xml = '<?xml version="1.0"?><multistatus xmlns="DAV:"/>'
        return Response(xml, status=207, content_type="application/xml")

    allowed.expect_request("/noa/").respond_with_handler(answer)
    connect_calendar("noa", allowed.url_for("/noa/"))

    assert ask("schedule", **WITH_DAVID).ok
