"""A tenant's own limits hold for it instead of the deployment's, and the refusal names the limit."""

from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import transaction
from turnloom.models.errors import Invalid
from turnloom.models.ledger import limits, tenants
from turnloom.models.runtime.settings import settings


@pytest.fixture
def at_once(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a change of the limits count at once, and count the backlog before each message that may be refused."""
    monkeypatch.setattr("turnloom.web.limits._FRESH_S", 0.0)
    monkeypatch.setattr("turnloom.web.limits._KEPT_S", 0.0)
    monkeypatch.setattr("turnloom.web.backlog._BELIEVED_WHEN_FULL_S", 0.0)
    monkeypatch.setattr("turnloom.web.backlog._TIMES_AS_LONG", 0)
    settings.cache_clear()


def change(tenant: str = "ours", **own: Any) -> None:
    with transaction() as db:
        limits.change(db, tenant, own)


def post(client: FlaskClient, headers: dict[str, str] | None = None, **body: Any) -> Any:
    return client.post("/v1/turns", json={"message": "hi", **body}, headers=headers)


@pytest.mark.usefixtures("at_once")
def test_a_tenants_own_backlog_is_its_limit(client: FlaskClient, key: KeyMaker) -> None:
    """It is refused above it, with its name and a time to come again. Other tenants keep the deployment's."""
    other = key(tenant="theirs")
    change(backlog=2)

    statuses = [post(client).status_code for _ in range(2)]
    refused = post(client)

    assert statuses == [202, 202]
    assert (refused.status_code, refused.get_json()["code"]) == (503, "overloaded")
    assert "the tenant's limit backlog (2) is reached" in refused.get_json()["detail"]
    assert int(refused.headers["Retry-After"]) > 0
    assert [post(client, other).status_code for _ in range(3)] == [202] * 3


@pytest.mark.usefixtures("at_once")
def test_a_tenants_own_rate_is_named(client: FlaskClient, key: KeyMaker) -> None:
    """Of several rates, the refusal names the one that asks for the longest wait."""
    change(user_rate="1/hour", key_rate="100/hour", rate="50/hour")
    other = key(tenant="theirs")

    first, refused = (post(client, user={"id": "u1"}) for _ in range(2))

    assert (first.status_code, refused.status_code, refused.get_json()["code"]) == (202, 429, "rate_limited")
    assert "the limit user_rate allows 1 per hour of a user" in refused.get_json()["detail"]
    assert int(refused.headers["Retry-After"]) > 0
    assert [post(client, other, user={"id": "u1"}).status_code for _ in range(2)] == [202] * 2


@pytest.mark.usefixtures("at_once")
def test_a_tenant_may_be_without_a_rate(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """`null` lifts the deployment's rate for this tenant."""
    monkeypatch.setattr(settings(), "user_rate", "1/hour")
    change(user_rate=None)

    assert [post(client).status_code for _ in range(3)] == [202] * 3


@pytest.mark.usefixtures("at_once")
def test_a_tenants_own_burst_window_holds_its_turns(client: FlaskClient) -> None:
    """Its messages become one turn, where other tenants' are answered at once."""
    change(burst_window_ms=5_000)

    first, second = (post(client, conversation_id="c") for _ in range(2))

    assert first.get_json()["turn_id"] == second.get_json()["turn_id"]


@pytest.mark.usefixtures("at_once")
def test_half_of_a_backlog_is_for_a_batch(client: FlaskClient) -> None:
    """A batch message is refused earlier, so that the others find room."""
    change(backlog=4)

    batch = [post(client, priority="batch") for _ in range(3)]
    others = [post(client).status_code for _ in range(3)]

    assert [answer.status_code for answer in batch] == [202, 202, 503]
    assert "half of the tenant's limit backlog (4) is reached" in batch[-1].get_json()["detail"]
    assert others == [202, 202, 503]


@pytest.mark.usefixtures("at_once")
def test_one_user_does_not_fill_the_backlog(client: FlaskClient) -> None:
    """Of a user as many turns may wait for the user's others as the limit says. Others are accepted."""
    change(user_window=1, user_backlog=2)

    statuses = [post(client, user={"id": "many"}, message_id=f"m{number}").status_code for number in range(4)]
    refused = post(client, user={"id": "many"})
    again = post(client, user={"id": "many"}, message_id="m0")

    assert statuses == [202, 202, 202, 503]
    assert "the user's limit user_backlog (2) is reached" in refused.get_json()["detail"]
    assert (again.status_code, post(client, user={"id": "one"}).status_code) == (200, 202)
    assert [post(client).status_code for _ in range(4)] == [202] * 4


@pytest.mark.parametrize("wrong", [{"backlog": 0}, {"user_rate": "often"}, {"burst_window_ms": 11_000}, {"nope": 1}])
def test_a_wrong_limit_is_refused(client: FlaskClient, wrong: dict[str, Any]) -> None:
    """Nothing of it is kept."""
    with pytest.raises(Invalid, match=next(iter(wrong))):
        change(**wrong)

    with transaction() as db:
        assert tenants.find(db, "ours").limits == {}


def test_limits_are_believed_for_a_few_seconds(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is not asked for each message."""
    asked: list[object] = []
    look: Callable[..., Any] = limits.of
    monkeypatch.setattr("turnloom.web.limits.limits.of", lambda *args: asked.append(args) or look(*args))

    assert [post(client).status_code for _ in range(5)] == [202] * 5
    assert len(asked) == 1
