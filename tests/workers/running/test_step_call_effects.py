"""However a call with an effect ends, it is not reported as failed if it may have acted, and it acts once."""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from celery.exceptions import Ignore
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some
from pydantic import BaseModel

from tests.factories import running_turn, step
from tests.models.ledger.parking import change, row
from tests.models.ledger.stopping import lose
from turnloom.models.connections.database import statement
from turnloom.models.errors import NeedsInput, OutcomeUnknown, ToolFailed, Unavailable
from turnloom.models.ledger import steps
from turnloom.models.ledger.steps import Holder
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.sim.effects import Write, Written
from turnloom.tools.registry import Tool
from turnloom.workers.execution import Executor
from turnloom.workers.recovery import recompile

pytestmark = pytest.mark.usefixtures("database", "tools")

HOLDER = Holder("worker/1", 6_000)
WRITE = step("w", tool="sim.write", args={"value": 7}, timeout_ms=20_000)


class Other(BaseModel):
    """A result of another shape."""

    value: Any


def nested() -> Any:
    value: list[Any] = []
    for _ in range(5_000):
        value = [value]
    return value


def written(value: Any = 7) -> Written:
    return Written(value=value, key="k", first=True)


def raises(error: BaseException) -> Callable[[], Any]:
    def end() -> Any:
        raise error

    return end


RETURNS: dict[str, Callable[[], Any]] = {
    "its result": written,
    "text with NUL": lambda: written("a\0\ud800"),
    "too much": lambda: written("x" * 2_000_000),
    "another shape": lambda: Other(value=1),
    "nothing": lambda: None,
    "what is no JSON": lambda: written(object()),
    "NaN": lambda: written(float("nan")),
    "a number beyond 64 bits": lambda: written(2**80),
    "nesting without end": lambda: written(nested()),
}
"""Ends of a call that has acted: the tool's return values."""

BREAKS: dict[str, Callable[[], Any]] = {
    "its own breakdown": raises(ToolFailed("broke", code="UPSTREAM_5XX")),
    "its own timeout": raises(ToolFailed("late", code="TOOL_TIMEOUT")),
    "a failure without a code": raises(ToolFailed("broke")),
    "a code of its own": raises(ToolFailed("broke", code="OUT_OF_PAPER")),
    "not knowing": raises(OutcomeUnknown("lost", code="UPSTREAM_4XX")),
    "a timeout": raises(TimeoutError()),
    "a broken connection": raises(ConnectionResetError()),
    "a bug": raises(KeyError("x")),
    "a check of its own": lambda: Write.model_validate({}),
    "a question that cannot be kept": raises(NeedsInput({"x": [object()]})),
    "no memory": raises(MemoryError()),
    "recursion": raises(RecursionError()),
    "an exit": lambda: sys.exit(1),
    "an interrupt": raises(KeyboardInterrupt()),
    "a generator's exit": raises(GeneratorExit()),
    "something else": raises(BaseException("x")),
}
"""Ends of a call that may or may not have acted."""

REFUSES: dict[str, Callable[[], Any]] = {
    "a question": raises(NeedsInput({"x": True})),
    **{
        code: raises(ToolFailed("refused", code=code))
        for code in ("NOT_FOUND", "CONFLICT", "VALIDATION_ERROR", "UPSTREAM_4XX", "UNAUTHORIZED", "BAD_ARGS")
    },
}
"""Ends by which the tool says that nothing happened."""

WAITS: dict[str, Callable[[], Any]] = {
    "an outage": raises(Unavailable("out")),
    "an outage with a time": raises(Unavailable("out", retry_after_s=30)),
}
"""Ends of a call that may have acted only if the backend recognises repetitions by the key."""

ASKED: dict[str, Callable[[], Any]] = {
    "the truth": lambda: None,
    "too much": lambda: written("x" * 2_000_000),
    "another shape": lambda: Other(value=1),
    "an outage": raises(Unavailable("out")),
    "a timeout": raises(TimeoutError()),
    "a breakdown": raises(ToolFailed("broke", code="UPSTREAM_5XX")),
    "a refusal": raises(ToolFailed("no", code="UNAUTHORIZED")),
    "a bug": raises(ValueError("x")),
    "a question": raises(NeedsInput({"x": True})),
}
"""Answers of the backend to a question about a call, besides the truth."""


@dataclass
class Backend:
    """A backend that recognises repetitions by the key, and may answer questions about them."""

    ends: Iterator[tuple[bool, Callable[[], Any]]]
    """For each call, whether it acts and how it ends."""
    answers: Iterator[str]
    """The answers, one for each question."""
    calls: int = 0
    keys: set[str] = field(default_factory=set)
    repeats: int = 0
    """The number of calls that repeat an effect after an end that did not ask for repetition."""
    _may_repeat: bool = True

    def call(self, _: Write, context: ToolContext) -> Any:
        self.calls += 1
        self.repeats += context.idempotency_key in self.keys and not self._may_repeat
        acts, end = next(self.ends)
        self._may_repeat = end in WAITS.values()
        if acts:
            self.keys.add(context.idempotency_key)
        return end()

    def asked(self, _: Write, context: ToolContext) -> Any:
        answer = next(self.answers)
        if answer == "the truth":
            return written() if context.idempotency_key in self.keys else None
        return ASKED[answer]()


def run(turn_id: UUID, generation: int = 1) -> tuple[str, str | None]:
    """Run the write as a worker would, and return its status and its error's code."""
    with statement() as db:
        claimed = steps.claim(db, turn_id, [["w"]], generation, HOLDER)
    assert claimed.turn is not None
    with suppress(Ignore):
        Executor(turn_id, claimed.turn, generation, "tools.io", HOLDER).run(claimed.lanes, 1, claimed.at)
    ended = row(turn_id)
    return ended.status, (ended.error or {}).get("code")


def let_its_time_come() -> None:
    change("UPDATE steps SET not_before = clock_timestamp() - interval '1 ms' WHERE not_before IS NOT NULL")


ACTING = {**RETURNS, **BREAKS}
_conversations = count()

ends = some.one_of(
    some.tuples(some.just(True), some.sampled_from(sorted(ACTING))),
    some.tuples(some.just(False), some.sampled_from(sorted({**BREAKS, **REFUSES, **WAITS}))),
)
outages = some.tuples(some.booleans(), some.sampled_from(sorted(WAITS)))


@pytest.mark.parametrize("effect", ["write", "spend"])
@given(
    calls=some.lists(some.one_of(ends, outages), min_size=1, max_size=4),
    answers=some.one_of(some.none(), some.lists(some.sampled_from(sorted(ASKED)), max_size=4)),
)
@example(calls=[(True, "too much")], answers=None)
@example(calls=[(True, "too much")], answers=["the truth"])
@example(calls=[(True, "an outage"), (False, "NOT_FOUND")], answers=["the truth"])
@example(calls=[(False, "an outage")] * 3, answers=["an outage", "the truth"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_effect_that_may_have_happened_never_fails_and_never_happens_twice(
    effect: Any, calls: list[tuple[bool, str]], answers: list[str] | None, tools: dict[str, Tool]
) -> None:
    """The calls and the questions about them may end in any way until the step is final."""
    known = {**ACTING, **REFUSES, **WAITS}
    if answers is None:  # such a tool may report Unavailable only if it has done nothing
        calls = [(acts and end not in WAITS, end) for acts, end in calls]
    calls = [*calls, (True, "its result")]
    answering = iter([*(answers or ()), *["the truth"] * 9])
    backend = Backend(iter([(acts, known[end]) for acts, end in calls]), answering)
    tools["sim.write"] = replace(
        tools["sim.write"], effect=effect, call=backend.call, reconcile=None if answers is None else backend.asked
    )
    turn = running_turn(WRITE, conversation_id=f"e{next(_conversations)}")
    change("UPDATE steps SET effect = :effect", effect=effect)

    status, code = "pending", None
    while status == "pending":
        status, code = run(turn.id)
        let_its_time_come()

    made = [end for _, end in calls[: backend.calls]]
    assert backend.repeats == 0
    assert status in (("succeeded", "unknown") if backend.keys else ("succeeded", "failed", "needs_input", "unknown"))
    assert (code is None) == (status in ("succeeded", "needs_input"))
    assert status == "unknown" or answers is not None or made[-1] not in BREAKS
    assert status in ("failed", "needs_input") or not all(end in REFUSES for end in made)


@pytest.mark.parametrize("end", sorted(BREAKS | RETURNS))
def test_a_call_that_cannot_be_asked_about_is_not_made_again(end: str, tools: dict[str, Tool]) -> None:
    """The step succeeds or is unknown, and the tool is called once."""
    backend = Backend(iter([(True, ACTING[end])]), iter([]))
    tools["sim.write"] = replace(tools["sim.write"], call=backend.call, reconcile=None)
    turn = running_turn(WRITE)

    status, _ = run(turn.id)

    assert (status, backend.calls) == ("succeeded" if end in ("its result", "text with NUL") else "unknown", 1)


@pytest.mark.parametrize("end", sorted(BREAKS | RETURNS))
def test_a_call_that_can_be_asked_about_has_succeeded(end: str, tools: dict[str, Tool]) -> None:
    """The backend says what was written, whatever error the call ended with."""
    backend = Backend(iter([(True, ACTING[end])]), iter(["the truth"]))
    tools["sim.write"] = replace(tools["sim.write"], call=backend.call, reconcile=backend.asked)
    turn = running_turn(WRITE)

    assert (run(turn.id)[0], backend.calls) == ("succeeded", 1)


def test_a_backend_that_contradicts_its_tool_is_not_believed(tools: dict[str, Tool]) -> None:
    """The tool has returned, so it has acted. It decides nothing that the backend finds no trace."""
    backend = Backend(iter([(False, RETURNS["too much"])]), iter(["the truth"]))
    tools["sim.write"] = replace(tools["sim.write"], call=backend.call, reconcile=backend.asked)

    assert run(running_turn(WRITE).id) == ("unknown", "INTERNAL_ERROR")


@pytest.mark.parametrize("answer", ["too much", "another shape", "a bug", "a refusal", "a question"])
def test_a_lost_call_whose_backend_gives_no_usable_answer_is_unknown(answer: str, tools: dict[str, Tool]) -> None:
    """A second question would bring the same answer."""
    backend = Backend(iter([]), iter([answer]))
    tools["sim.write"] = replace(tools["sim.write"], call=backend.call, reconcile=backend.asked)
    turn = running_turn(WRITE)
    with statement() as db:
        steps.claim(db, turn.id, [["w"]], 1, HOLDER)
    lose(turn.id)
    recompile(turn.id)

    assert (run(turn.id, generation=2)[0], backend.calls) == ("unknown", 0)


def test_a_lost_call_of_a_tool_that_is_gone_is_unknown(tools: dict[str, Tool]) -> None:
    """A worker without the tool's pack can neither ask the backend nor report a failure."""
    turn = running_turn(WRITE)
    with statement() as db:
        steps.claim(db, turn.id, [["w"]], 1, HOLDER)
    lose(turn.id)
    recompile(turn.id)
    del tools["sim.write"]

    assert run(turn.id, generation=2) == ("unknown", "NOT_FOUND")
