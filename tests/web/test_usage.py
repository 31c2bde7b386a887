"""The API reports a tenant's usage: calls, tokens and cost."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from flask.testing import FlaskClient

from tests.factories import claim_turn
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.turn import Reply
from turnloom.models.contracts.usage import Budget, LlmCall
from turnloom.models.ledger import tenants, turns
from turnloom.models.ledger.turns import Ending

CALL = LlmCall("plan", "gpt-4o", 100, 40, 10, 0.5, 12.5, "stop")


@pytest.fixture
def turn_id(client: FlaskClient) -> str:
    """A turn that has made a call."""
    made: str = client.post("/v1/turns", json={"message": "hi", "conversation_id": "c1"}).get_json()["turn_id"]
    turn = claim_turn(UUID(made))
    assert turn is not None
    with statement() as db:
        assert turns.finish(db, turn.id, turn.attempt, Ending("succeeded", Reply(text="done"), {}), [CALL])
    return made


def test_a_turn_and_its_conversation_show_their_usage(client: FlaskClient, turn_id: str) -> None:
    """Both show the calls, tokens and cost."""
    expected = {
        "llm_calls": 1,
        "prompt_tokens": 100,
        "cached_tokens": 40,
        "completion_tokens": 10,
        "cost": 0.5,
    }

    assert client.get(f"/v1/turns/{turn_id}").get_json()["usage"] == expected
    assert client.get("/v1/conversations/c1").get_json()["usage"] == expected


@pytest.mark.parametrize(
    ("group_by", "line"),
    [("day", None), ("agent", "generic"), ("model", "gpt-4o"), ("conversation", "c1")],
)
def test_a_tenants_usage_is_summed_up(client: FlaskClient, turn_id: str, group_by: str, line: str | None) -> None:
    """Usage is summed by day, agent, language model or conversation, with the total and the budget."""
    with transaction() as db:
        tenants.set_budget(db, "ours", Budget(day_cost=5))
    today = datetime.now(UTC).date().isoformat()

    report = client.get(f"/v1/usage?group_by={group_by}").get_json()

    sums = {
        "llm_calls": 1,
        "prompt_tokens": 100,
        "cached_tokens": 40,
        "completion_tokens": 10,
        "cost": 0.5,
        "unpriced_calls": 0,
    }
    assert report["items"] == [{"key": line or today, **sums}]
    assert report["total"] == {"key": "total", **sums}
    assert (report["last_day"], report["group_by"], report["budget"]["day_cost"]) == (today, group_by, 5)
    assert report["first_day"] < today


def test_days_that_are_not_asked_for_are_left_out(client: FlaskClient, turn_id: str) -> None:
    """`from` and `to` bound the days, both included."""
    assert client.get("/v1/usage?from=2026-01-01&to=2026-01-31").get_json()["items"] == []
    assert len(client.get("/v1/usage?from=2026-01-01").get_json()["items"]) == 1


@pytest.mark.parametrize(
    "query",
    ["from=2026-02-01&to=2026-01-31", "from=x", "group_by=user", "limit=0", "until=2026-01-01", "from=0001-01-01"],
)
def test_a_wrong_question_is_refused(client: FlaskClient, query: str) -> None:
    """Days in the wrong order, unknown groups and unknown fields are errors, not an empty answer."""
    assert client.get(f"/v1/usage?{query}").status_code == 422


def test_totals_need_the_scope_admin(client: FlaskClient, key: KeyMaker, turn_id: str) -> None:
    """A key that reads turns cannot read totals, and another tenant's administrator sees none of ours."""
    reads = client.get("/v1/usage", headers=key("turns:read"))
    foreign = client.get("/v1/usage", headers=key("admin", tenant="theirs"))

    assert reads.status_code == 403
    assert foreign.get_json()["total"]["llm_calls"] == 0
