"""On real workers, steps that wait for a person or for a time hold nothing, and nothing runs twice."""

from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.facts import wait_for
from tests.journeys.following import assert_ran_once_in_order, finished, kinds, post, run, sim_lines, wait_step
from turnloom.workers.embedded.stack import Stack

APPROVED = {"id": "w", "tool": "sim.approve", "args": {"value": {"$from": "a.ms"}}}
NEEDS: dict[str, list[str]] = {"a": [], "w": ["a"], "b": ["a"], "c": [], "j": ["w", "b", "c"], "k": ["j"]}
JOINED = [APPROVED if name == "w" else wait_step(name, *needs) for name, needs in NEEDS.items()]


def waiting(api: httpx2.Client, steps: list[dict[str, Any]] = JOINED, **request: Any) -> str:
    """Post a plan; return the turn once it waits for approval."""
    turn_id: str = post(api, plan={"steps": steps}, agent="generic", **request)["turn_id"]
    wait_for(lambda: api.get(f"/v1/turns/{turn_id}").json()["status"] == "waiting_approval")
    return turn_id


def decide(api: httpx2.Client, turn_id: str, decision: str = "approve", step: str = "w") -> httpx2.Response:
    return api.post(f"/v1/turns/{turn_id}/approvals/{step}", json={"decision": decision})


def test_a_branch_of_a_chord_waits_for_approval(api: httpx2.Client, sim_log: Path) -> None:
    """The other branches end and the join waits. After the approval, each step runs once and in order."""
    turn_id = waiting(api)
    before = api.get(f"/v1/turns/{turn_id}").json()

    answer = decide(api, turn_id)

    turn = finished(api, turn_id)
    assert {step["id"]: step["status"] for step in before["steps"]} == {
        "a": "succeeded",
        "w": "waiting_approval",
        "b": "succeeded",
        "c": "succeeded",
        "j": "pending",
        "k": "pending",
    }
    assert before["steps"][1]["args"] == {"value": before["steps"][0]["result"]["ms"]}
    assert (answer.status_code, turn["status"]) == (200, "succeeded")
    assert_ran_once_in_order(sim_log, turn_id, NEEDS)
    assert kinds(api, turn_id).count("approval.requested") == 1


def test_a_rejected_call_is_not_made_and_the_reply_says_so(api: httpx2.Client, sim_log: Path) -> None:
    """The turn continues without the rejected call, and the reply says that it was not approved."""
    turn_id = waiting(api)

    decide(api, turn_id, "reject")

    turn = finished(api, turn_id)
    assert (turn["status"], turn["steps"][1]["error"]["code"]) == ("succeeded", "REJECTED")
    assert "was not approved" in turn["reply"]["text"]
    assert Counter(sim_lines(sim_log, turn_id))["S", "w"] == 0


def test_a_decision_while_redis_is_down_is_carried_out_later(stack: Stack, api: httpx2.Client) -> None:
    """The ledger has the decision, and recovery sends the step."""
    turn_id = waiting(api, [wait_step("a"), APPROVED])
    stack.redis.stop()
    try:
        answer = decide(api, turn_id)
    finally:
        stack.redis.start()

    assert answer.status_code == 200
    assert finished(api, turn_id, within_s=25)["status"] == "succeeded"


def test_cancelling_a_turn_that_waits_for_approval(api: httpx2.Client, sim_log: Path) -> None:
    """The turn ends at once, and a later decision is refused."""
    turn_id = waiting(api)

    api.post(f"/v1/turns/{turn_id}/cancel")

    turn = finished(api, turn_id, within_s=5)
    assert (turn["status"], turn["steps"][1]["status"]) == ("cancelled", "cancelled")
    assert decide(api, turn_id).status_code == 409
    assert Counter(sim_lines(sim_log, turn_id))["S", "w"] == 0


@pytest.mark.parametrize("policy", ["auto", "rollback"])
def test_the_next_message_supersedes_a_turn_that_waits(api: httpx2.Client, policy: str) -> None:
    """A waiting call has done nothing, so the first turn is superseded and the second one runs."""
    request = {"conversation_id": f"waiting-{policy}"}
    first = waiting(api, **request)

    second = post(api, plan={"steps": [wait_step("c")]}, agent="generic", on_busy=policy, **request)["turn_id"]

    assert finished(api, first, within_s=5)["status"] == "superseded"
    assert finished(api, second)["status"] == "succeeded"


def test_a_call_that_names_a_time_is_made_at_that_time(api: httpx2.Client, sim_log: Path) -> None:
    """No worker waits for it. The other steps run, the call is made at its time, and then the steps that need it."""
    flaky = {"id": "w", "tool": "sim.flaky", "args": {"fail_times": 1, "retry_after_s": 1.5}, "timeout_ms": 1_000}
    steps = [flaky if step["id"] == "w" else step for step in JOINED]

    turn = run(api, steps)

    later = turn["steps"][1]
    assert (turn["status"], later["status"], later["attempt"], later["error"]) == ("succeeded", "succeeded", 2, None)
    assert turn["executed_order"][-3:] == ["w", "j", "k"]
    assert "step.retry" in kinds(api, turn["turn_id"])
    assert Counter(sim_lines(sim_log, turn["turn_id"]))["E", "w"] == 1
