"""Turns are found by what they are about, how they ended, and whose they are."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.factories import claim_turn, finish_turn, record_plan, step
from tests.web.conftest import KeyMaker
from turnloom.models.connections import database
from turnloom.models.connections.database import statement
from turnloom.models.contracts.turn import Reply
from turnloom.models.ledger import turns
from turnloom.models.ledger.turns import Ending


def _post(client: FlaskClient, message: str, **fields: Any) -> UUID:
    answer = client.post("/v1/turns", json={"message": message, **fields})
    assert answer.status_code == 202
    return UUID(answer.get_json()["turn_id"])


def _answer(turn_id: UUID, *tools: str, error: str | None = None) -> None:
    turn = claim_turn(turn_id)
    assert turn is not None
    if tools:
        record_plan(turn, *(step(f"s{number}", tool=tool) for number, tool in enumerate(tools)))
    if error:
        failed = Ending("failed", Reply(text="sorry"), {}, error={"code": error, "message": "no"})
        with statement() as db:
            turns.finish(db, turn.id, turn.attempt, failed)
    elif not tools:
        finish_turn(turn)


def _found(client: FlaskClient, **query: Any) -> list[str]:
    answer = client.get("/v1/turns", query_string=query)
    assert answer.status_code == 200, answer.text
    return [item["message"] for item in answer.get_json()["items"]]


@pytest.fixture
def told(client: FlaskClient) -> list[UUID]:
    """Turns of several kinds, the last of which are in work."""
    made = [
        _post(client, "Book a room in Lisbon", user={"id": "ann"}),
        _post(client, "东京都的酒店", user={"id": "bo"}, agent="hotel"),
        _post(client, "room service, please", user={"id": "ann"}),
        _post(client, "Wait in Lisbon"),
    ]
    _answer(made[0])
    _answer(made[1], error="llm_unavailable")
    _answer(made[2], "sim.wait", "sim.echo")
    return made


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["Wait in Lisbon", "room service, please", "东京都的酒店", "Book a room in Lisbon"]),
        ({"status": "succeeded"}, ["Book a room in Lisbon"]),
        ({"status": "running"}, ["room service, please"]),
        ({"status": "queued"}, ["Wait in Lisbon"]),
        ({"agent": "hotel"}, ["东京都的酒店"]),
        ({"channel": "api", "limit": 1}, ["Wait in Lisbon"]),
        ({"channel": "telegram"}, []),
        ({"channel": "api", "account": "front-desk"}, []),
        ({"tool": "sim.echo"}, ["room service, please"]),
        ({"tool": "sim.burn"}, []),
        ({"error": "llm_unavailable"}, ["东京都的酒店"]),
        ({"user": "ann"}, ["room service, please", "Book a room in Lisbon"]),
        ({"text": "room"}, ["room service, please", "Book a room in Lisbon"]),
        ({"text": "LISBON book"}, ["Book a room in Lisbon"]),
        ({"text": "lisbon -book"}, ["Wait in Lisbon"]),
        ({"text": "酒店"}, ["东京都的酒店"]),
        ({"text": "京东"}, []),
        ({"text": 'ro"om '}, []),
        ({"user": "ann", "text": "room", "status": "succeeded", "agent": "generic"}, ["Book a room in Lisbon"]),
        ({"user": "' or true --"}, []),
        ({"since": "2000-01-01T00:00:00Z", "until": "2000-01-02T00:00:00Z"}, []),
        ({"since": "0001-01-01T00:00:00Z", "until": "9999-12-31T00:00:00Z", "text": "wait"}, ["Wait in Lisbon"]),
    ],
)
def test_all_that_is_named_must_hold(
    client: FlaskClient, told: list[UUID], query: dict[str, str], found: list[str]
) -> None:
    """Turns are listed from the last to the first, those in work too."""
    assert _found(client, **query) == found


def test_a_search_has_pages(client: FlaskClient, told: list[UUID]) -> None:
    """Pages follow one another without gap and repetition, also past turns in work."""
    seen, cursor = [], ""
    while cursor is not None:
        page = client.get("/v1/turns", query_string={"limit": 1, **({"cursor": cursor} if cursor else {})}).get_json()
        seen += [item["turn_id"] for item in page["items"]]
        cursor = page["next_cursor"]

    assert seen == [str(turn_id) for turn_id in reversed(told)]


def test_a_found_turn_says_what_it_is(client: FlaskClient, told: list[UUID]) -> None:
    """A line of the list has who, what and how it ended."""
    (item,) = client.get("/v1/turns", query_string={"text": "book"}).get_json()["items"]

    assert item["turn_id"] == str(told[0])
    assert (item["status"], item["channel"], item["account"], item["user"]) == ("succeeded", "api", None, "ann")
    assert (item["reply"], item["error"], item["author"]) == ("done", None, None)
    accepted = datetime.fromisoformat(item["created_at"])
    since = (accepted - timedelta(seconds=1)).isoformat()
    assert "Book a room in Lisbon" in _found(client, since=since)


def test_a_search_stays_in_its_tenant(app: APIFlask, client: FlaskClient, key: KeyMaker, told: list[UUID]) -> None:
    """Another tenant's key finds nothing, whatever it asks for."""
    stranger = app.test_client()
    stranger.environ_base["HTTP_AUTHORIZATION"] = key(tenant="theirs")["Authorization"]

    assert [_found(stranger, **query) for query in ({}, {"text": "room"}, {"tool": "sim.echo"})] == [[], [], []]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"status": "odd"}, "status"),
        ({"text": "!?"}, "text"),
        ({"text": "x" * 201}, "text"),
        ({"since": "2026-01-01T00:00:00"}, "since"),
        ({"cursor": "x"}, "cursor"),
        ({"limit": "0"}, "limit"),
        ({"word": "x"}, "word"),
    ],
)
def test_a_bad_search_is_refused(client: FlaskClient, query: dict[str, str], field: str) -> None:
    """The refusal names the parameter."""
    answer = client.get("/v1/turns", query_string=query)

    assert answer.status_code == 422
    assert answer.get_json()["errors"][0]["field"] == field


def test_a_search_under_row_level_security(
    client: FlaskClient, told: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tenants' role finds the same, although the search has the owner's rights to use its indexes."""
    monkeypatch.setattr(database, "_secured", lambda named: named)

    assert _found(client, text="room", user="ann") == ["room service, please", "Book a room in Lisbon"]
