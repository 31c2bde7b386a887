"""A new text reaches a share of conversations, which keep it, and is taken back when it does worse."""

import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.facts import wait_for
from tests.journeys.conftest import Cli, new_tenant
from tests.journeys.following import finished, post
from turnloom.models.contracts.rollout import RunningRollout
from turnloom.models.contracts.scope import SCOPES
from turnloom.models.ledger.override_cache import _KEPT_S
from turnloom.workers.broker.app import app
from turnloom.workers.embedded.stack import Stack

ECHOING = {"plan": {"steps": [{"id": "a", "tool": "sim.echo", "args": {"value": "hi"}}]}, "agent": "generic"}
NEW_RESULTS = "---\nname: responding/results\nversion: 1\ninputs: [steps]\n---\nThe guild has spoken."
ORDERING = {"message": "Wait 1 ms three times one after another", "agent": "generic"}


@pytest.fixture(scope="module")
def api(stack: Stack, cli: Cli) -> Iterator[httpx2.Client]:
    """A client of a tenant of its own."""
    with new_tenant(stack, cli, "rolling", ",".join(SCOPES)) as client:
        yield client


def start(api: httpx2.Client, **asked: Any) -> RunningRollout:
    answer = api.post("/v1/rollouts", json=asked)
    assert answer.status_code == 201, answer.text
    found = answer.json()
    return RunningRollout(UUID(found["id"]), found["name"], found["text"], found["share"])


def say_all(api: httpx2.Client, conversations: list[str], **request: Any) -> dict[str, dict[str, Any]]:
    """Post a message in each conversation; return their finished turns."""
    sent = {each: post(api, conversation_id=each, **request)["turn_id"] for each in conversations}
    return {each: finished(api, turn_id, 60) for each, turn_id in sent.items()}


def wait_until_known(api: httpx2.Client, rollout: RunningRollout, is_new: Any, **request: Any) -> None:
    """Wait until all processes know a rollout, or its end: none trusts what it knew for longer than four seconds.

    No turn is posted meanwhile: one that is planned in the old way, and answered in the new one, would count for both.
    """
    conversation = next(name for number in range(99) if rollout.takes(name := f"first-{number}"))
    time.sleep(_KEPT_S)
    wait_for(lambda: is_new(say_all(api, [conversation], **request)[conversation]), within_s=40)


def split(rollout: RunningRollout, prefix: str, each_side: int) -> tuple[list[str], list[str]]:
    """Return conversations that the rollout takes, and as many that it does not take."""
    names = [f"{prefix}-{number}" for number in range(40 * each_side)]
    taken = [name for name in names if rollout.takes(name)]
    return taken[:each_side], [name for name in names if name not in taken][:each_side]


@pytest.fixture(scope="module")
def halved(api: httpx2.Client) -> RunningRollout:
    """A text that half of the conversations get, as all processes know by now."""
    rollout = start(api, name="responding/results", text=NEW_RESULTS, share=0.5)
    wait_until_known(api, rollout, is_new, **ECHOING)
    return rollout


def is_new(turn: dict[str, Any]) -> bool:
    return bool(turn["reply"]["text"] == "The guild has spoken.")


def test_half_of_the_conversations_get_a_text_and_keep_it(api: httpx2.Client, halved: RunningRollout) -> None:
    """Of forty conversations those that the rollout takes have it in each turn."""
    conversations = [f"half-{number}" for number in range(40)]
    seen = [say_all(api, conversations, **ECHOING) for _ in range(2)]
    again = api.post("/v1/rollouts", json={"name": "responding/results", "text": NEW_RESULTS, "share": 0.5})
    report = api.get(f"/v1/rollouts/{halved.id}").json()
    taken = {each for each in conversations if halved.takes(each)}

    assert 8 <= len(taken) <= 32
    assert [{each for each, turn in turns.items() if is_new(turn)} for turns in seen] == [taken, taken]
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert report["new"]["turns"] >= 2 * len(taken)
    assert report["old"]["turns"] >= 2 * (40 - len(taken))


def test_no_conversation_gets_a_text_that_was_stopped(api: httpx2.Client, halved: RunningRollout) -> None:
    """Not those either that had it."""
    stopped = api.post(f"/v1/rollouts/{halved.id}/stop").json()

    assert stopped["outcome"] == "stopped"
    wait_until_known(api, halved, lambda turn: not is_new(turn), **ECHOING)


@pytest.fixture(scope="module")
def worse(api: httpx2.Client) -> RunningRollout:
    """An agent whose plans are refused, for half of the conversations."""
    rollout = start(api, name="agents/generic", text="max_depth: 1", share=0.5, min_turns=8)
    wait_until_known(api, rollout, lambda turn: turn["status"] == "failed", **ORDERING)
    return rollout


def test_a_worse_text_is_taken_back_by_itself(stack: Stack, api: httpx2.Client, worse: RunningRollout) -> None:
    """It fails its turns. The next look ends it, and conversations go on as before."""
    taken, others = split(worse, "worse", 10)

    turns = say_all(api, taken + others, **ORDERING)
    _look(stack)
    wait_for(lambda: api.get(f"/v1/rollouts/{worse.id}").json()["rollout"]["outcome"] == "taken_back")
    wait_for(lambda: say_all(api, taken[:1], **ORDERING)[taken[0]]["status"] == "succeeded", within_s=30)

    assert {turns[each]["status"] for each in taken} == {"failed"}
    assert {turns[each]["error"]["code"] for each in taken} == {"invalid_plan"}
    assert {turns[each]["status"] for each in others} == {"succeeded"}
    found = api.get(f"/v1/rollouts/{worse.id}").json()
    assert found["rollout"]["reason"].startswith("failed turns: ")
    assert found["new"]["plan_validity"] < 0.5 < found["old"]["plan_validity"]
    lines = api.get("/v1/metrics/quality", params={"by": "version"}).json()["items"]
    by_version = {line["version"]: line for line in lines}
    (own,) = [line for version, line in by_version.items() if version.startswith("agents/generic@") and "+" in version]
    assert own["error_rate"] > 0.8
    assert own["plan_validity"] < 0.2
    assert any(version.startswith("llm/") for version in by_version)
    (whole,) = api.get("/v1/metrics/quality").json()["items"]
    assert whole["tool_success"] == 1
    assert 0 < whole["first_word_p50_ms"] <= whole["first_word_p95_ms"]


def _look(stack: Stack) -> None:
    with app.connection_for_write(stack.redis_url) as connection:
        app.send_task("check_rollouts", queue="maintenance", connection=connection)
