"""On real workers, posted plans run each step once, and never before the steps that it needs."""

import json
import os
import random
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.facts import wait_for
from tests.journeys.following import FINAL, assert_ran_once_in_order, post, run, wait_step

CASES = os.environ.get("TURNLOOM_CASES")
with_cases = pytest.mark.skipif(not CASES, reason="TURNLOOM_CASES names no folder of outside cases")


def layers(*widths: int) -> dict[str, list[str]]:
    """Return layers of steps; each step needs all of the layer before."""
    needs: dict[str, list[str]] = {}
    before: list[str] = []
    for number, width in enumerate(widths):
        layer = [f"l{number}_{index}" for index in range(width)]
        needs.update(dict.fromkeys(layer, before))
        before = layer
    return needs


def random_dag(seed: int, size: int) -> dict[str, list[str]]:
    rng = random.Random(seed)
    return {
        f"s{index}": [f"s{other}" for other in range(max(0, index - 6), index) if rng.random() < 0.3]
        for index in range(size)
    }


SHAPES = {
    "group of three groups": layers(3, 3, 3),
    "two groups": layers(2, 2),
    "group, task, group": layers(3, 1, 3),
    "task, group": layers(1, 4),
    "header chain that ends in a group": {"a": [], "b": ["a"], "c": ["a"], "d": [], "e": ["b", "c", "d"]},
    "nested chords in a header": {
        "a": [],
        "b": [],
        "c": ["a", "b"],
        "d": [],
        "e": [],
        "f": ["d", "e"],
        "g": ["c", "f"],
        "h": ["g"],
    },
    "chord at the end of both branches": {
        "r": [],
        "a1": ["r"],
        "a2": ["r"],
        "a": ["a1", "a2"],
        "b1": ["r"],
        "b2": ["r"],
        "b": ["b1", "b2"],
        "x": ["a"],
        "y": ["a"],
        "end": ["b", "x", "y"],
    },
    "N": {"a": [], "b": [], "c": ["a"], "d": ["a", "b"]},
    "chain of forty": {f"s{n}": [f"s{n - 1}"] if n else [] for n in range(40)},
    "fan-out of forty": {"root": [], **{f"s{n}": ["root"] for n in range(40)}, "end": [f"s{n}" for n in range(40)]},
    **{f"random {seed}": random_dag(seed, 30) for seed in range(4)},
}


@pytest.mark.parametrize("name", SHAPES)
def test_each_step_runs_once_and_in_order(api: httpx2.Client, sim_log: Path, name: str) -> None:
    """Steps run exactly once and after their needs, whatever the shape of the plan and thus of the canvas."""
    needs = SHAPES[name]

    turn = run(api, [wait_step(step, *before) for step, before in needs.items()])

    assert turn["status"] == "succeeded"
    assert {step["status"] for step in turn["steps"]} == {"succeeded"}
    assert_ran_once_in_order(sim_log, turn["turn_id"], needs)


def test_independent_steps_overlap_on_separate_processes(api: httpx2.Client) -> None:
    """Two steps without needs run at the same time, on two worker processes."""
    turn = run(api, [wait_step("a", ms=400), wait_step("b", ms=400), wait_step("c", "a", "b")])

    first, second, _ = turn["steps"]
    assert first["worker"] != second["worker"]
    assert max(first["started_at"], second["started_at"]) < min(first["finished_at"], second["finished_at"])
    assert turn["executed_order"][-1] == "c"


def test_a_result_becomes_an_argument(api: httpx2.Client) -> None:
    """A reference carries a result along, and counts as a need."""
    steps = [
        {"id": "a", "tool": "sim.echo", "args": {"value": {"deep": [1, {"x": "found"}]}}},
        {"id": "b", "tool": "sim.echo", "args": {"value": [{"$from": "a.value.deep[1].x"}, {"$from": "a"}]}},
    ]

    turn = run(api, steps)

    assert turn["steps"][1]["needs"] == ["a"]
    assert turn["steps"][1]["result"] == {"value": ["found", {"value": {"deep": [1, {"x": "found"}]}}]}


def test_a_failure_is_reported_and_the_rest_continues(api: httpx2.Client) -> None:
    """With `best_effort`, steps that need the failed one are skipped, and the reply says what is missing."""
    steps = [
        {"id": "bad", "tool": "sim.fail", "args": {"code": "NOT_FOUND"}},
        wait_step("after", "bad"),
        wait_step("good"),
        wait_step("anyway", "bad", on_need_error="run"),
    ]

    turn = run(api, steps)

    assert turn["status"] == "succeeded"
    assert {step["id"]: step["status"] for step in turn["steps"]} == {
        "bad": "failed",
        "after": "skipped",
        "good": "succeeded",
        "anyway": "succeeded",
    }
    assert turn["steps"][0]["error"]["code"] == "NOT_FOUND"
    assert turn["steps"][1]["error"]["code"] == "DEPENDENCY_FAILED"
    assert "NOT_FOUND" not in turn["reply"]["text"]


def test_fail_fast_stops_at_the_first_failure(api: httpx2.Client) -> None:
    """Steps that have not started are cancelled, and the turn fails with a reply."""
    steps = [{"id": "bad", "tool": "sim.fail", "args": {"code": "NOT_FOUND"}}, wait_step("slow", ms=300)]
    turn = run(api, [*steps, wait_step("later", "slow")], on_error="fail_fast")

    assert turn["status"] == "failed"
    assert turn["steps"][2]["status"] == "cancelled"
    assert turn["error"]["code"] == "steps_failed"
    assert turn["reply"]["text"]


def test_short_failures_are_retried_inside_the_claim(api: httpx2.Client, sim_log: Path) -> None:
    """Two transient failures cost two retries, which are events, and no further claim."""
    turn = run(api, [{"id": "a", "tool": "sim.flaky", "args": {"fail_times": 2}}])

    assert (turn["steps"][0]["status"], turn["steps"][0]["attempt"]) == ("succeeded", 1)
    events = api.get(f"/v1/turns/{turn['turn_id']}/events").text
    assert events.count("event: step.retry") == 2


def test_a_tool_that_exceeds_its_timeout_is_given_up(api: httpx2.Client) -> None:
    """The step ends with TOOL_TIMEOUT soon after its own time-out."""
    turn = run(api, [wait_step("slow", ms=60_000, timeout_ms=100), wait_step("fast")])

    assert turn["steps"][0]["error"]["code"] == "TOOL_TIMEOUT"
    assert turn["steps"][0]["duration_ms"] < 5_000
    assert turn["steps"][1]["status"] == "succeeded"


def test_steps_that_need_cpu_run_on_the_process_pool(api: httpx2.Client) -> None:
    """A lane moves from one queue to another and back."""
    turn = run(
        api, [wait_step("a"), {"id": "b", "tool": "sim.burn", "args": {"ms": 20}, "needs": ["a"]}, wait_step("c", "b")]
    )

    workers = [step["worker"].split("@")[0] for step in turn["steps"]]
    assert turn["status"] == "succeeded"
    assert workers[1] == "worker-cpu"
    assert workers[0].startswith("worker-io")


def test_a_plan_that_ends_on_the_process_pool_is_answered(api: httpx2.Client) -> None:
    """Another worker makes the reply."""
    turn = run(api, [{"id": "b", "tool": "sim.burn", "args": {"ms": 1}}])

    assert (turn["status"], bool(turn["reply"]["text"])) == ("succeeded", True)


def test_a_turn_past_its_deadline_says_so(api: httpx2.Client) -> None:
    """Steps that could not start in time are cancelled, and the turn still ends with a reply."""
    turn = run(api, [wait_step("a", ms=300), wait_step("b", "a")], deadline_ms=150)

    assert [step["status"] for step in turn["steps"]] == ["failed", "skipped"]
    assert turn["reply"]["text"]


def test_inline_steps_need_no_worker_of_their_own(api: httpx2.Client) -> None:
    """The planner runs those that are ready at once. Later, the process that made them ready runs them."""
    echo = {"tool": "sim.echo", "args": {"value": 1}}
    steps = [
        {"id": "start", **echo},
        wait_step("left", "start"),
        wait_step("right", "start"),
        wait_step("other", "start"),
        {"id": "middle", **echo, "needs": ["left", "right"]},
        wait_step("end", "middle", "other"),
        wait_step("beside", "middle"),
    ]

    turn = run(api, steps)

    workers = {step["id"]: step["worker"].split("@")[0] for step in turn["steps"]}
    assert turn["status"] == "succeeded"
    assert workers["start"] == "worker-plan"
    assert workers["middle"].startswith("worker-io")


def test_an_empty_plan_is_answered(api: httpx2.Client) -> None:
    """Only `steps` is required, and it may be empty."""
    turn = run(api, [])

    assert (turn["status"], bool(turn["reply"]["text"]), turn["usage"]["llm_calls"]) == ("succeeded", True, 0)


@with_cases
@pytest.mark.timeout(300)
def test_real_plans_run_each_step_once_and_in_order(api: httpx2.Client, sim_log: Path) -> None:
    """Every plan of the public sets, mapped onto `sim.wait`, runs each step once and in order."""
    plans = [json.loads(line) for line in (Path(CASES or "") / "plans.jsonl").read_text().splitlines()]
    posted = {}
    for plan in plans:
        steps = [wait_step(step["id"], *step["needs"]) for step in plan["steps"]]
        posted[post(api, plan={"steps": steps}, agent="generic")["turn_id"]] = plan
    for turn_id, plan in posted.items():
        wait_for(lambda t=turn_id: api.get(f"/v1/turns/{t}").json()["status"] in FINAL, 120)
        assert_ran_once_in_order(sim_log, turn_id, {step["id"]: step["needs"] for step in plan["steps"]})


@with_cases
def test_real_bad_plans_are_refused_with_their_faults(api: httpx2.Client) -> None:
    """Every plan that a public set calls broken is refused with each of its faults that our format can express."""
    names = {
        "cycle": "cycle",
        "self_dependency": "self_dependency",
        "dangling_need": "dangling_need",
        "duplicate_id": "duplicate_id",
        "unknown_tool": "unknown_tool",
    }
    for line in (Path(CASES or "") / "bad_plans.jsonl").read_text().splitlines():
        case: dict[str, Any] = json.loads(line)
        steps = [
            {"id": step["id"], "tool": step["tool"], "args": step["args"], "needs": step["needs"]}
            for step in case["steps"]
        ]
        answer = api.post("/v1/turns", json={"message": "go", "plan": {"steps": steps}, "agent": "generic"})

        assert answer.status_code == 422, case["plan_id"]
        codes = {error["code"] for error in answer.json()["errors"]}
        expressible = {names[reason] for reason in case["reject_reasons"] if reason in names}
        assert expressible <= codes | ({"cycle"} if "self_dependency" in codes else set()), case["plan_id"]


def test_a_fallback_takes_the_place_of_a_failed_call(api: httpx2.Client) -> None:
    """The fallback runs under the same claim, its result is the step's, and the change is an event."""
    flaky = {"id": "a", "tool": "sim.flaky", "args": {"fail_times": 9}}
    steps = [
        {**flaky, "fallbacks": [{"tool": "sim.flaky", "args": {"fail_times": 0}}]},
        {"id": "b", "tool": "sim.echo", "args": {"value": {"$from": "a.calls"}}},
    ]

    turn = run(api, steps)

    assert [step["status"] for step in turn["steps"]] == ["succeeded", "succeeded"]
    assert turn["steps"][0]["attempt"] == 1
    assert turn["steps"][1]["result"]["value"] == turn["steps"][0]["result"]["calls"] == 4


def test_a_condition_decides_whether_a_step_runs(api: httpx2.Client, sim_log: Path) -> None:
    """A step whose condition does not hold is skipped, and so are the steps that need it. A condition is a need."""
    steps = [
        {"id": "a", "tool": "sim.echo", "args": {"value": {"found": [], "count": 2}}},
        wait_step("empty", run_if={"$from": "a.value.found"}),
        wait_step("none", run_if={"$from": "a.value.found", "not": True}),
        wait_step("two", run_if={"$from": "a.value.count", "equals": 2}),
        wait_step("after", "empty"),
    ]

    turn = run(api, steps)

    skipped = [step["id"] for step in turn["steps"] if step["status"] == "skipped"]
    assert skipped == ["empty", "after"]
    assert turn["steps"][1]["needs"] == ["a"]
    assert turn["status"] == "succeeded"
