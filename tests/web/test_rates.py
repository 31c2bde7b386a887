"""Messages above a rate get 429. Nothing of them is recorded."""

from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.web.conftest import KeyMaker
from turnloom.models.connections import redis as redis_module
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import settings
from turnloom.web import limits


def post(client: FlaskClient, user: str | None = None, **more: Any) -> TestResponse:
    person = {"user": {"id": user}} if user else {}
    return client.post("/v1/turns", json={"message": "hi", **person}, **more)


def statuses(client: FlaskClient, user: str | None, times: int) -> list[int]:
    return [post(client, user).status_code for _ in range(times)]


def limit(monkeypatch: pytest.MonkeyPatch, **rates: str) -> None:
    for name, rate in rates.items():
        monkeypatch.setattr(settings(), name, rate)


def test_a_users_messages_above_the_rate_are_refused(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer says which rate it is and when to come again. Other users are not concerned."""
    limit(monkeypatch, user_rate="2/hour")

    assert statuses(client, "loud", 2) == [202, 202]
    refused = post(client, "loud")

    assert (refused.status_code, refused.get_json()["code"]) == (429, "rate_limited")
    assert 0 < int(refused.headers["Retry-After"]) <= 1_800
    assert "user_rate allows 2 per hour of a user" in refused.get_json()["detail"]
    assert statuses(client, "quiet", 1) == [202]
    assert len(client.get("/v1/conversations").get_json()["items"]) == 3


def test_openais_clients_read_the_refusal(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has OpenAI's shape, so that these clients wait and try again."""
    limit(monkeypatch, user_rate="1/hour")
    assert statuses(client, "u1", 1) == [202]

    body = {"model": "travel", "messages": [{"role": "user", "content": "hi"}], "user": "u1"}
    refused = client.post("/v1/chat/completions", json=body)

    assert (refused.status_code, refused.get_json()["error"]["type"]) == (429, "rate_limit_error")
    assert "Retry-After" in refused.headers


def test_keys_and_tenants_have_rates_of_their_own(
    client: FlaskClient, key: KeyMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message counts in all rates or in none, so that what one refuses costs nothing in the others."""
    limit(monkeypatch, key_rate="2/hour", tenant_rate="3/hour")
    another = key()

    assert statuses(client, None, 3) == [202, 202, 429]
    assert [post(client, headers=another).status_code for _ in range(2)] == [202, 429]
    assert post(client, headers=key(tenant="other")).status_code == 202


def test_the_ledger_counts_while_redis_is_out(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Users and tenants are still limited, each by the turns that they have opened."""

    def silent(*_: object, **__: object) -> None:
        raise Unavailable("Redis does not answer", code="redis_unavailable")

    limit(monkeypatch, user_rate="2/hour", tenant_rate="3/hour")
    monkeypatch.setattr("turnloom.web.rates.run_script", silent)

    assert statuses(client, "loud", 3) == [202, 202, 429]
    assert statuses(client, "quiet", 2) == [202, 429]


def test_a_flood_asks_redis_once_a_second(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """What refuses a message refuses the next ones too, without a question to Redis. Later it is asked again."""
    asked = []

    def counted(name: str, *args: Any) -> Any:
        asked.append(name)
        return redis_module.run_script(name, *args)

    limit(monkeypatch, user_rate="2/hour")
    monkeypatch.setattr("turnloom.web.rates.run_script", counted)

    assert statuses(client, "loud", 2) == [202, 202]
    monkeypatch.setattr("turnloom.web.rates._BELIEVED_S", 3_600.0)
    assert statuses(client, "loud", 5) == [429] * 5
    assert len(asked) == 3
    assert statuses(client, "quiet", 1) == [202]
    assert 0 < int(post(client, "loud").headers["Retry-After"]) <= 1_800

    monkeypatch.setattr("turnloom.web.rates._BELIEVED_S", 0.0)
    limit(monkeypatch, user_rate="3/hour")
    del client.application.extensions["turnloom.limits"]
    limits.install(client.application.extensions)
    statuses(client, "loud", 2)
    assert len(asked) == 6


def test_a_flood_is_told_the_longest_wait(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several rates that are remembered, the one that lasts longest: before that no message is taken."""
    limit(monkeypatch, user_rate="1/minute", key_rate="3/hour")
    monkeypatch.setattr("turnloom.web.rates._BELIEVED_S", 3_600.0)
    assert statuses(client, "loud", 2) == [202, 429]
    assert [post(client, user).status_code for user in ("a", "b", "c")] == [202, 202, 429]

    refused = post(client, "loud")

    assert "key_rate" in refused.get_json()["detail"]
    assert int(refused.headers["Retry-After"]) > 60


def test_without_rates_redis_is_not_asked(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message costs nothing for limits that nobody has set."""
    asked = []
    monkeypatch.setattr("turnloom.web.rates.run_script", lambda *args: asked.append(args))

    assert statuses(client, "u1", 1) == [202]
    assert asked == []
    assert redis_module.redis().keys("turnloom:messages:*") == []
