"""Turns are run again over HTTP: what may be asked for, by whom, and what is refused before a worker sees it."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from flask.testing import FlaskClient
from sqlalchemy import text

from tests.factories import claim_turn, open_turn, queue_length, record_plan, step, work
from tests.models.ledger.remembering import answered, found
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import tenants
from turnloom.models.runtime.settings import settings

GIVEN = {"ms": 1, "payload": "ours"}


@pytest.fixture(autouse=True)
def packs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOOM_PACKS", '["sim"]')
    settings.cache_clear()


@pytest.fixture
def turn_id(client: FlaskClient) -> UUID:
    """A turn that has ended: `b` is called with what `a` has returned."""
    with transaction() as db:
        tenant_id = tenants.ensure(db, "ours")
    turn = claim_turn(open_turn(tenant_id).turn_id)
    assert turn is not None
    record_plan(turn, step("a", args={"ms": 1}), step("b", args={"ms": 1, "payload": {"$from": "a.payload"}}))
    for name in ("a", "b"):
        found(turn, name, {"ms": 1, "payload": "a"}, call=None)
    answered(turn)
    return turn.id


def test_a_fork_is_a_replay_of_one_turn(client: FlaskClient, turn_id: UUID) -> None:
    """It is sent to the workers of replays, and stands in the list of replays."""
    answer = client.post(f"/v1/turns/{turn_id}/forks", json={"step": "a", "results": {"a": GIVEN}})
    made = answer.get_json()

    assert answer.status_code == 202, answer.text
    assert answer.headers["Location"] == f"/v1/replays/{made['replay_id']}"
    assert (made["status"], made["conversations"], made["done"]) == ("running", 1, 0)
    assert made["fork"] == {"turn_id": str(turn_id), "step": "a"}
    assert [each["fork"] for each in client.get("/v1/replays").get_json()["items"]] == [made["fork"]]
    assert client.get(answer.headers["Location"]).get_json() == made
    assert queue_length("replay") == 1


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ({"step": "x"}, 404, "there is no step 'x'; the steps are: a, b"),
        ({"step": "a", "results": {"x": GIVEN}}, 404, "there is no step 'x'"),
        ({"step": "a", "results": {"a": {"ms": "soon"}}}, 422, "the result for step 'a' is none of sim.wait"),
        ({"step": "a", "plan": {"steps": [{"id": "b", "tool": "no.tool"}]}}, 422, "no.tool"),
        ({"step": "a", "plan": []}, 422, "plan"),
        ({"step": "a", "model": "unheard-of"}, 422, "there is no language model 'unheard-of'"),
        ({"step": "a", "prompts": {"agents/generic": "tools: 7"}}, 422, "agents/generic"),
        ({"step": "a", "tools": "simulated"}, 422, "`faults`"),
        ({}, 422, "step"),
    ],
)
def test_what_does_not_fit_the_turn_is_refused(
    client: FlaskClient, turn_id: UUID, asked: dict[str, Any], status: int, said: str
) -> None:
    """No replay is made then."""
    refused = client.post(f"/v1/turns/{turn_id}/forks", json=asked)

    assert (refused.status_code, said in refused.get_json()["detail"]) == (status, True), refused.text
    assert client.get("/v1/replays").get_json() == {"items": [], "next_cursor": None}


def test_every_fault_of_a_plan_is_told(client: FlaskClient, turn_id: UUID) -> None:
    """It is read as a caller's plan."""
    plan = {"steps": [{"id": "a", "tool": "sim.echo", "needs": ["gone"]}, {"id": "b", "tool": "no.tool"}]}

    refused = client.post(f"/v1/turns/{turn_id}/forks", json={"step": "a", "plan": plan}).get_json()

    assert {each["code"] for each in refused["errors"]} >= {"dangling_need", "unknown_tool"}


def test_a_turn_that_has_not_ended_is_refused(client: FlaskClient) -> None:
    """There is nothing to compare with."""
    turn = client.post("/v1/turns", json={"message": "hi"}).get_json()

    refused = client.post(f"/v1/turns/{turn['turn_id']}/forks", json={"step": "a"})

    assert (refused.status_code, refused.get_json()["code"]) == (409, "turn_not_finished")


def test_only_who_may_read_turns_and_make_replays_forks(client: FlaskClient, key: KeyMaker, turn_id: UUID) -> None:
    """Another tenant's turn is not there, and no other one either."""
    address, asked = f"/v1/turns/{turn_id}/forks", {"step": "a"}
    keys = [key("replays:write"), key("turns:read"), key(tenant="others")]

    statuses = [client.post(address, json=asked, headers=each).status_code for each in keys]

    assert statuses == [403, 403, 404]
    assert client.post(f"/v1/turns/{uuid4()}/forks", json=asked).status_code == 404
    assert client.post("/v1/turns/x/forks", json=asked).status_code == 404


def test_other_turns_of_a_conversation_are_not_read(client: FlaskClient, turn_id: UUID) -> None:
    """A long conversation would hold up the process and all its clients. Here another turn is unreadable."""
    message = {"message": "hi", "conversation_id": "c1"}
    later = UUID(client.post("/v1/turns", json=message).get_json()["turn_id"])
    work(later)
    with transaction() as db:
        db.execute(text("UPDATE turns SET error = '[]' WHERE id = :later"), {"later": later})

    fork = client.post(f"/v1/turns/{turn_id}/forks", json={"step": "a"})
    replay = client.post("/v1/replays", json={"turn_id": str(turn_id)})

    assert (fork.status_code, replay.status_code) == (202, 202)


def test_an_id_may_be_spelled_in_other_ways(client: FlaskClient, turn_id: UUID) -> None:
    """As everywhere else: in capitals, or without hyphens as a trace has it."""
    fork = client.post(f"/v1/turns/{str(turn_id).upper()}/forks", json={"step": "a"})
    replay = client.post("/v1/replays", json={"turn_id": turn_id.hex})

    assert (fork.status_code, replay.status_code) == (202, 202)
    assert (fork.get_json()["fork"]["turn_id"], replay.get_json()["turn_id"]) == (str(turn_id), str(turn_id))


def test_a_plan_needs_the_scope_for_plans(client: FlaskClient, key: KeyMaker, turn_id: UUID) -> None:
    """As in a message: with `live-read` its tools are called for the turn's user. Without a plan it is not needed."""
    plan = {"steps": [{"id": "a", "tool": "sim.wait", "args": {"ms": 1}}]}
    address, asked = f"/v1/turns/{turn_id}/forks", {"step": "a", "tools": "live-read"}
    without, with_it = key("replays:write", "turns:read"), key("replays:write", "turns:read", "plans:submit")

    refused = client.post(address, json={**asked, "plan": plan}, headers=without)

    assert (refused.status_code, "plans:submit" in refused.get_json()["detail"]) == (403, True)
    assert client.get("/v1/replays").get_json()["items"] == []
    assert client.post(address, json=asked, headers=without).status_code == 202
    assert client.post(address, json={**asked, "plan": plan}, headers=with_it).status_code == 202
