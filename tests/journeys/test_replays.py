"""Replays by the door: recorded conversations are replayed by workers, and nothing is sent or changed."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.facts import wait_for, whole_lines
from tests.journeys.conftest import Cli
from tests.journeys.following import run
from tests.journeys.test_hotel import talk
from turnloom.models.ledger.keys import DEVELOPMENT_TENANT
from turnloom.workers.turns import process_parts

WITHIN_S = 60.0


@pytest.fixture
def in_process(cli: Cli) -> Iterator[Cli]:
    """Commands that work with the stack's tools and language model in this process."""
    parts = (process_parts.llm, process_parts.registry)
    for part in parts:
        part.cache_clear()
    yield cli
    for part in parts:
        part.cache_clear()


def replayed(api: httpx2.Client, **request: Any) -> dict[str, Any]:
    """Make a replay and return it once its report is made."""
    answer = api.post("/v1/replays", json=request)
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = {}

    def has_report() -> bool:
        found.update(api.get(answer.headers["Location"]).json())
        return found["report"] is not None

    wait_for(has_report, WITHIN_S)
    return found


def listed(report: Mapping[str, Any]) -> list[tuple[int, str, list[str]]]:
    """Return the turns that did not go the same way: place, outcome, aspects."""
    return [(turn["seq"], turn["outcome"], [one["aspect"] for one in turn["differences"]]) for turn in report["listed"]]


def test_a_conversation_goes_the_same_way_again(api: httpx2.Client) -> None:
    """Each turn is replayed with its recorded past and results. The same replay gives the same report."""
    since = datetime.now(UTC).isoformat()
    talk(api, "A room next weekend for 2 adults and a child of 5", "make it 3 adults, under 900 ILS", "thanks!")

    first, second = (replayed(api, since=since, agent="hotel") for _ in range(2))

    assert listed(first["report"]) == []
    assert (first["done"], first["report"]["outcomes"]["same"]) == (1, 3)
    assert first["report"]["passed"]
    assert json.dumps(first["report"]) == json.dumps(second["report"])


def test_a_changed_agent_goes_another_way_where_it_matters(api: httpx2.Client) -> None:
    """Exactly the turns that called the tool that the agent has no more are listed."""
    since = datetime.now(UTC).isoformat()
    talk(api, "thanks!", "A room next weekend for 2 adults", "which room types do you have?")
    without = {"agents/hotel": "tools: [dates.resolve_hint, pms.get_room_types]\n"}

    made = replayed(api, since=since, agent="hotel", prompts=without, max_different=0.1)

    # The prompt is shorter in all of them.
    changed = [(seq, aspects[0]) for seq, _, aspects in listed(made["report"]) if aspects != ["usage"]]
    assert changed == [(2, "tools")]
    assert made["prompts"] == ["agents/hotel"]
    assert not made["report"]["passed"]


def test_a_replay_has_no_effect(api: httpx2.Client, sim_log: Path) -> None:
    """No call with an effect is made, whatever the source of results, and no turn is added."""
    since = datetime.now(UTC).isoformat()
    write = {"id": "w", "tool": "sim.write", "args": {"value": "paid"}}
    read = {"id": "r", "tool": "sim.wait", "args": {"ms": 1}}
    conversation = f"effects-{uuid4()}"
    run(api, [write, read], conversation_id=conversation)
    before = whole_lines(sim_log)

    recorded = replayed(api, since=since, agent="generic", tools="recorded")
    live = replayed(api, since=since, agent="generic", tools="live-read")
    faults = {"faults": [{"tool": "sim.write", "error": {"code": "UPSTREAM_4XX"}}]}
    simulated = replayed(api, since=since, agent="generic", tools="simulated", faults=faults)

    made = Counter(line.split()[2] for line in whole_lines(sim_log)[len(before) :])
    assert made == {"r": 2}  # the read of `live-read`: its start and its end
    assert len(api.get(f"/v1/conversations/{conversation}/turns").json()["items"]) == 1
    assert (listed(recorded["report"]), listed(live["report"])) == ([], [])
    assert [seq for seq, _, _ in listed(simulated["report"])] == [1]


def test_conversations_of_another_system(api: httpx2.Client) -> None:
    """Their calls are kept as recorded. A call of ours without a recorded result is not made."""
    turns = [
        {"user": "Hello there", "assistant": "Hi!"},
        {"user": "book it", "assistant": None, "tool_calls": [{"id": None, "name": None, "args": None, "result": "x"}]},
        {"user": "A room next weekend for 2 adults", "tool_calls": []},
    ]

    made = replayed(api, conversations=[{"conversation_id": "foreign-1", "agent": "hotel", "turns": turns}])

    outcomes = {seq: outcome for seq, outcome, _ in listed(made["report"])}
    assert made["report"]["turns"] == 3
    assert outcomes[3] == "diverged"


def test_the_report_is_one_page(api: httpx2.Client) -> None:
    """It is shown once the replay has ended."""
    made = replayed(api, conversations=[{"conversation_id": "foreign-2", "turns": [{"user": "Hello"}]}])

    shown = api.get(f"/v1/replays/{made['replay_id']}/report.html")

    assert shown.status_code == 200
    assert shown.headers["Content-Type"].startswith("text/html")
    assert made["replay_id"] in {each["replay_id"] for each in api.get("/v1/replays").json()["items"]}


def test_a_turn_is_run_again_from_a_step(api: httpx2.Client, in_process: Cli, sim_log: Path, tmp_path: Path) -> None:
    """It goes the same way, and another way with another result or plan. Nothing is written, whatever its steps are."""
    read = {"id": "r", "tool": "sim.wait", "args": {"ms": 1, "payload": "mine"}}
    write = {"id": "w", "tool": "sim.write", "args": {"value": {"$from": "r.payload"}}}
    turn = run(api, [read, write], conversation_id=f"fork-{uuid4()}")
    before = whole_lines(sim_log)
    result, plan = tmp_path / "r.json", tmp_path / "plan.json"
    result.write_text(json.dumps({"ms": 1, "payload": "ours"}), "utf-8")
    plan.write_text(json.dumps({"steps": [read]}), "utf-8")

    def forked(*options: object) -> dict[str, Any]:
        given = ("--from", "r", "--tenant", DEVELOPMENT_TENANT, "--json", *map(str, options))
        return dict(json.loads(in_process("replay", "fork", turn["turn_id"], *given)))

    same, other, shorter = forked(), forked("--result", f"r={result}"), forked("--plan", plan)

    assert (same["outcome"], same["differences"]) == ("same", [])
    assert same["replayed"]["reply"] == turn["reply"]["text"]
    assert [each["args"] for each in other["replayed"]["steps"]] == [read["args"], {"value": "ours"}]
    assert ("tools", "sim.write") in {(each["aspect"], each["subject"]) for each in shorter["differences"]}
    assert whole_lines(sim_log) == before
    assert api.get(f"/v1/turns/{turn['turn_id']}").json() == turn


def test_a_hotel_turn_is_run_again_with_its_recorded_plan(api: httpx2.Client, in_process: Cli) -> None:
    """From each of its steps, with all its recorded past and results."""
    *_, turn = talk(api, "A room next weekend for 2 adults and a child of 5", "make it 3 adults, under 900 ILS")
    given = ("--tenant", DEVELOPMENT_TENANT, "--json")

    made = [
        json.loads(in_process("replay", "fork", turn["turn_id"], "--from", step["id"], *given))
        for step in turn["steps"]
    ]

    assert made
    assert [(each["outcome"], each["differences"]) for each in made] == [("same", [])] * len(made)
