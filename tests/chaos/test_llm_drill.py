"""A language model shows every fault under load. Each turn gets its reply, at no more than the expected calls."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.chaos.drills import LONG, PLAN, drill, drilled_stack
from tests.journeys.speaking import MESSAGE, written
from tests.planner.llm.scripted import Behaviour, Script, fails, hangs, raw, says, scripted_server

EACH = 20 if LONG else 3
"""The number of turns of each kind."""

GOOD, REPLY = says(written(*PLAN)), says("Done.")


class Kind(NamedTuple):
    """The model's answers for a plan and for a reply, and the end of the turn."""

    planning: tuple[Behaviour, ...] = (GOOD,)
    replying: tuple[Behaviour, ...] = (REPLY,)
    status: str = "succeeded"

    def allowed(self) -> tuple[int, int]:
        """Return how often the model may be asked for a plan and for a reply."""
        return len(self.planning), len(self.replying)


def kinds(script: Script) -> dict[str, Kind]:
    broken, silent = fails(500), hangs(script.released)
    refusal = says(None, refusal="I will not.")
    return {
        "well": Kind(),
        "silent": Kind((silent, GOOD), (silent, REPLY)),
        "limited": Kind((fails(429, Retry_After="1"), GOOD), (fails(429, Retry_After="1"), REPLY)),
        "broken": Kind((fails(500, Retry_After="700"),), (), "failed"),
        "breaking": Kind((broken, broken, GOOD), (*(broken,) * 3, REPLY)),
        "rejected": Kind((fails(401),), (), "failed"),
        "cut": Kind((says(written(*PLAN)[:150], finish=None), GOOD), (says("Do", finish=None), REPLY)),
        "garbled": Kind((says("steps: none {"),) * 2, (), "failed"),
        "no_protocol": Kind((raw("<html>", "text/html"), GOOD)),
        "refusing": Kind((refusal,), ()),
        "empty": Kind((says(""),) * 2, (), "failed"),
        "speechless": Kind(replying=(says(""),)),
    }


class Days:
    """A model that behaves as the kind in the message says, and counts how often it is asked."""

    def __init__(self, script: Script) -> None:
        self.kinds = kinds(script)
        self.asked: Counter[tuple[str, str]] = Counter()
        script.otherwise = self._behave

    def _behave(self, body: dict[str, Any]) -> Any:
        purpose = "planning" if "response_format" in body else "replying"
        message = next(self._messages(body))
        number = self.asked[message, purpose]
        self.asked[message, purpose] += 1
        behaviours = getattr(self.kinds[message.split()[0]], purpose)
        return behaviours[min(number, len(behaviours) - 1)](body) if behaviours else fails(500)(body)

    @staticmethod
    def _messages(body: dict[str, Any]) -> Iterator[str]:
        for said in body["messages"]:
            yield from (json.loads(found) for found in MESSAGE.findall(said["content"]))


@pytest.mark.drill
@pytest.mark.timeout(300)
def test_a_language_model_with_every_fault(tmp_path: Path) -> None:
    """Every turn ends with a reply, and each fault costs at most the expected calls."""
    with scripted_server() as script:
        days = Days(script)
        messages = [f"{kind} {number}" for number in range(EACH) for kind in days.kinds]
        environment = {"OPENAI_BASE_URL": script.url, "TURNLOOM_LLM_TIMEOUT_S": "4"}
        with drilled_stack(tmp_path, **environment) as ground:
            report = drill(ground, [{"message": message} for message in messages], within_s=240)

    report.assert_nothing_lost_or_doubled()
    ended = {message: view["status"] for message, view in zip(messages, report.views, strict=True)}
    assert ended == {message: days.kinds[message.split()[0]].status for message in messages}
    assert all(view["reply"]["text"] for view in report.views)
    asked = {message: (days.asked[message, "planning"], days.asked[message, "replying"]) for message in messages}
    assert asked == {message: days.kinds[message.split()[0]].allowed() for message in messages}
