"""Mode adaptive runs phases on real workers, learns between them, and drops steps that rest on a wrong assumption."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.journeys.following import finished, post, sim_lines, wait_step
from tests.journeys.speaking import Speaker, says, written

pytestmark = pytest.mark.usefixtures("speaking")

LOOK = {"id": "w", "tool": "travel.lookup_weather", "args": {"city": "Kyoto"}, "needs": []}
PHASES = [
    {"id": "look", "objective": "See how it is", "success_metrics": ["known"], "steps": ["w"]},
    {"id": "act", "objective": "Act on it", "success_metrics": ["done"], "steps": []},
]


def ask(api: httpx2.Client, *answers: str) -> dict[str, Any]:
    return finished(api, post(api, says(*answers), agent="generic", mode="adaptive")["turn_id"])


def phased(current: str, *steps: dict[str, Any], assumptions: tuple[dict[str, Any], ...] = ()) -> str:
    """Return the text of a plan in phases."""
    plan = json.loads(written(*steps))
    head = {"assumptions": assumptions, "phases": PHASES, "current_phase": current}
    return json.dumps({**head, **plan})


def later(name: str, *needs: str, **more: Any) -> dict[str, Any]:
    return wait_step(name, *needs, phase="act", **more)


def known_of(api: httpx2.Client, turn: dict[str, Any]) -> dict[str, Any]:
    answer = api.get(f"/v1/conversations/{turn['conversation_id']}/knowledge")
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


def test_only_the_current_phase_runs_and_the_next_is_planned_with_its_results(
    asking: httpx2.Client, model: Speaker, log: Path
) -> None:
    """Steps of a later phase wait. The planner sees them with what is known, and repeats those that it still wants."""
    plan = phased("look", LOOK, later("b"), later("c", "b"))

    turn = ask(asking, plan, phased("act", later("b")), phased("done"))

    assert turn["status"] == "succeeded"
    assert [(step["id"], step["status"]) for step in turn["steps"]] == [("w", "succeeded"), ("b", "succeeded")]
    assert [[step["id"] for step in plan["steps"]] for plan in turn["plans"]] == [["w", "b", "c"], ["b"], []]
    assert [line for line in sim_lines(log, turn["turn_id"]) if line[0] == "S"] == [("S", "b")]
    asked = model.prompts[-2]
    assert "wait for their phase" in asked
    assert '"id": "city:kyoto"' in asked


def test_a_contradicted_assumption_replans_only_what_rests_on_it(
    asking: httpx2.Client, model: Speaker, log: Path
) -> None:
    """Other steps run as first planned, whatever the planner writes. Steps that rest on the assumption never run."""
    wrong = {
        "id": "x",
        "text": "It is in Europe.",
        "subject": "Kyoto",
        "attribute": "time_zone",
        "value": "Europe/Rome",
    }
    steps = [LOOK, later("kept", ms=7), later("doomed", assumes=["x"]), later("after", "doomed")]

    turn = ask(
        asking,
        phased("look", *steps, assumptions=(wrong,)),
        phased("act", later("kept", ms=1), later("instead")),
        phased("done"),
    )

    ran = {step["id"]: step for step in turn["steps"]}
    assert turn["status"] == "succeeded"
    assert set(ran) == {"w", "kept", "instead"}
    assert ran["kept"]["args"]["ms"] == 7
    assert {line for line in sim_lines(log, turn["turn_id"]) if line[0] == "S"} == {("S", "kept"), ("S", "instead")}
    found = {"x": "time_zone of Kyoto is Asia/Tokyo, not Europe/Rome"}
    assert found["x"] in model.prompts[-2]
    assert (
        asking.get(f"/v1/turns/{turn['turn_id']}/trace.json").json()["plans"][1]["trace"]["lesson"]["contradicted"]
        == found
    )


def test_a_conversations_knowledge_reaches_its_next_turn(asking: httpx2.Client, model: Speaker) -> None:
    """The first plan for the next message is made with that knowledge."""
    first = ask(asking, phased("look", LOOK), phased("done"))
    message = says(phased("look", wait_step("a")), phased("done"))

    conversation = first["conversation_id"]
    second = post(asking, message, agent="generic", mode="adaptive", conversation_id=conversation)
    finished(asking, second["turn_id"])

    assert '"id": "city:kyoto"' in model.prompts[-2]
    assert known_of(asking, first)["items"][0]["id"] == "city:kyoto"
