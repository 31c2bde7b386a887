"""A call that is twice in a plan is compiled to be made once."""

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
    """It has no message and reads only that step's result. What needs the copy comes after both."""
    rows = {row["id"]: row for row in compiled(echo("a"), echo("b", reason="again"), step("c", "b")).steps}

    assert {name: rows["b"][name] for name in ("copy_of", "needs", "inputs", "inline")} == {
        "copy_of": "a",
        "needs": ["a"],
        "inputs": ["a"],
        "inline": True,
    }
    assert (rows["a"]["copy_of"], rows["c"]["needs"]) == (None, ["b"])


def test_every_further_step_is_a_copy_of_the_first() -> None:
    """Not of each other, so that all of them follow in one commit."""
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
def test_another_call_is_made(other: dict[str, Any]) -> None:
    """After a write, under a condition, in another way: that is not the same."""
    assert copies(WRITE, echo("a"), other) == {}


def test_calls_that_are_made_for_their_own_sake_are_all_made() -> None:
    """These are writes, calls that a person approves, and tools that say so."""
    twice = [
        step(f"{tool}{n}", tool=f"sim.{tool}", args=args)
        for tool, args in [("write", {"value": 1}), ("approve", {"value": 1}), ("wait", {"ms": 1})]
        for n in (1, 2)
    ]

    assert copies(*twice) == {}


def test_a_copy_of_a_step_that_has_started_early_follows_from_it() -> None:
    """The one that has started is a need, and in no fragment."""
    (fragment,) = compiled(echo("a"), echo("b"), started=frozenset("a")).fragments

    assert (fragment.needs, fragment.steps, fragment.inline) == (("a",), ("b",), True)
