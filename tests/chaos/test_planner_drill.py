"""A planner dies while it plans. Its turn is planned again, and nothing else differs."""

from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.chaos.drills import LONG, PLAN, WITHIN_S, Drill, disorders, drilled_stack
from tests.facts import wait_for
from tests.journeys.following import sim_lines
from tests.journeys.speaking import PAUSE, Speaker, says, speaker, written

STREAMING = ("step.started_early", "step.started_early plan.recorded", "early_steps.dropped")
"""Points of a turn whose steps start while the language model writes the plan. In the last the plan is refused."""

READING = (
    "read.begun_early",
    "read.ended_early",
    "read.ended_early read.begun_early",
    "reads.kept",
    "reads.kept plan.recorded",
    "plan.drafted",
    "plan.recorded",
    "plan.drafted plan.recorded",
    "early_steps.dropped",
)
"""Points of a dense turn whose planner runs reads while the plan is written. In the last the plan is refused."""

AFTER_PLAN = ("plan.drafted", "plan.recorded", "early_steps.dropped")
"""Points that a planner reaches when its plan is complete."""

CHATTING = ("turn.claimed", "plan.drafted", "reply.composed", "turn.finished")
"""Points of a turn whose plan is a reply. The last two are before and after its only commit after the claim."""


@pytest.fixture(scope="module")
def model() -> Iterator[Speaker]:
    with speaker() as speaking:
        speaking.gate.set()
        yield speaking


@pytest.fixture(scope="module", params=["spread", "dense"])
def drill(request: pytest.FixtureRequest, model: Speaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drill]:
    folder = tmp_path_factory.mktemp(request.param)
    with drilled_stack(folder, OPENAI_BASE_URL=model.url, TURNLOOM_PLACEMENT=request.param) as ground:
        yield Drill(ground.api, ground.log, ground.crash_at, count())


EARLY = [("spread", each) for each in STREAMING] + [("dense", each) for each in READING]


def _recorded(drill: Drill, turn: dict[str, Any]) -> list[str]:
    """Return the purposes of a turn's calls, which are those that were committed. Each has its prompt and answer."""
    calls = drill.api.get(f"/v1/turns/{turn['turn_id']}/trace.json").json()["llm_calls"]
    assert all(call["recording"]["messages"] and call["recording"]["answer"] for call in calls)
    return [call["purpose"] for call in calls]


@pytest.mark.drill
@pytest.mark.timeout(3 * WITHIN_S)
@pytest.mark.parametrize(("drill", "points"), EARLY if LONG else [EARLY[0], EARLY[6]], indirect=["drill"])
def test_a_planner_dies_while_early_steps_run(points: str, drill: Drill, model: Speaker) -> None:
    """The turn is planned again and succeeds. Steps that the lost planner had begun run again; the write runs once."""
    is_refused = points == "early_steps.dropped"
    last = [{**PLAN[0], "id": "x", "tool": "sim.no"}] if is_refused else []
    model.gate.clear()
    drill.arm(points)
    armed = drill.crash_at.read_text()
    turn_id = drill.post(message=says(written(*PLAN[:4], PAUSE, *PLAN[4:], *last), written(*PLAN)))
    comes_later = points.split(maxsplit=1)[0] in AFTER_PLAN
    wait_for(lambda: sim_lines(drill.log, turn_id) if comes_later else drill.crash_at.read_text() != armed)
    model.gate.set()

    turn = drill.ended(turn_id)

    wait_for(drill.all_died)
    assert turn["status"] == "succeeded"
    assert {step["id"]: step["status"] for step in turn["steps"]} == {step["id"]: "succeeded" for step in PLAN}
    assert [len(plan["steps"]) for plan in turn["plans"]] == [len(PLAN)]
    assert Counter(sim_lines(drill.log, turn["turn_id"]))["E", "e"] == 1
    assert disorders(turn["steps"]) == 0


@pytest.mark.drill
@pytest.mark.timeout(3 * WITHIN_S)
@pytest.mark.parametrize("points", CHATTING if LONG else CHATTING[2:3])
def test_a_planner_dies_during_a_reply(points: str, drill: Drill) -> None:
    """The turn is planned again if it was not answered. It ends once, with one plan and one reply."""
    drill.arm(points)

    turn = drill.ended(drill.post(message=says(written(reply="Hello."))))

    wait_for(drill.all_died)
    assert (turn["status"], turn["reply"]["text"], len(turn["plans"])) == ("succeeded", "Hello.", 1)
    assert _recorded(drill, turn) == ["plan"]
