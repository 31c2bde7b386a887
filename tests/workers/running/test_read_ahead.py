"""A step that runs ahead begins with the last success that it waits for, and its times follow the ledger's."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turnloom.models.ledger.steps import ClaimedStep, FinishedStep
from turnloom.workers.running.read_ahead import Ahead, LedgerTime

STEP = ClaimedStep(
    "s",
    "sim.wait",
    1,
    {},
    1_000,
    "read",
    None,
    [],
    None,
    unsure=False,
    left_ms=5_000,
    inputs={"before": 1},
    waits=[],
    has_rivals=False,
)


def succeeded(name: str, result: Any = None) -> FinishedStep:
    return FinishedStep(name, 1, "succeeded", result=result)


def test_a_step_begins_with_the_last_success_that_it_waits_for() -> None:
    """The step begins once, with the new results beside those that it was claimed with."""
    ahead = Ahead()
    ahead.add(replace(STEP, waits=["a", "b"]))

    early, (ready,), again = (ahead.after(succeeded(name, {"of": name})) for name in "aba")

    assert (early, again, len(ahead)) == ([], [], 0)
    assert ready.inputs == {"before": 1, "a": {"of": "a"}, "b": {"of": "b"}}
    assert 0 < ready.left_ms <= STEP.left_ms


def test_a_step_gets_copies_of_results() -> None:
    """Changes that a tool makes to its arguments do not reach the recorded result."""
    ahead = Ahead()
    ahead.add(replace(STEP, waits=["a"]))
    result = {"list": [1]}

    (ready,) = ahead.after(succeeded("a", result))
    ready.inputs["a"]["list"].append(2)

    assert result == {"list": [1]}


def test_a_step_that_is_given_back_waits_no_longer() -> None:
    """A step that is given back no longer begins with another step's success."""
    ahead = Ahead()
    ahead.add(replace(STEP, waits=["a"]))

    assert [step.id for step in ahead.give_back()] == ["s"]
    assert (ahead.after(succeeded("a")), len(ahead)) == ([], 0)


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1))
def test_times_are_in_order_and_between_the_answers(passing: list[tuple[float, float]]) -> None:
    """Times never go back and never run ahead of the ledger, however long answers take.

    `passing`: seconds until the ledger reads its time, and from then until the answer arrives.
    """
    ledger_time, moment, told = LedgerTime(), 0.0, [0.0]
    for until, answering in passing:
        moment += until + answering
        at = 1_000_000 + moment - answering
        ledger_time.hear(at, moment)
        told.append(ledger_time.of(moment))
        assert at - 1e-6 <= told[-1] <= 1_000_000 + moment + 1e-6

    assert told == sorted(told)
