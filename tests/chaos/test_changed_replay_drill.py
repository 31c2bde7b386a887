"""Batch replays of changes that are known to be bad: they list exactly the turns that the change reaches.

Sixty conversations are recorded by the door. Which of their turns a change reaches is computed here from what was
said, and from the language model's recorded answers, not from the replay.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, NamedTuple

import httpx2
import pytest
from werkzeug.wrappers import Response

from tests.facts import wait_for
from tests.journeys.following import finished, post
from tests.journeys.stacks import client_of
from tests.planner.llm.scripted import scripted_server, stream
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.llm.offline.prompt import read_request
from turnloom.planner.llm.offline.responses import write
from turnloom.tools.registry import Registry, load_registry
from turnloom.workers.embedded.stack import Stack, StackOptions

WITHIN_S = 600.0
DROPPING = "dropping"
"""The name of a language model that forgets every third argument of a plan."""

Turn = tuple[str, int]
"""A conversation and the number of a turn in it."""


class Said(NamedTuple):
    """A message."""

    text: str
    leans: bool = False
    """Whether it means nothing without what the conversation has settled before."""


class Talk(NamedTuple):
    """The words of a user in a conversation with an agent."""

    agent: str
    said: tuple[Said, ...]


def _talks() -> Iterator[Talk]:
    for adults in range(1, 5):
        for budget in (700, 900, 1_500, 2_500):
            wish = Said(f"A room next weekend for {adults} adults and a child of {budget // 300}")
            change = (
                f"make it {adults % 4 + 1} adults, under {budget} ILS" if budget < 1_000 else "make it 3 nights please"
            )
            yield Talk("hotel", (wish, Said(change, leans=True)))
            yield Talk("hotel", (Said(f"A room tomorrow for two nights for {adults} adults under {budget} ILS"),))
    for city in ("Lisbon", "Rome", "Kyoto", "Paris", "Berlin", "London", "Tokyo"):
        yield Talk("travel", (Said(f"Plan a 2-day trip to {city}"), Said("thanks!")))
        yield Talk("travel", (Said(f"Hotels in {city} for 2 nights under 150"),))
        yield Talk("travel", (Said(f"Find flights to {city} on 2030-05-01"), Said("from Tel Aviv", leans=True)))
        yield Talk("travel", (Said(f"What's the weather like in {city}?"),))


TALKS = [*_talks()]


class Recorded(NamedTuple):
    """A recorded conversation."""

    id: str
    talk: Talk
    turns: list[dict[str, Any]]
    answers: list[list[str]]
    """For each turn what the language model answered when it was asked for a plan."""


class Ground(NamedTuple):
    """A stack, and what it has recorded."""

    api: httpx2.Client
    since: str
    recorded: list[Recorded]


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with scripted_server() as forgetful:
        forgetful.otherwise = _forget
        models = json.dumps({DROPPING: {"base_url": forgetful.url}})
        options = StackOptions(data_dir=None, port=0, tool_workers=1, settings={"TURNLOOM_LLM_MODELS": models})
        with Stack(options) as stack, client_of(stack) as api, ThreadPoolExecutor(6) as pool:
            since = datetime.now(UTC).isoformat()
            recorded = list(pool.map(lambda numbered: _held(api, *numbered), enumerate(TALKS)))
            yield Ground(api, since, recorded)


def _held(api: httpx2.Client, number: int, talk: Talk) -> Recorded:
    """Hold a conversation."""
    id_ = f"recorded-{number:03}"
    turns = []
    for said in talk.said:
        accepted = post(api, said.text, agent=talk.agent, conversation_id=id_)
        turns.append(finished(api, accepted["turn_id"], WITHIN_S))
    return Recorded(id_, talk, turns, [_answers(api, turn["turn_id"]) for turn in turns])


def _answers(api: httpx2.Client, turn_id: str) -> list[str]:
    calls = api.get(f"/v1/turns/{turn_id}/trace.json").json()["llm_calls"]
    return [call["recording"]["answer"] for call in calls if call["purpose"] in ("plan", "repair", "revision")]


def _forget(body: dict[str, Any]) -> Response:
    """Answer as the offline model does, without every third argument of a plan."""
    sent = read_request(body)
    text = write(sent, ROOT / "prompts")
    if sent.tools is not None:
        plan = json.loads(text)
        for step, name in _dropped(plan):
            step["call"]["args"][name] = None
        text = json.dumps(plan)
    return stream([text], whole=not body.get("stream"))


def _dropped(plan: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return every third argument of a plan, with its step."""
    given = [
        (step, name) for step in plan["steps"] for name, value in step["call"]["args"].items() if value is not None
    ]
    return given[2::3]


def _replayed(ground: Ground, **request: Any) -> set[Turn]:
    """Replay all that was recorded; return the turns that went another way in more than what they cost."""
    answer = ground.api.post("/v1/replays", json={"since": ground.since, **request})
    assert answer.status_code == 202, answer.text
    made: dict[str, Any] = {}

    def has_report() -> bool:
        made.update(ground.api.get(answer.headers["Location"]).json())
        return made["report"] is not None

    wait_for(has_report, WITHIN_S)
    report = made["report"]
    assert report["turns"] == sum(len(talk.said) for talk in TALKS)
    return {
        (turn["conversation_id"], turn["seq"])
        for turn in report["listed"]
        if turn["outcome"] != "different"
        or {difference["aspect"] for difference in turn["differences"]} - {"usage", "latency"}
    }


@pytest.mark.drill
@pytest.mark.timeout(3 * WITHIN_S)
def test_without_a_change_no_turn_goes_another_way(ground: Ground) -> None:
    """The record is one of at least sixty conversations that all went well."""
    assert len(ground.recorded) >= 60
    assert {turn["status"] for each in ground.recorded for turn in each.turns} == {"succeeded"}

    assert _replayed(ground) == set()


@pytest.mark.drill
@pytest.mark.timeout(3 * WITHIN_S)
def test_a_model_that_drops_every_third_argument_is_caught(ground: Ground) -> None:
    """Listed are the turns with a call that has other arguments without what was dropped, and no others."""
    tools = load_registry(["dates", "hotel", "travel"])
    expected = {
        (each.id, place)
        for each in ground.recorded
        for place, answers in enumerate(each.answers, 1)
        if any(_matters(json.loads(answer), tools) for answer in answers)
    }

    listed = _replayed(ground, model=DROPPING)

    assert 0 < len(expected) < sum(len(each.turns) for each in ground.recorded)
    assert listed == expected


def _matters(plan: dict[str, Any], tools: Registry) -> bool:
    """Return whether a call of a plan has other arguments without those that are dropped."""
    lost: dict[str, set[str]] = {}
    for step, name in _dropped(plan):
        lost.setdefault(step["id"], set()).add(name)
    return any(_differs(step, lost[step["id"]], tools) for step in plan["steps"] if step["id"] in lost)


def _differs(step: dict[str, Any], lost: set[str], tools: Registry) -> bool:
    """Return whether a call without these arguments is another one: they are required, or not the default."""
    model = tools.get(step["call"]["tool"]).input
    for name in lost:
        field = model.model_fields[name]
        if field.is_required() or step["call"]["args"][name] != field.get_default(call_default_factory=True):
            return True
    return False


@pytest.mark.drill
@pytest.mark.timeout(3 * WITHIN_S)
def test_a_prompt_that_says_too_little_is_caught(ground: Ground) -> None:
    """The prompt no longer says what is settled. Listed are the turns whose message leans on that, and no others."""
    known = (ROOT / "prompts" / "planning" / "known.j2").read_text("utf-8")
    begin, end = known.index("{% if slots %}"), known.index("{% if memory %}")
    worse = {"planning/known": known[:begin] + known[end:]}
    expected = {
        (each.id, place) for each in ground.recorded for place, said in enumerate(each.talk.said, 1) if said.leans
    }

    listed = _replayed(ground, prompts=worse)

    assert listed == expected
