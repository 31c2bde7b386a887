"""People sign in at the console with a key, and their cookie stands for it: from our own page, as long as it works."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.scope import Scope
from turnloom.models.ledger import keys, tenants
from turnloom.models.ledger.console_sessions import ConsoleSessionRow
from turnloom.models.runtime.settings import settings

_PAGE = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}


def _plain(header: dict[str, str]) -> str:
    return header["Authorization"].removeprefix("Bearer ")


@pytest.fixture
def browser(app: APIFlask) -> FlaskClient:
    """A browser: it keeps cookies, and has no key."""
    return app.test_client()


@pytest.fixture
def signed_in(browser: FlaskClient, key: KeyMaker) -> TestResponse:
    answer = browser.post("/v1/console/session", json={"key": _plain(key())}, headers=_PAGE)
    assert answer.status_code == 200
    return answer


def test_a_session_stands_for_its_key(browser: FlaskClient, signed_in: TestResponse) -> None:
    """The cookie is out of reach of scripts; with it, routes answer as they do for the key."""
    cookie = signed_in.headers["Set-Cookie"]
    said = signed_in.get_json()

    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "Secure" not in cookie
    assert said["tenant"] == "ours"
    assert said["operator"]
    assert "admin" in said["scopes"]
    assert browser.get("/v1/console/session").get_json() == said
    assert browser.get("/v1/agents").status_code == 200
    write = {**_PAGE, "X-CSRF-Token": said["csrf"]}
    assert browser.post("/v1/turns", json={"message": "hi"}, headers=write).status_code == 202


@pytest.mark.parametrize(("scope", "told"), [("operations:read", "https://flower.example"), ("turns:read", None)])
def test_only_operators_are_told_where_flower_is(
    browser: FlaskClient, key: KeyMaker, monkeypatch: pytest.MonkeyPatch, scope: Scope, told: str | None
) -> None:
    """If the deployment says so."""
    plain = _plain(key(scope))
    before = browser.post("/v1/console/session", json={"key": plain}, headers=_PAGE).get_json()
    monkeypatch.setenv("TURNLOOM_FLOWER_URL", "https://flower.example/")
    settings.cache_clear()

    after = browser.post("/v1/console/session", json={"key": plain}, headers=_PAGE).get_json()

    assert (before["flower_url"], after["flower_url"]) == (None, told)


def test_over_tls_the_cookie_stays_there(browser: FlaskClient, key: KeyMaker) -> None:
    """A page that was loaded over TLS gets a cookie that is never sent without it, also behind a proxy."""
    page = {"Origin": "https://localhost"}

    answer = browser.post("/v1/console/session", json={"key": _plain(key())}, headers=page)

    assert "Secure" in answer.headers["Set-Cookie"]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "other_origin"),
        (_PAGE, "csrf_token_missing"),
        ({**_PAGE, "X-CSRF-Token": "0" * 64}, "csrf_token_missing"),
        ({**_PAGE, "X-CSRF-Token": "é"}, "csrf_token_missing"),
        ({"Origin": "https://evil.example", "X-CSRF-Token": "csrf"}, "other_origin"),
        ({"Origin": "null", "X-CSRF-Token": "csrf"}, "other_origin"),
        ({"Origin": "http://[", "X-CSRF-Token": "csrf"}, "other_origin"),
        ({"Sec-Fetch-Site": "cross-site", "X-CSRF-Token": "csrf"}, "other_origin"),
        ({**_PAGE, "Sec-Fetch-Site": "same-site", "X-CSRF-Token": "csrf"}, "other_origin"),
        ({"Sec-Fetch-Site": "none", "X-CSRF-Token": "csrf"}, "other_origin"),
    ],
)
def test_other_pages_change_nothing(
    browser: FlaskClient, signed_in: TestResponse, headers: dict[str, str], code: str
) -> None:
    """A request that changes something needs our page as its origin, and the session's own token."""
    csrf = signed_in.get_json()["csrf"]
    sent = {name: csrf if value == "csrf" else value for name, value in headers.items()}

    answer = browser.post("/v1/turns", json={"message": "hi"}, headers=sent)

    assert (answer.status_code, answer.get_json()["code"]) == (403, code)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "https://evil.example"}, 403),
    ],
)
def test_other_pages_read_nothing(
    browser: FlaskClient, signed_in: TestResponse, headers: dict[str, str], status: int
) -> None:
    """What a person opens in a tab is shown; what another site's page asks for is not."""
    assert browser.get("/v1/agents", headers=headers).status_code == status


def test_a_session_ends_with_its_key(browser: FlaskClient, signed_in: TestResponse) -> None:
    """A revoked key ends its sessions with the next request, not when a cache forgets it."""
    with transaction() as db:
        (row,) = db.query(ConsoleSessionRow).all()
        keys.revoke(db, row.key_id)

    answers = [browser.get("/v1/agents"), browser.get("/v1/console/session")]

    assert [(answer.status_code, answer.get_json()["code"]) for answer in answers] == [(401, "session_ended")] * 2


def test_a_session_lasts_no_longer_than_its_key(app: APIFlask, browser: FlaskClient) -> None:
    """A key that expires soon gives a session that ends with it."""
    with transaction() as db:
        _, plain = keys.create(db, tenants.ensure(db, "ours"), "short", ["turns:read"], timedelta(hours=1))

    said = browser.post("/v1/console/session", json={"key": plain}, headers=_PAGE).get_json()

    ends = datetime.fromisoformat(said["expires_at"])
    assert ends - datetime.now(ends.tzinfo) < timedelta(hours=1, minutes=1)
    assert (said["operator"], said["scopes"]) == (False, ["turns:read"])


def test_signing_out_ends_the_session_everywhere(app: APIFlask, browser: FlaskClient, signed_in: TestResponse) -> None:
    """A cookie that was copied before is worth nothing after."""
    cookie = browser.get_cookie("turnloom_session")
    assert cookie is not None
    thief = app.test_client()
    thief.set_cookie("turnloom_session", cookie.value)

    out = browser.delete("/v1/console/session", headers={**_PAGE, "X-CSRF-Token": signed_in.get_json()["csrf"]})

    assert out.status_code == 204
    assert browser.get_cookie("turnloom_session") is None
    assert thief.get("/v1/agents").status_code == 401


@pytest.mark.parametrize("body", [{}, {"key": "nobody"}])
def test_an_unknown_key_signs_nobody_in(browser: FlaskClient, body: dict[str, str]) -> None:
    """Without a key that works, there is no cookie."""
    answer = browser.post("/v1/console/session", json=body, headers=_PAGE)

    assert answer.status_code == 401
    assert "Set-Cookie" not in answer.headers
    assert browser.get("/v1/console/session").status_code == 401


def test_tries_to_sign_in_are_limited(browser: FlaskClient) -> None:
    """Somebody who tries keys one after the other is stopped."""
    answers = [browser.post("/v1/console/session", json={"key": "no"}, headers=_PAGE) for _ in range(21)]

    assert [answer.status_code for answer in answers] == [401] * 20 + [429]
    assert int(answers[-1].headers["Retry-After"]) >= 1


@pytest.fixture
def own_key(app: APIFlask, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Let the application be the embedded stack's."""
    with transaction() as db:
        keys.ensure_dev_key(db, "tl_dev_of_this_test")
    monkeypatch.setenv("TURNLOOM_DEV_KEY", "tl_dev_of_this_test")
    monkeypatch.setenv("TURNLOOM_CONSOLE_SIGN_IN", "true")
    settings.cache_clear()
    yield "tl_dev_of_this_test"
    settings.cache_clear()


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000"])
def test_the_embedded_console_signs_in_by_itself(browser: FlaskClient, own_key: str, host: str) -> None:
    """A page that was opened on this machine needs no key."""
    page = {"Host": host, "Origin": f"http://{host}"}

    answer = browser.post("/v1/console/session", json={}, headers=page)

    assert (answer.status_code, answer.get_json()["tenant"]) == (200, "development")


@pytest.mark.parametrize(
    ("headers", "client"),
    [
        ({"Host": "rebound.example:8000", "Origin": "http://rebound.example:8000"}, "127.0.0.1"),
        ({"Host": "127.0.0.1:8000", "Origin": "http://rebound.example:8000"}, "127.0.0.1"),
        ({"Host": "127.0.0.1:8000"}, "127.0.0.1"),
        ({"Host": "localhost", "Origin": "http://localhost", "X-Forwarded-For": "203.0.113.7"}, "127.0.0.1"),
        ({"Host": "localhost", "Origin": "http://localhost"}, "203.0.113.7"),
    ],
)
def test_nobody_else_is_signed_in_by_itself(
    browser: FlaskClient, own_key: str, headers: dict[str, str], client: str
) -> None:
    """A name that another site has pointed to this machine, a proxy, or another machine is not this machine's page."""
    answer = browser.post("/v1/console/session", json={}, headers=headers, environ_overrides={"REMOTE_ADDR": client})

    assert answer.status_code in (401, 403)
    assert "Set-Cookie" not in answer.headers
