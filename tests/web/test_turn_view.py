"""Turns are shown in contracts."""

from uuid import UUID

import pytest
from flask.testing import FlaskClient

from tests.factories import claim_turn, record_plan, step
from turnloom.models.connections.database import statement
from turnloom.models.ledger import steps
from turnloom.models.ledger.steps import Capacity, FinishedStep, Handover, Holder

_HOLDER = Holder("w1", 6_000)


@pytest.mark.parametrize("turn_id", ["x", "123", "00000000-0000-7000-8000-000000000000", "%00", "..;"])
def test_unknown_turn(client: FlaskClient, turn_id: str) -> None:
    """A malformed or unknown id gets 404."""
    answers = [client.get(f"/v1/turns/{turn_id}{rest}") for rest in ("", "/events", "/graph.mmd", "/graph.svg")]

    assert [answer.status_code for answer in answers] == [404, 404, 404, 404]


def test_shown_turn(client: FlaskClient) -> None:
    """A turn shows its plans, its steps with their waiting times and durations, and where the time went."""
    accepted = client.post("/v1/turns", json={"message": "hi", "metadata": {"order": 7}}).get_json()
    turn_id = UUID(accepted["turn_id"])
    turn = claim_turn(turn_id)
    assert turn is not None
    record_plan(turn, step("a"), step("b"), step("c", "a", "b"))
    for name in ("b", "a"):
        with statement() as db:
            (lane,) = steps.claim(db, turn_id, [[name]], 1, _HOLDER).lanes
            assert lane.step
            if name == "b":
                done = FinishedStep("b", lane.step.attempt, "succeeded", {"slept_ms": 1})
                steps.advance(db, turn_id, 1, Handover([done]), Capacity("tools.io", 0, mixed=True), _HOLDER)

    running = client.get(accepted["links"]["self"]).get_json()

    assert running["status"] == "running"
    assert [(each["id"], each["status"]) for each in running["steps"]] == [
        ("a", "running"),
        ("b", "succeeded"),
        ("c", "pending"),
    ]
    assert running["executed_order"] == ["b", "a"]
    assert running["plans"][0]["revision"] == 1
    assert running["metadata"] == {"order": 7}
    assert running["trace_id"] == turn_id.hex
    assert running["timings"]["total_ms"] is None
    done_step = running["steps"][1]
    assert done_step["result"] == {"slept_ms": 1}
    assert done_step["duration_ms"] >= 0
    assert done_step["queue_ms"] >= 0
    assert running["timings"]["critical_path_ms"] == pytest.approx(done_step["duration_ms"])
    assert running["timings"]["tools_ms"] == pytest.approx(done_step["duration_ms"])
    assert len(running["created_at"]) == len("2026-01-01T00:00:00.000000Z")


def test_ready_step_is_queued(client: FlaskClient) -> None:
    """A step that waits for a worker is shown as queued, one that waits for steps as pending."""
    accepted = client.post("/v1/turns", json={"message": "hi"}).get_json()
    turn = claim_turn(UUID(accepted["turn_id"]))
    assert turn is not None
    record_plan(turn, step("a"), step("b", "a"))

    shown = client.get(accepted["links"]["self"]).get_json()

    assert [each["status"] for each in shown["steps"]] == ["queued", "pending"]
