"""Running turns are stopped by their caller, by the next message or by the clock."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.facts import wait_for
from tests.journeys.following import finished, kinds, post, run, sim_lines, wait_step

WRITE = {"id": "w", "tool": "sim.write", "args": {"value": "kept", "ms": 1_500}}
LONG = 20_000


def cancel(api: httpx2.Client, turn_id: str) -> httpx2.Response:
    return api.post(f"/v1/turns/{turn_id}/cancel")


def running(api: httpx2.Client, steps: list[dict[str, Any]], step: str, **request: Any) -> str:
    """Post a plan; return the turn once the step runs."""
    turn_id: str = post(api, plan={"steps": steps}, agent="generic", **request)["turn_id"]
    wait_for(lambda: step_of(api, turn_id, step).get("status") == "running")
    return turn_id


def step_of(api: httpx2.Client, turn_id: str, step: str) -> dict[str, Any]:
    steps = api.get(f"/v1/turns/{turn_id}").json()["steps"]
    return next((found for found in steps if found["id"] == step), {})


def test_cancelling_a_turn_that_waits(api: httpx2.Client) -> None:
    """The cancelled turn is never planned. The turn before it continues, and the one after it is next."""
    slow = running(api, [wait_step("a", ms=600)], "a", conversation_id="cancel-queued")
    more = {"conversation_id": "cancel-queued", "on_busy": "enqueue"}
    waiting = post(api, **more)["turn_id"]
    behind = post(api, plan={"steps": [wait_step("b")]}, **more)["turn_id"]

    answer = cancel(api, waiting)

    assert answer.status_code == 202
    assert (finished(api, waiting)["status"], finished(api, slow)["status"]) == ("cancelled", "succeeded")
    assert finished(api, behind)["status"] == "succeeded"
    assert "plan.started" not in kinds(api, waiting)


def test_cancelling_a_running_read(api: httpx2.Client, sim_log: Path) -> None:
    """The turn ends at once with a reply that says what was done, and no further step starts."""
    steps = [wait_step("fast"), wait_step("slow", "fast", ms=LONG, timeout_ms=2_000), wait_step("never", "slow")]
    turn_id = running(api, steps, "slow")

    answers = [cancel(api, turn_id), finished(api, turn_id, within_s=5), cancel(api, turn_id)]

    turn = answers[1]
    assert isinstance(turn, dict)
    assert (answers[0].status_code, answers[2].status_code, answers[2].json()["status"]) == (202, 200, "cancelled")
    assert [step["status"] for step in turn["steps"]] == ["succeeded", "cancelled", "cancelled"]
    assert (turn["status"], turn["error"]) == ("cancelled", None)
    assert "cancelled" in turn["reply"]["text"]
    assert kinds(api, turn_id)[-2:] == ["reply.done", "turn.cancelled"]
    assert ("S", "never") not in sim_lines(sim_log, turn_id)


def test_cancelling_during_a_running_write(api: httpx2.Client) -> None:
    """The reply says that the write may still take effect. It may end, and is recorded after the turn is final."""
    turn_id = running(api, [WRITE, wait_step("after", "w")], "w")

    cancel(api, turn_id)
    turn = finished(api, turn_id, within_s=5)
    before = kinds(api, turn_id)

    assert [step["status"] for step in turn["steps"]] == ["running", "cancelled"]
    assert "may still take effect" in turn["reply"]["text"]
    wait_for(lambda: step_of(api, turn_id, "w")["status"] == "succeeded")
    assert api.get(f"/v1/turns/{turn_id}").json()["status"] == "cancelled"
    assert kinds(api, turn_id) == before


@pytest.mark.parametrize(
    ("steps", "status", "expected"),
    [
        ([wait_step("a"), wait_step("b", "a", ms=LONG, timeout_ms=60_000)], "succeeded", ["succeeded", "failed"]),
        ([wait_step("a", ms=LONG, timeout_ms=60_000), wait_step("b", "a")], "failed", ["failed", "skipped"]),
    ],
    ids=["something", "nothing"],
)
def test_the_deadline_ends_a_running_turn(
    api: httpx2.Client, steps: list[dict[str, Any]], status: str, expected: list[str]
) -> None:
    """The reply uses the results so far. A turn without results fails."""
    turn = run(api, steps, deadline_ms=800)

    assert (turn["status"], [step["status"] for step in turn["steps"]]) == (status, expected)
    assert turn["timings"]["total_ms"] < 6_000


def test_the_deadline_ends_a_turn_that_waits(api: httpx2.Client) -> None:
    """A waiting turn fails with a reply at its deadline, while the turn before it continues."""
    slow = running(api, [wait_step("a", ms=4_000)], "a", conversation_id="late")

    late = finished(api, post(api, conversation_id="late", on_busy="enqueue", deadline_ms=200)["turn_id"])

    assert (late["status"], late["error"]["code"], late["steps"]) == ("failed", "deadline", [])
    assert "time" in late["reply"]["text"]
    assert finished(api, slow)["status"] == "succeeded"


def test_the_next_message_interrupts_a_turn_that_only_reads(api: httpx2.Client) -> None:
    """By default the second message supersedes the first turn, and its own plan runs. Finished steps are kept."""
    steps = [wait_step("a"), wait_step("b", "a", ms=LONG, timeout_ms=2_000)]
    first = running(api, steps, "b", conversation_id="interrupt")

    second = post(api, plan={"steps": [wait_step("c")]}, conversation_id="interrupt")["turn_id"]

    superseded, answered = finished(api, first, within_s=5), finished(api, second)
    assert (superseded["status"], superseded["superseded_by"]) == ("superseded", second)
    assert [step["status"] for step in superseded["steps"]] == ["succeeded", "cancelled"]
    assert [kind for kind in kinds(api, first) if kind.startswith(("reply.", "turn."))][1:] == ["turn.superseded"]
    assert answered["status"] == "succeeded"


def test_the_next_message_waits_for_a_write(api: httpx2.Client) -> None:
    """By default a turn that makes a change is not interrupted."""
    first = running(api, [WRITE], "w", conversation_id="write")

    second = post(api, plan={"steps": [wait_step("c")]}, conversation_id="write")["turn_id"]

    before, after = finished(api, first), finished(api, second)
    assert (before["status"], after["status"]) == ("succeeded", "succeeded")
    assert before["steps"][0]["finished_at"] <= after["steps"][0]["started_at"]


def test_messages_while_one_waits_become_one_turn(api: httpx2.Client) -> None:
    """By default both messages are answered together, in the turn that had not begun."""
    slow = running(api, [WRITE], "w", conversation_id="merge")
    first = post(api, "echo one", agent="generic", conversation_id="merge")

    second = post(api, "echo two", conversation_id="merge")

    assert second == first
    assert finished(api, slow)["status"] == "succeeded"
    assert finished(api, first["turn_id"])["status"] == "succeeded"
    items = api.get("/v1/conversations/merge/turns").json()["items"]
    assert [item["message"] for item in items] == ["go", "echo one\necho two"]
