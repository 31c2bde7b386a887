"""Recorded replies of language models over tools that declare nothing. The conversations are outside cases."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from turnloom.planner.reply.grounding import Evidence, Grounding, ResultOrigin, check

CASES = os.environ.get("TURNLOOM_CASES")
with_cases = pytest.mark.skipif(not CASES, reason="TURNLOOM_CASES names no folder of outside cases")
NOW = datetime(2024, 5, 15, tzinfo=UTC)
MOST_REFUSED = 0.25
"""Of the replies with figures. A good half of what is refused states figures that the recording has nowhere."""


@with_cases
def test_most_recorded_replies_pass() -> None:
    """At most a quarter of the recorded replies that state figures are refused, with the results before as evidence."""
    lines = (Path(CASES or "") / "conversations.jsonl").read_bytes().splitlines()
    judged = [found for line in lines for found in _judged(orjson.loads(line)["turns"])]
    with_figures = [found for found in judged if found.sources or found.violations]

    refused = [found.violations for found in with_figures if found.violations]
    assert len(refused) <= MOST_REFUSED * len(with_figures), refused


def _judged(turns: list[dict[str, Any]]) -> Iterator[Grounding]:
    evidence = Evidence(NOW)
    for number, turn in enumerate(turns):
        evidence.add_said(turn["user"], "message")
        for place, call in enumerate(turn["tool_calls"]):
            evidence.add_result(call["result"], ResultOrigin(f"s{number}_{place}"))
        yield check(turn["assistant"] or "", evidence)
