"""A conversation's memory is shown over HTTP."""

from uuid import UUID

import pytest
from flask.testing import FlaskClient

from tests.factories import claim_turn, record_plan, step
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import statement
from turnloom.models.contracts.turn import Reply
from turnloom.models.ledger import steps, turns
from turnloom.models.ledger.steps import Capacity, FinishedStep, Handover, Holder
from turnloom.models.ledger.turns import Ending

PATH = "/v1/conversations/c1/memory"
HOLDER = Holder("w", 60_000)


@pytest.fixture
def turn_id(client: FlaskClient) -> str:
    """A turn that filled the slot `city` and looked up the weather."""
    posted = client.post("/v1/turns", json={"message": "hello", "conversation_id": "c1", "agent": "travel"}).get_json()
    turn = claim_turn(UUID(posted["turn_id"]))
    assert turn is not None
    record_plan(turn, step("a"))
    call = {"tool": "travel.lookup_weather", "args": {"city": "Rome"}, "for_s": 60.0}
    with statement() as db:
        steps.claim(db, turn.id, [["a"]], turn.generation, HOLDER)
        found = FinishedStep("a", 1, "succeeded", {"days": []}, input_hash="h", remember=call)
        advance = steps.advance(db, turn.id, turn.generation, Handover([found]), Capacity("tools.io", 0), HOLDER)
        ending = Ending("succeeded", Reply(text="Sunny."), {}, slots={"city": "Rome", "stars": 4})
        assert turns.finish(db, turn.id, advance.respond or 0, ending) is not None
    return str(turn.id)


def test_state_and_results_are_shown(client: FlaskClient, turn_id: str) -> None:
    """The answer shows the slots with the agent's defaults, and the results of earlier calls."""
    held = client.get(PATH).get_json()

    (result,) = held["results"]
    assert held["slots"] == {"city": "Rome", "stars": 4, "travellers": 2}
    assert held["summary"] is None
    assert (result["tool"], result["args"], result["result"]) == (
        "travel.lookup_weather",
        {"city": "Rome"},
        {"days": []},
    )
    assert (result["turn_id"], result["step"]) == (turn_id, "a")
    assert result["at"] < result["expires_at"]


@pytest.mark.usefixtures("turn_id")
def test_another_tenants_memory_does_not_exist(client: FlaskClient, key: KeyMaker) -> None:
    """Another tenant's memory and an unknown conversation's get 404. The read scope is required."""
    assert client.get(PATH, headers=key("turns:read", tenant="theirs")).status_code == 404
    assert client.get("/v1/conversations/nothing/memory").status_code == 404
    assert client.get(PATH, headers=key("turns:write")).status_code == 403
