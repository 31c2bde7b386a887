"""A process dies exactly between two commits, or between a commit and a message, at each such point in turn."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.chaos.drills import LONG, NEEDS, PLAN, WITHIN_S, Drill, disorders, drilled_stack, look
from tests.chaos.test_delivery_drill import DELIVERING, TAKING_OVER
from tests.chaos.test_planner_drill import CHATTING, READING, STREAMING
from tests.conftest import ALLOWED_HOST
from tests.facts import wait_for, whole_lines
from tests.journeys.following import sim_lines, wait_step
from tests.journeys.speaking import says, speaker, written
from tests.models.runtime.test_crash_points import reached
from tests.workers.calling_back import receiver
from turnloom.models.runtime.crash_points import CRASH_POINTS, reach
from turnloom.models.runtime.settings import settings

ROOT = Path(__file__).resolve().parents[2]
ENDING_ON_CPU = [*PLAN, {"id": "g", "tool": "sim.burn", "args": {"ms": 5}, "needs": ["f"]}]
LASTING = [wait_step("a", ms=600), *PLAN[1:]]
WRITING_TWICE = [*PLAN, {"id": "g", "tool": "sim.write", "args": {"value": 2}, "needs": ["f"]}]
DIAMOND = [wait_step("a"), wait_step("b", "a"), wait_step("c", "a"), {**PLAN[4], "needs": ["b", "c"]}]

CASES: list[tuple[str, list[dict[str, Any]]]] = [
    ("turn.opened", PLAN),
    ("turn.opened turns.taken", PLAN),
    ("turns.released", PLAN),
    ("turns.released turns.taken", PLAN),
    ("plan_turn.sent", PLAN),
    ("plan_turn.sent plan_turn.sent", PLAN),
    ("turn.claimed", PLAN),
    ("turn.claimed turn.requeued", PLAN),
    ("plan.drafted", PLAN),
    ("plan.recorded", PLAN),
    ("plan.recorded turn.reclaimed", PLAN),
    ("run_steps.sent", PLAN),
    ("run_steps.sent run_steps.sent chord.complete", DIAMOND),
    ("plan.published", PLAN),
    ("read.looked_at", PLAN),
    ("read.looked_at turn.reclaimed", PLAN),
    ("read.looked_at read.claimed", PLAN),
    ("read.claimed_late", LASTING),
    ("read.claimed", PLAN),
    ("read.returned", PLAN),
    ("write.claimed", PLAN),
    ("write.claimed write.claimed", PLAN),
    ("effect.begun", WRITING_TWICE),
    ("write.returned", PLAN),
    ("write.returned write.returned", PLAN),
    ("steps.recorded", DIAMOND),
    ("steps.recorded steps.recorded steps.recorded", PLAN),
    ("reply.due", PLAN),
    ("reply.due reply.taken_over", PLAN),
    ("respond.sent", ENDING_ON_CPU),
    ("reply.composed", PLAN),
    ("turn.finished", PLAN),
    ("turn.finished turns.taken", PLAN),
]
"""The crash points to die at, one after the other, and a plan that reaches them."""

TELLING = {"turn.opened", "plan.recorded", "write.claimed", "write.returned", "reply.due", "turn.finished"}
"""The points of the short form. A case takes some eight seconds, because a lease lasts six."""

CLOSING = ("turn.closed", "plan.recorded turn.closed", "write.claimed effect.given_up")
"""Points of a turn that is cancelled, of one past its deadline, and of one that is cancelled after a lost write."""

ASKING = ("approval.asked", "approval.decided", "approval.asked approval.decided turn.reclaimed", "resume.sent")
"""Points of a turn with a call that a person approves."""

DELAYING = ("step.delayed", "step.delayed turn.reclaimed")
"""Points of a turn with a call that is made again later."""

REVISING = ("turn.planned_again", "plan.recorded turn.planned_again plan.recorded", "context.learned")
"""Points of a turn that is planned again after its first step. In the last it learns from its results."""

CALLING = ("turn.finished", "call_back.sent", "callback.claimed", "callback.answered")
"""Points of a turn with a callback."""


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drill]:
    with speaker() as model:
        model.gate.set()
        with drilled_stack(
            tmp_path_factory.mktemp("crashes"), OPENAI_BASE_URL=model.url, TURNLOOM_ALLOWED_HOSTS=f'["{ALLOWED_HOST}"]'
        ) as ground:
            yield Drill(ground.api, ground.log, ground.crash_at, count())


def test_every_crash_point_has_a_drill() -> None:
    """Each point that the code names is in a table of this module, and the list of points has each of the tables."""
    patterns = reached()
    others = (CLOSING, STREAMING, READING, CHATTING, ASKING, DELAYING, REVISING, DELIVERING, TAKING_OVER, CALLING)
    tables = [*(line for line, _ in CASES), *(line for table in others for line in table)]
    points = {point for line in tables for point in line.split()}

    matched = {pattern for pattern in patterns for point in points if fnmatch(point, pattern)}

    assert matched == patterns
    assert points - {*CRASH_POINTS} == set()


def test_a_process_dies_at_the_first_line_and_removes_it(tmp_path: Path) -> None:
    """A process ends by SIGKILL, once, at the point in the first line of its file. Other lines have no effect."""
    crash_at = tmp_path / "crash_at"
    crash_at.write_text("b\nc\n")
    load = "from turnloom.models.runtime.crash_points import reach"
    script = f"{load}; reach('a'); reach('c'); print('here', flush=True); reach('b')"
    environment = {"TURNLOOM_CRASH_AT": str(crash_at), "PYTHONPATH": str(ROOT)}

    died = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)

    assert (died.returncode, died.stdout) == (-9, "here\n")
    assert crash_at.read_text() == "c\n"


def test_without_the_setting_a_point_does_nothing() -> None:
    """Outside of drills no process dies at a point."""
    settings.cache_clear()

    reach("turn.opened")

    assert settings().crash_at is None


@pytest.mark.drill
@pytest.mark.timeout(4 * WITHIN_S)
@pytest.mark.parametrize(
    ("points", "plan"), [pytest.param(*case, id=case[0]) for case in CASES if LONG or case[0] in TELLING]
)
def test_a_process_dies_at(points: str, plan: list[dict[str, Any]], drill: Drill) -> None:
    """Both turns of a conversation succeed, one after the other, each step in order, each effect once."""
    needs = {**NEEDS, "g": ["f"]} if plan is not DIAMOND else {"a": [], "b": ["a"], "c": ["a"], "e": ["b", "c"]}
    request = {"plan": {"steps": plan}, "conversation_id": f"c{next(drill.numbers)}", "on_busy": "enqueue"}
    # The first turn is held because an earlier message is missing.
    request |= {"metadata": {"sequence": 2}} if "turns.released" in points else {}
    drill.arm(points)

    first, second = drill.post(**request), drill.post(**request)

    views = {turn_id: drill.ended(turn_id) for turn_id in (first, second)}
    wait_for(drill.all_died)
    assert [view["status"] for view in views.values()] == ["succeeded", "succeeded"]
    assert [Counter(sim_lines(drill.log, turn_id))["E", "e"] for turn_id in views] == [1, 1]
    assert [disorders(view["steps"], needs) for view in views.values()] == [0, 0]
    turns = [line.split()[1] for line in whole_lines(drill.log)]
    assert turns.index(second) > len(turns) - 1 - turns[::-1].index(first)


@pytest.mark.drill
@pytest.mark.timeout(3 * WITHIN_S)
@pytest.mark.parametrize("points", REVISING)
def test_a_process_dies_during_a_revision(points: str, drill: Drill) -> None:
    """Recorded steps are kept, and the next revision is made."""
    write = {"id": "e", "tool": "sim.write", "args": {"value": 1}, "needs": []}
    drill.arm(points)

    mode = "adaptive" if "context.learned" in points else "react"
    turn = drill.ended(drill.post(message=says(written(write), written(reply="Done.")), mode=mode))

    wait_for(drill.all_died)
    assert (turn["status"], turn["reply"]["text"]) == ("succeeded", "Done.")
    assert sim_lines(drill.log, turn["turn_id"]).count(("E", "e")) == 1


@pytest.mark.drill
@pytest.mark.timeout(2 * WITHIN_S)
def test_the_api_dies_between_closing_a_turn_and_its_reply(drill: Drill) -> None:
    """A cancelled turn ends as cancelled, with a reply."""
    turn_id = drill.post(plan={"steps": [wait_step("a", ms=10_000)]})
    wait_for(lambda: sim_lines(drill.log, turn_id))
    drill.arm(CLOSING[0])
    with pytest.raises(httpx2.TransportError):
        drill.api.post(f"/v1/turns/{turn_id}/cancel")

    cancelled = drill.ended(turn_id)

    assert drill.all_died()
    assert (cancelled["status"], bool(cancelled["reply"]["text"])) == ("cancelled", True)


@pytest.mark.drill
@pytest.mark.timeout(2 * WITHIN_S)
def test_the_api_dies_between_superseding_a_turn_and_its_reply(drill: Drill) -> None:
    """The interrupted turn ends as superseded, and the turn that replaced it succeeds."""
    conversation = f"c{next(drill.numbers)}"
    first = drill.post(plan={"steps": [wait_step("a", ms=10_000)]}, conversation_id=conversation)
    wait_for(lambda: sim_lines(drill.log, first))
    drill.arm("turn.opened")
    second = drill.post(plan={"steps": PLAN}, conversation_id=conversation, on_busy="interrupt")

    ended = [drill.ended(first)["status"], drill.ended(second)["status"]]

    assert drill.all_died()
    assert ended == ["superseded", "succeeded"]


@pytest.mark.drill
@pytest.mark.timeout(2 * WITHIN_S)
def test_the_sweep_dies_between_closing_a_late_turn_and_its_reply(drill: Drill) -> None:
    """A turn whose message was not sent in time fails with the code `deadline`, and with a reply."""
    drill.arm(CLOSING[1])
    late = drill.ended(drill.post(plan={"steps": PLAN}, deadline_ms=1_000))

    assert drill.all_died()
    assert (late["status"], late["error"]["code"], bool(late["reply"]["text"])) == ("failed", "deadline", True)


@pytest.mark.drill
@pytest.mark.timeout(2 * WITHIN_S)
def test_the_sweep_dies_after_giving_up_the_lost_write_of_a_closed_turn(drill: Drill) -> None:
    """The turn ends as cancelled. The write is not made, and is unknown until an operator decides."""
    drill.arm(CLOSING[2])
    turn_id = drill.post(plan={"steps": [{**PLAN[4], "needs": []}]})
    wait_for(lambda: drill.crash_at.read_text() == "effect.given_up\n")
    drill.api.post(f"/v1/turns/{turn_id}/cancel")

    cancelled = drill.ended(turn_id)

    wait_for(drill.all_died, WITHIN_S)
    assert cancelled["status"] == "cancelled"
    wait_for(lambda: [step["status"] for step in look(drill.api, turn_id)["steps"]] == ["unknown"])
    assert sim_lines(drill.log, turn_id) == []


@pytest.mark.drill
@pytest.mark.timeout(2 * WITHIN_S)
@pytest.mark.parametrize("points", ASKING)
def test_a_process_dies_during_an_approval(points: str, drill: Drill) -> None:
    """The process that asks, decides or sends on dies. The call waits, is approved, and is made once."""
    drill.arm(points)
    turn_id = drill.post(plan={"steps": [wait_step("a"), {**PLAN[4], "tool": "sim.approve", "needs": ["a"]}]})
    wait_for(lambda: look(drill.api, turn_id).get("status") == "waiting_approval", WITHIN_S)
    before = Counter(sim_lines(drill.log, turn_id))

    wait_for(lambda: _is_approved(drill.api, turn_id), WITHIN_S)

    assert drill.ended(turn_id)["status"] == "succeeded"
    wait_for(drill.all_died, WITHIN_S)
    assert (before["S", "e"], Counter(sim_lines(drill.log, turn_id))["E", "e"]) == (0, 1)


def _is_approved(api: httpx2.Client, turn_id: str) -> bool:
    try:
        return api.post(f"/v1/turns/{turn_id}/approvals/e", json={"decision": "approve"}).status_code == 200
    except httpx2.TransportError:
        return False


@pytest.mark.drill
@pytest.mark.timeout(2 * WITHIN_S)
@pytest.mark.parametrize("points", DELAYING)
def test_a_process_dies_during_a_delayed_retry(points: str, drill: Drill) -> None:
    """The step is made again at its time, and the steps that need it follow."""
    flaky = {"tool": "sim.flaky", "args": {"fail_times": 1, "retry_after_s": 1.5}, "timeout_ms": 1_000}
    drill.arm(points)

    ended = drill.ended(drill.post(plan={"steps": [{"id": "a", **flaky}, {**PLAN[4], "needs": ["a"]}]}))

    wait_for(drill.all_died, WITHIN_S)
    effects = Counter(sim_lines(drill.log, ended["turn_id"]))
    assert (ended["status"], effects["E", "a"], effects["E", "e"]) == ("succeeded", 1, 1)


@pytest.mark.drill
@pytest.mark.timeout(2 * WITHIN_S)
@pytest.mark.parametrize("points", CALLING)
def test_a_process_dies_during_a_callback(points: str, drill: Drill) -> None:
    """The callback is delivered. If its answer could not be recorded it comes again, with the same id."""

    def status() -> object:
        return (drill.api.get(f"/v1/turns/{turn_id}/trace.json").json()["callback"] or {}).get("status")

    with receiver(ALLOWED_HOST) as there:
        drill.arm(points)
        turn_id = drill.post(plan={"steps": [wait_step("a")]}, callback_url=there.url)

        wait_for(lambda: status() == "delivered", WITHIN_S)

    assert drill.all_died()
    assert there.ids == [turn_id] * (2 if points == "callback.answered" else 1)
