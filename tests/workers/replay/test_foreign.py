"""Files of other systems' conversations are read whole or not at all."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from turnloom.models.contracts.foreign import ForeignConversation
from turnloom.models.contracts.override import NO_OVERRIDES
from turnloom.models.errors import Invalid
from turnloom.planner.tenant_texts import tailor
from turnloom.tools.registry import load_registry
from turnloom.workers.replay.conversation_replay import replay
from turnloom.workers.replay.foreign import read_lines, recorded_conversation
from turnloom.workers.replay.setting import Setting
from turnloom.workers.replay.tool_results import RecordedResults
from turnloom.workers.turns.process_parts import llm, registry

TOOLS = load_registry(["sim", "hotel"])
CASES = os.environ.get("TURNLOOM_CASES")


def line(**fields: Any) -> bytes:
    return json.dumps({"conversation_id": "c1", "turns": [{"user": "hi", "assistant": "hello"}]} | fields).encode()


def recorded(**fields: Any) -> Any:
    return recorded_conversation(ForeignConversation.model_validate_json(line(**fields)), "generic", TOOLS)


def test_every_bad_line_and_field_is_named() -> None:
    """Nothing is read then."""
    lines = [line(), b"{", line(conversation_id="c2", turns=[]), b"", line(conversation_id="c3", turns=[{"at": "x"}])]

    with pytest.raises(Invalid) as caught:
        read_lines([*lines, line()])

    assert [(fault["line"], fault["field"]) for fault in caught.value.faults] == [
        (2, ""),
        (3, "turns"),
        (5, "turns[0].user"),
        (5, "turns[0].at"),
        (6, ""),
    ]
    assert "line 6: another line has the conversation_id 'c1'" in caught.value.faults[-1]["message"]


def test_an_empty_file_is_an_error() -> None:
    """It is more likely a wrong file than a wish."""
    with pytest.raises(Invalid, match="no conversations"):
        read_lines([b"\n"])


def test_what_others_add_and_leave_out_is_no_fault() -> None:
    """Unknown fields mean nothing to us; names, arguments and results may be missing."""
    nameless = {"id": None, "name": None, "args": None, "result": "Error: not found", "exception": None}
    turns = [{"user": "hi", "assistant": None, "tool_calls": [nameless]}, {"user": "so?"}]

    found = recorded(domain="retail", turns=turns)

    [step] = found.turns[0].record.steps
    assert (step.id, step.tool, step.args, step.result) == ("call1", "", {}, "Error: not found")
    assert [turn.record.reply for turn in found.turns] == [None, None]


def test_a_call_of_ours_is_known_under_both_names() -> None:
    """A result that was written as text is read."""
    calls = [
        {"id": "a", "name": "sim__echo", "args": {"value": 1}, "result": '{"value": 1}'},
        {"id": "b", "name": "their__tool", "args": {}, "result": '{"value": 1}'},
    ]

    steps = recorded(turns=[{"user": "hi", "tool_calls": calls}]).turns[0].record.steps

    assert [(step.tool, step.result) for step in steps] == [("sim.echo", {"value": 1}), ("their__tool", '{"value": 1}')]


def test_times_and_people() -> None:
    """Turns without a time follow each other; a time without a zone is in UTC; an unknown zone is left out."""
    turns = [{"user": "a"}, {"user": "b", "at": "2026-01-31T08:00:00+02:00"}, {"user": "c"}]

    found = recorded(started_at="2026-01-31T05:00:00", user={"id": "ada", "timezone": "Mars/North"}, turns=turns)

    assert [turn.begun_at.isoformat() for turn in found.turns] == [
        "2026-01-31T05:00:00+00:00",
        "2026-01-31T08:00:00+02:00",
        "2026-01-31T08:01:00+02:00",
    ]
    assert found.turns[0].person == {"id": "ada"}
    assert recorded(user="bob").turns[0].person == {"id": "bob"}


@pytest.mark.skipif(not CASES, reason="TURNLOOM_CASES names no folder of outside cases")
def test_recorded_conversations_of_other_systems() -> None:
    """All of them are read and replayed, none fails, and the second replay is the same as the first."""
    with Path(CASES or "", "conversations.jsonl").open("rb") as file:
        found = read_lines(file)
    setting = Setting(tenant_id=uuid4(), tailored=tailor(NO_OVERRIDES), tools=registry(), llm=llm())

    def once() -> list[Any]:
        replayed = []
        for each in found:
            conversation = recorded_conversation(each, "generic", setting.tools)
            replayed += replay(
                conversation,
                setting,
                lambda turn, past: RecordedResults(turn.record.steps, past.memory, setting.tools),
            )
        return replayed

    first, second = once(), once()

    assert len(first) == sum(len(each.turns) for each in found)
    assert Counter(turn.outcome for turn in first)["failed"] == 0
    assert [turn.model_dump_json() for turn in first] == [turn.model_dump_json() for turn in second]
