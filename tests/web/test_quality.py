"""The API reports how a tenant's turns went, and lets its operator release texts to a share of conversations."""

from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from flask.testing import FlaskClient

from tests.factories import claim_turn
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.turn import Reply
from turnloom.models.ledger import quality, tenants, turns
from turnloom.models.ledger.turns import Ending

BRIEF = "---\nname: styles/brief\nversion: 1\ninputs: []\n---\nBe very brief."
ASKED: dict[str, Any] = {"name": "styles/brief", "text": BRIEF, "share": 0.25}


@pytest.fixture
def turn_id(client: FlaskClient) -> str:
    """A turn with a reply."""
    made: str = client.post("/v1/turns", json={"message": "hi", "conversation_id": "c1"}).get_json()["turn_id"]
    turn = claim_turn(UUID(made))
    assert turn is not None
    ending = Ending("succeeded", Reply(text="done", grounded=True), {"agent": "agents/generic@7"})
    with statement() as db:
        assert turns.finish(db, turn.id, turn.attempt, ending)
    return made


def _day(client: FlaskClient, turn_id: str) -> date:
    """Return the day of a turn. Another one may begin while a test runs."""
    return datetime.fromisoformat(client.get(f"/v1/turns/{turn_id}").get_json()["created_at"]).date()


@pytest.mark.parametrize(
    ("by", "named"),
    [
        ("agent", {"agent": "generic", "version": None}),
        ("version", {"agent": "generic", "version": "agents/generic@7"}),
        ("day", {"agent": "generic", "version": None}),
    ],
)
def test_quality_is_reported_by_group(client: FlaskClient, turn_id: str, by: str, named: dict[str, Any]) -> None:
    """Each line names its group, with counts, rates and times; what has no value is null."""
    client.put(f"/v1/turns/{turn_id}/feedback", json={"rating": "up"})

    (line,) = client.get(f"/v1/metrics/quality?by={by}").get_json()["items"]

    assert {name: line[name] for name in named} == named
    assert line["day"] == (_day(client, turn_id).isoformat() if by == "day" else None)
    assert (line["turns"], line["error_rate"], line["grounded_rate"], line["up"]) == (1, 0, 1, 1)
    assert line["plan_validity"] is None
    assert line["first_word_p50_ms"] > 0


def test_the_trend_shows_days_that_were_kept(client: FlaskClient, turn_id: str) -> None:
    """Nothing is there before the periodic task has kept a day."""
    before = client.get("/v1/metrics/trend").get_json()
    today = _day(client, turn_id)
    with transaction() as db:
        quality.keep_day(db, tenants.find(db, "ours").id, today)

    (line,) = client.get("/v1/metrics/trend").get_json()["items"]
    of_version = client.get("/v1/metrics/trend", query_string={"version": "agents/generic@7"}).get_json()["items"]

    assert before == {"items": []}
    assert (line["day"], line["agent"], line["turns"]) == (today.isoformat(), "generic", 1)
    assert [each["version"] for each in of_version] == ["agents/generic@7"]
    assert client.get(f"/v1/metrics/trend?since={today + timedelta(days=1)}").get_json()["items"] == []


@pytest.mark.parametrize(
    "query",
    [
        "quality?by=user",
        "quality?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z",
        "quality?since=2026-01-01T00:00:00Z&until=2026-03-01T00:00:00Z",
        "quality?since=2026-01-01T00:00:00",
        "quality?until=0001-01-01T00:00:00Z",
        "trend?since=x",
        "trend?days=3",
    ],
)
def test_wrong_queries_are_refused(client: FlaskClient, query: str) -> None:
    """A span ends after it begins and lasts a month at most; moments have a time zone."""
    assert client.get(f"/v1/metrics/{query}").status_code == 422


def test_a_rollout_is_started_shown_and_promoted(client: FlaskClient) -> None:
    """It ends once, and another one may start then. What is promoted becomes the tenant's own text."""
    started = client.post("/v1/rollouts", json=ASKED)
    found = started.get_json()
    path = f"/v1/rollouts/{found['id']}"
    shown = client.get(path).get_json()
    second = client.post("/v1/rollouts", json=ASKED)
    promoted = client.post(f"{path}/promote")
    again = client.post(f"{path}/stop")

    assert (started.status_code, second.status_code, again.status_code) == (201, 409, 409)
    assert (found["share"], found["max_worse"], found["min_turns"], found["outcome"]) == (0.25, 0.05, 20, None)
    assert found["created_by"].startswith("key ")
    assert (shown["rollout"], shown["new"], shown["old"]) == (found, None, None)
    assert (promoted.status_code, promoted.get_json()["outcome"]) == (200, "promoted")
    assert [each["outcome"] for each in client.get("/v1/rollouts").get_json()["items"]] == ["promoted"]
    assert client.post("/v1/rollouts", json=ASKED).status_code == 201


def test_a_language_model_is_rolled_out_as_its_agents_text(client: FlaskClient) -> None:
    """The agent keeps what the tenant has changed of it."""
    found = client.post("/v1/rollouts", json={"name": "agents/hotel", "llm": "gpt-4o", "share": 0.5}).get_json()

    assert found["text"] == "llm: gpt-4o\n"


def test_rollouts_are_listed_page_by_page(client: FlaskClient) -> None:
    """The newest first, each once."""
    names = ["styles/brief", "agents/hotel", "agents/generic"]
    for name in names:
        asked = {"name": name, "llm": "gpt-4o", "share": 0.5} if name.startswith("agents/") else ASKED
        assert client.post("/v1/rollouts", json=asked).status_code == 201

    first = client.get("/v1/rollouts?limit=2").get_json()
    rest = client.get(f"/v1/rollouts?limit=2&cursor={first['next_cursor']}").get_json()

    assert [[each["name"] for each in page["items"]] for page in (first, rest)] == [names[:0:-1], names[:1]]
    assert rest["next_cursor"] is None
    assert client.get("/v1/rollouts?cursor=x").status_code == 422


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"share": 0}, 422),
        ({"share": 1}, 422),
        ({"text": None}, 422),
        ({"llm": "gpt-4o"}, 422),
        ({"text": None, "llm": "gpt-4o"}, 422),
        ({"text": "no prompt"}, 422),
        ({"name": "agents/hotel", "text": "llm: unheard-of"}, 422),
        ({"name": "agents/nobody"}, 404),
        ({"name": "styles/unheard"}, 404),
    ],
)
def test_what_cannot_be_rolled_out_is_refused(client: FlaskClient, changed: dict[str, Any], status: int) -> None:
    """A share is between none and all, and the text is checked before a conversation gets it."""
    assert client.post("/v1/rollouts", json=ASKED | changed).status_code == status
    assert client.get("/v1/rollouts").get_json() == {"items": [], "next_cursor": None}


def test_rollouts_are_the_operators(client: FlaskClient, key: KeyMaker) -> None:
    """They need the scope `admin`. Another tenant's rollout is not there, and no other one either."""
    path = f"/v1/rollouts/{client.post('/v1/rollouts', json=ASKED).get_json()['id']}"

    for verb, address in (("GET", path), ("POST", f"{path}/stop"), ("POST", f"{path}/promote")):
        assert client.open(address, method=verb, headers=key("turns:write")).status_code == 403
        assert client.open(address, method=verb, headers=key(tenant="others")).status_code == 404
    assert client.get("/v1/rollouts", headers=key(tenant="others")).get_json()["items"] == []
    assert client.get(f"/v1/rollouts/{uuid4()}").status_code == 404
    assert client.get("/v1/rollouts/x").status_code == 404
