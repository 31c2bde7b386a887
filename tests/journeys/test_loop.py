"""The loop runs on real workers: plan, run, observe, plan again."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.journeys.following import finished, kinds, post, sim_lines, wait_step
from tests.journeys.speaking import Speaker, says, written

pytestmark = pytest.mark.usefixtures("speaking")


def ask(api: httpx2.Client, *answers: str, **request: Any) -> dict[str, Any]:
    return finished(api, post(api, says(*answers), agent="generic", **request)["turn_id"])


def echo(name: str, value: Any) -> dict[str, Any]:
    return {"id": name, "tool": "sim.echo", "args": {"value": value}, "needs": []}


def test_react_plans_one_step_at_a_time_from_earlier_results(asking: httpx2.Client, model: Speaker, log: Path) -> None:
    """Each revision gets the earlier results and may refer to them; the last one is the reply. No step runs twice."""
    second = {"id": "b", "tool": "sim.wait", "args": {"ms": {"$from": "a.ms"}, "payload": None}, "needs": []}

    turn = ask(asking, written(wait_step("a")), written(second), written(reply="Both are done."), mode="react")

    assert (turn["status"], turn["reply"]["text"]) == ("succeeded", "Both are done.")
    assert [[step["id"] for step in plan["steps"]] for plan in turn["plans"]] == [["a"], ["b"], []]
    assert sim_lines(log, turn["turn_id"]) == [("S", "a"), ("E", "a"), ("S", "b"), ("E", "b")]
    assert kinds(asking, turn["turn_id"]).count("plan.revised") == 2
    assert turn["usage"]["llm_calls"] == 3
    assert '"status": "succeeded"' in model.prompts[-1]


def test_a_step_that_is_listed_again_does_not_run_again(asking: httpx2.Client, log: Path) -> None:
    """A revision that repeats the whole plan runs only its new steps."""
    whole = written(wait_step("a"), wait_step("b", "a"))

    turn = ask(asking, written(wait_step("a")), whole, written(), mode="adaptive")

    assert [step["id"] for step in turn["steps"]] == ["a", "b"]
    assert [line for line in sim_lines(log, turn["turn_id"]) if line[0] == "S"] == [("S", "a"), ("S", "b")]


def test_two_steps_at_once_are_refused_in_react(asking: httpx2.Client) -> None:
    """The repair call names the fault, and its one step counts."""
    turn = ask(asking, written(wait_step("a"), wait_step("b")), written(wait_step("c")), mode="react")

    assert turn["plans"][0]["steps"][0]["id"] == "c"


def test_a_repeated_call_ends_the_loop(asking: httpx2.Client) -> None:
    """The third identical call is the last one, and the reply is made from the results so far."""
    turns = [written(echo(name, "same")) for name in "abcdef"]

    turn = ask(asking, *turns, mode="react")

    assert turn["status"] == "succeeded"
    assert [step["id"] for step in turn["steps"]] == ["a", "b", "c"]
    assert turn["reply"]["text"] == "Done."


def test_a_failure_that_blocks_the_answer_is_planned_around(asking: httpx2.Client, model: Speaker) -> None:
    """The planner sees the failure once, and finds another way."""
    failing = {"id": "a", "tool": "sim.fail", "args": {"code": "NOT_FOUND"}, "needs": []}

    turn = ask(asking, written(failing), written(echo("b", "instead")))

    assert turn["status"] == "succeeded"
    assert [(step["id"], step["status"]) for step in turn["steps"]] == [("a", "failed"), ("b", "succeeded")]
    assert "What failed keeps the answer back" in model.prompts[-1]


def test_a_second_failure_is_answered(asking: httpx2.Client) -> None:
    """The number of rounds is limited, and the turn fails with a reply."""
    failing = {"tool": "sim.fail", "args": {"code": "NOT_FOUND"}, "needs": []}

    turn = ask(asking, written({**failing, "id": "a"}), written({**failing, "id": "b"}))

    assert turn["status"] == "failed"
    assert [step["id"] for step in turn["steps"]] == ["a", "b"]
    assert len(turn["plans"]) == 2
    assert turn["reply"]["text"]


@pytest.mark.parametrize("args", [{"value": 1}, {"value": 1.0}, {"value": 1, "ms": 0}], ids=str)
def test_an_effect_is_not_repeated_by_a_revision(asking: httpx2.Client, log: Path, args: dict[str, Any]) -> None:
    """The same write under another id is refused, twice. The reply is made from the results so far."""
    write = {"tool": "sim.write", "needs": []}

    turn = ask(
        asking,
        written({**write, "id": "a", "args": {"value": 1}}),
        written({**write, "id": "b", "args": args}),
        mode="react",
    )

    assert turn["status"] == "succeeded"
    assert sim_lines(log, turn["turn_id"]) == [("S", "a"), ("E", "a")]


def test_an_effect_is_not_repeated_by_a_reference(asking: httpx2.Client, log: Path) -> None:
    """The arguments are known only when the step is claimed; then the step is refused."""
    write = {"id": "a", "tool": "sim.write", "args": {"value": 1}, "needs": []}
    again = {**write, "id": "b", "args": {"value": {"$from": "a.value"}}}

    turn = ask(asking, written(write), written(again), written(reply="It is written."), mode="react")

    assert [(step["error"] or {}).get("code") for step in turn["steps"]] == [None, "CONFLICT"]
    assert sim_lines(log, turn["turn_id"]) == [("S", "a"), ("E", "a")]


def test_a_model_that_plans_an_effect_twice_is_asked_again(asking: httpx2.Client, log: Path) -> None:
    """The repair call names the second write."""
    write = {"tool": "sim.write", "args": {"value": 1}, "needs": []}
    twice = written({**write, "id": "a"}, {**write, "id": "b", "args": {"value": 1.0}})

    turn = ask(asking, twice, written({**write, "id": "c"}))

    assert sim_lines(log, turn["turn_id"]) == [("S", "c"), ("E", "c")]


def test_the_answer_to_a_question_continues_from_it(asking: httpx2.Client, model: Speaker) -> None:
    """A tool that lacks a field asks one question with choices. The next turn learns which call asked."""
    unclear = {"id": "d", "tool": "dates.resolve_hint", "args": {"hint": "some time", "timezone": None}, "needs": []}
    clear = {**unclear, "args": {"hint": "tomorrow", "timezone": None}}

    first = ask(asking, written(unclear), conversation_id="asked")
    second = ask(asking, written(clear), conversation_id="asked")

    question = first["reply"]["question"]
    assert (question["fields"], len(question["choices"]["hint"])) == (["hint"], 2)
    assert second["steps"][0]["status"] == "succeeded"
    told = model.prompts[-1].split("<asked>")[1].split("</asked>")[0]
    assert json.loads(told)[0]["tool"] == "dates.resolve_hint"
