"""A call that occurs twice in a plan is compiled so that it is made once."""

from typing import Any

import pytest

from tests.factories import REGISTRY, step
from turnloom.models.contracts.plan import Plan
from turnloom.models.runtime.settings import settings
from turnloom.workers.compiling import Compiled, compile_plan


def echo(name: str, *needs: str, **fields: Any) -> dict[str, Any]:
    return step(name, *needs, tool="sim.echo", args={"value": {"city": "Haifa", "n": 10**30}}, **fields)


WRITE = step("w", tool="sim.write", args={"value": 1})
FALLBACK = {"tool": "sim.echo", "args": {"value": 1}}


@pytest.fixture(autouse=True)
def _settings() -> None:
    settings.cache_clear()


def compiled(*steps: dict[str, Any], started: frozenset[str] = frozenset()) -> Compiled:
    return compile_plan(Plan.model_validate({"steps": list(steps)}), REGISTRY, "spread", started=started)


def copies(*steps: dict[str, Any]) -> dict[str, str]:
    return {row["id"]: row["copy_of"] for row in compiled(*steps).steps if row["copy_of"]}


def test_a_copy_needs_the_step_that_makes_the_call() -> None:
    """A copy has no message and reads only the result of that step. Steps that need the copy need it alone."""
    rows = {row["id"]: row for row in compiled(echo("a"), echo("b", reason="again"), step("c", "b")).steps}

    assert {name: rows["b"][name] for name in ("copy_of", "needs", "inputs", "inline")} == {
        "copy_of": "a",
        "needs": ["a"],
        "inputs": ["a"],
        "inline": True,
    }
    assert (rows["a"]["copy_of"], rows["c"]["needs"]) == (None, ["b"])


def test_each_later_copy_is_a_copy_of_the_first_step() -> None:
    """No step is a copy of a copy, so that all copies are recorded in one commit."""
    assert copies(WRITE, echo("a", "w"), echo("b", "w"), echo("c", "w")) == {"b": "a", "c": "a"}


@pytest.mark.parametrize(
    "other",
    [
        echo("b", "w"),
        echo("b", run_if={"$from": "w.value"}),
        echo("b", fallbacks=[FALLBACK]),
        echo("b", on_need_error="run"),
        echo("b", timeout_ms=7),
        echo("b", critical=False),
        step("b", tool="sim.echo", args={"value": 2}),
    ],
    ids=["needs", "run_if", "fallbacks", "on_need_error", "timeout_ms", "critical", "args"],
)
def test_a_different_call_is_made(other: dict[str, Any]) -> None:
    """A call is no copy if it comes after a write, has a condition, or differs in its settings or arguments."""
    assert copies(WRITE, echo("a"), other) == {}


def test_calls_that_are_not_shareable_are_all_made() -> None:
    """Writes, calls that a person approves, and tools that are not shareable are called each time."""
    twice = [
        step(f"{tool}{n}", tool=f"sim.{tool}", args=args)
        for tool, args in [("write", {"value": 1}), ("approve", {"value": 1}), ("wait", {"ms": 1})]
        for n in (1, 2)
    ]

    assert copies(*twice) == {}


def test_a_copy_of_a_step_that_has_started_early_follows_from_it() -> None:
    """The copy needs the step that has started; that step is in no fragment."""
    (fragment,) = compiled(echo("a"), echo("b"), started=frozenset("a")).fragments

    assert (fragment.needs, fragment.steps, fragment.inline) == (("a",), ("b",), True)
