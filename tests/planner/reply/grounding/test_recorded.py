"""Recorded replies of language models over tools that declare nothing. The conversations are outside cases."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.planner.reply.grounding.replies import raised
from turnloom.planner.reply.grounding import Evidence, Grounding, ResultOrigin, check

CASES = os.environ.get("TURNLOOM_CASES")
with_cases = pytest.mark.skipif(not CASES, reason="TURNLOOM_CASES names no folder of outside cases")
NOW = datetime(2024, 5, 15, tzinfo=UTC)
MOST_REFUSED = 0.16
"""Of the replies with figures. Most of what is refused states figures that the recording has nowhere."""
FEWEST_CAUGHT = 0.8


@pytest.fixture(scope="module")
def replies() -> list[tuple[str, Evidence]]:
    """Return the recorded replies, each with the evidence that the conversation had by then."""
    lines = (Path(CASES or "") / "conversations.jsonl").read_bytes().splitlines()
    return [reply for line in lines for reply in _replies(orjson.loads(line)["turns"])]


@with_cases
def test_most_recorded_replies_pass(replies: list[tuple[str, Evidence]]) -> None:
    """At most one in six of the recorded replies that state figures is refused."""
    judged = [check(*reply) for reply in replies]
    with_figures = [found for found in judged if found.sources or found.violations]

    refused = [found.violations for found in with_figures if found.violations]
    assert len(refused) <= MOST_REFUSED * len(with_figures), refused


@with_cases
def test_most_altered_replies_are_caught(replies: list[tuple[str, Evidence]]) -> None:
    """Of the replies that pass, with one figure raised by seven, four in five are refused."""
    passed = [(text, evidence, check(text, evidence)) for text, evidence in replies]
    altered = [(other, evidence) for text, evidence, found in passed for other in _altered(text, found)]

    caught = [check(text, evidence).violations for text, evidence in altered]
    assert sum(map(bool, caught)) >= FEWEST_CAUGHT * len(caught) > 0


def _replies(turns: list[dict[str, Any]]) -> Iterator[tuple[str, Evidence]]:
    for number in range(len(turns)):
        evidence = Evidence(NOW)
        for earlier, turn in enumerate(turns[: number + 1]):
            evidence.add_said(turn["user"], "message")
            for place, call in enumerate(turn["tool_calls"]):
                origin = ResultOrigin(f"s{earlier}_{place}")
                evidence.add_asked(call["args"] or {}, origin)
                evidence.add_result(call["result"], origin)
        yield turns[number]["assistant"] or "", evidence


def _altered(text: str, found: Grounding) -> Iterator[str]:
    return iter(()) if found.violations else raised(text, found)
