"""On real workers, playbooks, the critic and hooks step in when the language model fails, is unsure or is vetoed."""

import json
import re
from typing import Any

import httpx2
import pytest

from tests.journeys.following import finished, kinds, post, run
from tests.journeys.speaking import MESSAGE
from tests.planner.llm.scripted import Script, fails, says

SETTLED = {"thought": "t", "slots": {"city": "Kyoto", "nights": 2}, "reply": "Kyoto it is.", "steps": []}
WAIT = {"id": "a", "tool": "sim.wait", "args": {"ms": 1}, "needs": []}
UNSURE = {"thought": "t", "action": "Wait", "confidence": 0.4, "reply": None, "steps": [WAIT]}
LOOK_UP = [
    {"id": "sights", "tool": "travel.search_attractions", "args": {"city": "Osaka", "limit": 5}, "needs": []},
    {"id": "weather", "tool": "travel.lookup_weather", "args": {"city": "Osaka", "days": 2}, "needs": []},
]
JOINED = {"city": "Osaka", "days": 2, "attractions": {"$from": "sights.results"}, "weather": {"$from": "weather.days"}}
FORMAT = {"id": "trip", "tool": "travel.format_itinerary", "args": JOINED, "needs": [], "on_need_error": "run"}
TRIP = {"thought": "t", "action": "Plan a trip", "reply": None, "steps": [*LOOK_UP, FORMAT]}
WRITTEN_ANEW = re.compile(r"<reasons>")


def _speak(body: dict[str, Any]) -> Any:
    """Answer as the message says."""
    contents = [message["content"] for message in body["messages"]]
    message = json.loads([found for content in contents for found in MESSAGE.findall(content)][-1])
    form = body.get("response_format", {}).get("json_schema", {}).get("name")
    if message == "unsure" and form == "judgement":
        return says(json.dumps({"verdict": "revise", "reasons": ["It is too short."], "fix": None}))(body)
    if message == "unsure" and form is None:
        return says("I have waited for you." if WRITTEN_ANEW.search(contents[-1]) else "Waited.")(body)
    answers = {"nonsense": "Let me think about that."}
    answers |= {name: json.dumps(plan) for name, plan in (("settle", SETTLED), ("unsure", UNSURE), ("trip", TRIP))}
    return says(answers[message])(body) if message in answers else fails(401, "no such key")(body)


@pytest.fixture(autouse=True)
def _answering(script: Script) -> None:
    """Make the language model answer as the message says."""
    script.otherwise = _speak


@pytest.fixture
def api(asking: httpx2.Client) -> httpx2.Client:
    return asking


def _turn(api: httpx2.Client, message: str, conversation: str, agent: str = "travel") -> dict[str, Any]:
    return finished(api, post(api, message, conversation_id=conversation, agent=agent)["turn_id"])


def _trace(api: httpx2.Client, turn: dict[str, Any]) -> dict[str, Any]:
    trace: dict[str, Any] = api.get(f"/v1/turns/{turn['turn_id']}/trace.json").json()
    return trace


@pytest.mark.parametrize(("message", "code"), [("out", "llm_rejected"), ("nonsense", "invalid_plan")])
def test_a_playbook_stands_in_for_a_plan(api: httpx2.Client, script: Script, message: str, code: str) -> None:
    """The conversation's slots fill a playbook. The reply says that the message itself was not worked on."""
    _turn(api, "settle", f"trip-{message}")
    before = len(script.requests)

    turn = _turn(api, message, f"trip-{message}")

    assert turn["status"] == "succeeded"
    assert turn["reply"]["text"].startswith("I could not work on your message itself just now")
    assert {step["tool"] for step in turn["steps"]} == {
        "travel.search_attractions",
        "travel.lookup_weather",
        "travel.search_hotels",
        "travel.format_itinerary",
    }
    assert turn["output"]["days"]
    assert len(script.requests) - before == (1 if message == "out" else 2)
    trace = _trace(api, turn)
    assert "responding/stood_in" in {name.partition("@")[0] for name in trace["reply"]["prompts"]}
    (plan,) = trace["plans"]
    assert (plan["source"], plan["trace"]["failure"]["code"]) == ("playbook", code)
    assert "playbooks/trip_overview@1" in plan["trace"]["prompts"]
    assert plan["trace"].get("text") == ("Let me think about that." if message == "nonsense" else None)


def test_without_slots_the_failure_is_explained(api: httpx2.Client) -> None:
    """Without slots no playbook fits. The turn fails with a reply, and the model's text is in the trace."""
    turn = _turn(api, "nonsense", "nothing-settled")

    assert (turn["status"], turn["error"]["code"]) == ("failed", "invalid_plan")
    assert "could not work out" in turn["reply"]["text"]
    assert len(turn["reply"]["question"]["choices"]["request"]) == 3
    reply = _trace(api, turn)["reply"]
    assert reply["text"] == "Let me think about that."
    assert [fault["code"] for fault in reply["faults"]] == ["not_json"]


def test_the_reply_to_an_unsure_plan_is_checked(api: httpx2.Client) -> None:
    """The critic is a separate call and is asked once. Its verdict and cost are in the trace."""
    turn = _turn(api, "unsure", "doubt", agent="generic")

    assert turn["reply"]["text"] == "I have waited for you."
    trace = _trace(api, turn)
    assert [call["purpose"] for call in trace["llm_calls"]] == ["plan", "reply", "critic", "reply"]
    assert (trace["reply"]["critic"]["verdict"], trace["reply"]["critic"]["completion_tokens"]) == ("revise", 7)
    assert turn["usage"]["llm_calls"] == 4


def test_a_hook_stops_a_tool(api: httpx2.Client) -> None:
    """The vetoed step fails with REJECTED, the other steps run, and an event says who vetoed it."""
    steps = [{"id": word, "tool": "sim.echo", "args": {"value": word}} for word in ("forbidden", "broken", "secret")]

    turn = run(api, steps)

    found = {step["id"]: step for step in turn["steps"]}
    assert {name: step["status"] for name, step in found.items()} == {
        "forbidden": "failed",
        "broken": "succeeded",
        "secret": "succeeded",
    }
    assert found["forbidden"]["error"]["code"] == "REJECTED"
    assert found["secret"]["result"] == {"value": "(hidden)"}
    told = [kind for kind in kinds(api, turn["turn_id"]) if kind.startswith("hook.")]
    assert sorted(told) == ["hook.failed", "hook.vetoed"]


def test_a_hook_stops_a_call_of_the_language_model(api: httpx2.Client, script: Script) -> None:
    """A vetoed planning call is never made. The reason of the veto is the reply."""
    before = len(script.requests)

    turn = _turn(api, "closed", "shut", agent="generic")

    assert (turn["status"], turn["reply"]["text"]) == ("succeeded", "We are closed today.")
    assert len(script.requests) == before
    assert "hook.vetoed" in kinds(api, turn["turn_id"])


def test_a_trip_without_its_weather_says_so(api: httpx2.Client) -> None:
    """Without the weather, `best_effort` still delivers the itinerary and names the gap; `fail_fast` ends the turn."""
    best = finished(api, post(api, "trip", agent="travel")["turn_id"])
    fast = finished(api, post(api, "trip", agent="travel", on_error="fail_fast")["turn_id"])

    assert (best["status"], fast["status"]) == ("succeeded", "failed")
    assert {step["id"]: step["status"] for step in best["steps"]}["weather"] == "failed"
    assert len(best["output"]["days"]) == 2
    assert "weather" in best["reply"]["text"].lower()
    assert len(best["plans"]) == len(fast["plans"]) == 1
    assert fast["reply"]["text"]
