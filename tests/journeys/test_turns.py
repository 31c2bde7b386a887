"""Whole turns over HTTP on the embedded stack are accepted once and run in order, whatever happens to the broker."""

from concurrent.futures import ThreadPoolExecutor

import httpx2

from tests.facts import wait_for
from tests.journeys.following import finished, post, wait_step
from turnloom.workers.embedded.stack import Stack

KYOTO = "Plan a 2-day Kyoto trip: main attractions, check the weather, hotels for 2 nights"


def test_a_trip_is_planned_in_parallel_and_changed_in_follow_ups(api: httpx2.Client) -> None:
    """The travel agent plans, runs independent lookups and formats, and understands what a follow-up changes."""
    first = finished(api, post(api, KYOTO, agent="travel", conversation_id="trip")["turn_id"])
    second = finished(api, post(api, "Make it 3 days", conversation_id="trip")["turn_id"])
    third = finished(api, post(api, "What about Osaka instead?", conversation_id="trip")["turn_id"])

    assert [turn["status"] for turn in (first, second, third)] == ["succeeded"] * 3
    needs = {step["tool"]: step["needs"] for step in first["steps"]}
    assert needs["travel.lookup_weather"] == needs["travel.search_attractions"] == []
    assert len(needs["travel.format_itinerary"]) == 3
    assert first["output"]["days"]
    assert [len(turn["output"]["days"]) for turn in (first, second, third)] == [2, 3, 3]
    assert first["reply"]["artifacts"][0]["kind"] == "itinerary"
    assert third["steps"][0]["args"]["city"] == "Osaka"
    assert first["usage"]["llm_calls"] == 1


def test_fifty_posts_of_one_message_make_one_turn(api: httpx2.Client) -> None:
    """One message is accepted; the others get the same answer."""
    body = {"message": "echo hello", "agent": "generic", "message_id": "fifty"}
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: api.post("/v1/turns", json=body), range(50)))

    assert sorted(answer.status_code for answer in answers) == [200] * 49 + [202]
    assert len({answer.text for answer in answers}) == 1
    assert finished(api, answers[0].json()["turn_id"])["status"] == "succeeded"


def test_a_conversation_is_answered_in_order(api: httpx2.Client) -> None:
    """Turns posted together run one after the other, in the order of their numbers."""
    plan = {"steps": [wait_step("a", ms=30), wait_step("b", ms=30)]}
    with ThreadPoolExecutor(8) as pool:
        more = {"plan": plan, "conversation_id": "order", "on_busy": "enqueue"}
        posted = list(pool.map(lambda n: post(api, f"{n}", **more), range(12)))

    turns = sorted((finished(api, accepted["turn_id"]) for accepted in posted), key=lambda turn: turn["seq"])
    assert [turn["seq"] for turn in turns] == list(range(1, 13))
    starts = [min(step["started_at"] for step in turn["steps"]) for turn in turns]
    ends = [max(step["finished_at"] for step in turn["steps"]) for turn in turns]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))


def test_a_turn_is_accepted_while_the_broker_is_down_and_runs_when_it_is_back(stack: Stack, api: httpx2.Client) -> None:
    """The ledger keeps the turn, and the sweep sends it when the broker is back."""
    stack.redis.stop()
    try:
        accepted = post(api, plan={"steps": [wait_step("a")]})
    finally:
        stack.redis.start()

    assert accepted["status"] == "queued"
    assert finished(api, accepted["turn_id"], within_s=25)["status"] == "succeeded"


def test_waiting_answers_with_the_finished_turn(api: httpx2.Client) -> None:
    """`?wait` delays the answer until the turn is final, or the time is over."""
    body = {"message": "go", "plan": {"steps": [wait_step("a", ms=50)]}}
    done = api.post("/v1/turns?wait=10", json=body)
    body["plan"] = {"steps": [wait_step("a", ms=2_000)]}
    pending = api.post("/v1/turns?wait=0.2", json=body)

    assert (done.status_code, done.json()["status"]) == (200, "succeeded")
    assert (pending.status_code, pending.json()["status"]) == (202, "queued")


def test_no_plan_from_the_model_ends_with_an_explained_reply(api: httpx2.Client) -> None:
    """The reply says that the model cannot do this, and invents nothing."""
    turn = finished(api, post(api, "Please paint my house blue", agent="generic")["turn_id"])

    assert turn["status"] == "succeeded"
    assert "offline" in turn["reply"]["text"].lower()
    assert turn["steps"] == []


def test_events_show_the_whole_turn_once(api: httpx2.Client) -> None:
    """A late reader gets every event from the first to the last, numbered without gaps."""
    turn = finished(api, post(api, plan={"steps": [wait_step("a"), wait_step("b", "a")]})["turn_id"])

    lines = api.get(f"/v1/turns/{turn['turn_id']}/events").text.splitlines()

    ids = [line.removeprefix("id: ") for line in lines if line.startswith("id: ")]
    kinds = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert ids == [str(number) for number in range(1, len(ids) + 1)]
    assert (kinds[0], kinds[-2:]) == ("turn.queued", ["reply.done", "turn.succeeded"])
    assert kinds.count("step.finished") == 2


def test_a_tool_process_that_dies_comes_back(stack: Stack, api: httpx2.Client) -> None:
    """The supervisor starts it again, and the next turn runs."""
    before = {name: process.pid for name, process in stack.processes.items() if "io" in name}
    for name in before:
        stack.processes[name].kill()
    wait_for(lambda: all(stack.processes[name].pid not in (None, pid) for name, pid in before.items()), 20)

    turn = finished(api, post(api, plan={"steps": [wait_step("a"), wait_step("b")]})["turn_id"], within_s=25)

    assert turn["status"] == "succeeded"
