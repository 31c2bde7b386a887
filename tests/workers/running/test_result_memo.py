"""A call that was made before in the conversation is not repeated while its result is valid."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from pydantic import BaseModel

from tests.factories import running_turn, step
from turnloom.models.connections.database import statement
from turnloom.models.contracts.envelope import Envelope, ToolError
from turnloom.models.ledger import memory, steps
from turnloom.models.ledger.steps import Capacity, ClaimedStep, FinishedStep, Handover, Holder
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import Tool
from turnloom.workers.running.result_memo import MAX_RESULT_BYTES, input_hash, through_memory


class _Query(BaseModel):
    city: str
    days: int = 3


class _Answer(BaseModel):
    weather: str


class _Newer(BaseModel):
    weather: str
    wind: str


TOOL = Tool(
    name="a.look",
    description="d",
    input=_Query,
    output=_Answer,
    call=lambda query, _: _Answer(weather=query.city),
    effect="read",
    remember_s=600,
)
ROME = {"city": "Rome"}
ADA = {"id": "ada", "timezone": "Europe/Rome"}
HOLDER = Holder("w", 60_000)
SUNNY = Envelope(ok=True, data={"weather": "sunny"})


class _World:
    """A turn that makes calls as its executor does, and counts those that reach the tool."""

    def __init__(self) -> None:
        self.turn: ClaimedTurn = running_turn(*(step(name) for name in "abcdef"), max_steps=1, user=ADA)
        self.made = 0
        self._names = iter("abcdef")

    def call(self, args: dict[str, Any], tool: Tool = TOOL, answer: Envelope = SUNNY, **context: Any) -> FinishedStep:
        name = next(self._names)
        claimed = self._claim(name)

        def make() -> Envelope:
            self.made += 1
            return answer

        finished = through_memory(claimed, tool, args, self._context(name, **context), make)
        with statement() as db:
            capacity = Capacity("tools.io", 0)
            steps.advance(db, self.turn.id, self.turn.generation, Handover([finished]), capacity, HOLDER)
        return finished

    def _claim(self, name: str) -> ClaimedStep:
        with statement() as db:
            claimed = steps.claim(db, self.turn.id, [[name]], self.turn.generation, HOLDER).lanes[0].step
        assert claimed is not None
        return claimed

    def _context(self, name: str, **context: Any) -> ToolContext:
        given: dict[str, Any] = {
            "tenant_id": self.turn.tenant_id,
            "conversation_id": self.turn.conversation_id,
            "turn_id": self.turn.id,
            "step_id": name,
            "attempt": 1,
            "idempotency_key": "k",
            "deadline": time.monotonic() + 5,
            "user": ADA,
        }
        return ToolContext(**given | context)


@pytest.fixture
def world(database: str) -> _World:
    """A turn of six steps."""
    return _World()


def test_the_same_call_is_made_once(world: _World) -> None:
    """The second call gets the memoised result, marked as such. An explicit default value makes no difference."""
    first = world.call(ROME)
    again = world.call({"city": "Rome", "days": 3})

    assert world.made == 1
    assert (first.cache, first.result) == (None, SUNNY.data)
    assert (again.status, again.cache, again.result) == ("succeeded", "memory", SUNNY.data)
    assert again.input_hash == first.input_hash


def test_a_tool_that_is_always_called_is_memoised(world: _World) -> None:
    """The tool is called each time, and the memo keeps the latest result for the planner."""
    tool = replace(TOOL, always_made=True)
    world.call(ROME, tool)
    newer = world.call(ROME, tool, Envelope(ok=True, data={"weather": "rain"}))
    with statement() as db:
        remembered = memory.find(
            db, world.turn.tenant_id, world.turn.conversation_id, tool.name, newer.input_hash or ""
        )

    assert (world.made, newer.cache, remembered) == (2, None, {"weather": "rain"})


@pytest.mark.parametrize(
    ("args", "context"),
    [
        ({"city": "Paris"}, {}),
        ({"city": "Rome", "days": 4}, {}),
        (ROME, {"user": {"id": "bob"}}),
        (ROME, {"conversation_id": "another"}),
    ],
    ids=["arguments", "more", "person", "conversation"],
)
def test_a_different_call_is_made(world: _World, args: dict[str, Any], context: dict[str, Any]) -> None:
    """A result is used only for the same person in the same conversation."""
    world.call(ROME)

    assert world.call(args, **context).cache is None
    assert world.made == 2


@pytest.mark.parametrize(
    "tool",
    [
        replace(TOOL, remember_s=None),
        replace(TOOL, remember_s=None, effect="write"),
        replace(TOOL, remember_s=0.0),
        replace(TOOL, effect="write"),
        replace(TOOL, requires_approval=True),
        replace(TOOL, inline=True),
    ],
    ids=["not_said", "not_said_of_a_write", "run_out", "write", "approval", "inline"],
)
def test_a_call_of_another_kind_of_tool_is_always_made(world: _World, tool: Tool) -> None:
    """A call with an effect is always made, and so is an inline one, which costs less than the look-up."""
    world.call(ROME, tool)
    world.call(ROME, tool)

    assert world.made == 2


@pytest.mark.parametrize(
    "answer",
    [
        Envelope(ok=False, error=ToolError(code="NOT_FOUND", message="no such city")),
        Envelope(ok=False, needs={"city": ["Rome", "Rome, NY"]}),
        Envelope(ok=True, data={"weather": "x" * MAX_RESULT_BYTES}),
    ],
    ids=["failure", "needs", "long"],
)
def test_failures_questions_and_long_results_are_not_memoised(world: _World, answer: Envelope) -> None:
    """A failure may pass, a question is answered, and a long result would be read with every turn."""
    world.call(ROME, answer=answer)

    assert world.call(ROME).cache is None


def test_what_a_write_did_is_kept_and_stands_in_for_no_call(world: _World) -> None:
    """The conversation remembers it for 30 days, past midnight, unless the tool says otherwise."""
    tool = replace(TOOL, effect="write", remember_s=None)

    first = world.call(ROME, tool)
    second = world.call(ROME, tool)
    silent = world.call(ROME, replace(tool, remember_s=0))

    assert (world.made, second.cache, silent.remember) == (3, None, None)
    assert first.remember == {"tool": tool.name, "args": ROME, "for_s": 30 * 86_400}


def test_a_result_of_an_earlier_output_model_is_not_used(world: _World) -> None:
    """A memoised result that the tool's output model no longer accepts is not used."""
    world.call(ROME)

    assert world.call(ROME, replace(TOOL, output=_Newer)).cache is None


def test_a_result_holds_for_its_time_and_not_past_midnight(world: _World) -> None:
    """Midnight is in the person's time zone. After it, a statement about tomorrow is wrong."""
    with time_machine.travel(datetime(2026, 12, 1, 12, 0, tzinfo=UTC), tick=False):
        noon = world.call(ROME)
    with time_machine.travel(datetime(2026, 12, 1, 22, 59, 0, tzinfo=UTC), tick=False):  # a minute to midnight in Rome
        night = world.call({"city": "Oslo"})

    assert noon.remember is not None
    assert night.remember is not None
    assert (noon.remember["for_s"], night.remember["for_s"]) == (600, 60)


def test_arguments_that_the_tool_refuses_have_no_hash() -> None:
    """The call itself reports what is wrong with them."""
    assert input_hash(TOOL, {"town": "Rome"}, ADA) is None
