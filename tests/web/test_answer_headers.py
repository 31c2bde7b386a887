"""What every answer says in its headers: the request's id, and how browsers may use it."""

import json

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from turnloom.models.runtime.settings import settings
from turnloom.web.app import create_app


def test_a_request_keeps_the_id_that_it_came_with(client: FlaskClient, capfd: pytest.CaptureFixture[str]) -> None:
    """It is in the answer and in every line that is logged for the request."""
    answer = client.post("/v1/turns", json={"message": "hi"}, headers={"X-Request-Id": "edge-7.a:b"})

    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert answer.headers["X-Request-Id"] == "edge-7.a:b"
    assert {line["request_id"] for line in lines if line["event"] == "turn.received"} == {"edge-7.a:b"}


@pytest.mark.parametrize("given", [None, "", "two words", "x" * 129, 'a"b', "é"])
def test_another_request_gets_an_id(client: FlaskClient, given: str | None) -> None:
    """Whatever cannot stand in a header or in a log is replaced. A problem quotes the id."""
    sent = {} if given is None else {"X-Request-Id": given}
    first, second = (client.get("/v1/turns/none", headers=sent) for _ in range(2))

    assert first.headers["X-Request-Id"] != second.headers["X-Request-Id"]
    assert first.get_json()["trace_id"] == first.headers["X-Request-Id"] != given


def test_what_a_browser_has_kept_keeps_its_policy(client: FlaskClient) -> None:
    """An answer that nothing has changed brings no policy of data to a page."""
    with client.get("/docs") as answer:
        tag = answer.headers["ETag"]
    with client.get("/docs", headers={"If-None-Match": tag}) as again:
        assert again.status_code == 304
        assert "Content-Security-Policy" not in again.headers


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/v1/conversations", "/nowhere", "/v1/turns/none"])
def test_browsers_are_told_to_be_careful(client: FlaskClient, path: str) -> None:
    """No page frames an answer, no browser guesses its type, and what belongs to a tenant is not kept."""
    with client.get(path) as answer:
        headers = answer.headers

    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert (headers.get("Cache-Control") == "no-store") == (path != "/docs")
    assert not {"Access-Control-Allow-Origin", "X-Powered-By"} & set(headers.keys())


def test_the_documentation_runs_no_script_of_its_own_text(client: FlaskClient) -> None:
    """Its policy forbids scripts inside the page."""
    with client.get("/docs") as answer:
        assert "<script>" not in answer.get_data(as_text=True)
        assert "script-src" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'")


def test_named_websites_may_call(app: APIFlask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser's question before the call is answered without a key, for these websites only."""
    monkeypatch.setattr(settings(), "cors_origins", ["https://app.example.com"])
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, content-type"}
    client = create_app().test_client()

    ours, other = (
        client.options("/v1/turns", headers={"Origin": origin, **asked})
        for origin in ("https://app.example.com", "https://evil.example.com")
    )

    assert ours.headers["Access-Control-Allow-Origin"] == "https://app.example.com"
    assert "POST" in ours.headers["Access-Control-Allow-Methods"]
    assert "authorization" in ours.headers["Access-Control-Allow-Headers"].lower()
    assert "Access-Control-Allow-Origin" not in other.headers
    assert (
        app.test_client()
        .options("/v1/turns", headers={"Origin": "https://app.example.com", **asked})
        .headers.get("Access-Control-Allow-Origin")
        is None
    )
