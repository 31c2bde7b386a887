"""Test what a playbook may contain, how a planner sees it, and when one replaces a plan."""

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from turnloom.models.runtime.settings import settings
from turnloom.planner.agents import load_agents
from turnloom.planner.plan.expansion import Expansion, stand_in
from turnloom.planner.plan.limits import PlanLimits
from turnloom.planner.plan.playbooks import Playbooks, load_playbooks, read_playbook
from turnloom.planner.plan.validation import validate
from turnloom.tools.registry import Registry, load_registry

Read = Callable[..., Playbooks]

BOOK: dict[str, Any] = {
    "version": 1,
    "description": "The weather of a city.",
    "agents": ["travel"],
    "inputs": {
        "city": {"type": "text", "description": "Where."},
        "days": {"type": "integer", "description": "How long.", "default": 2, "min": 1},
        "start": {"type": "date", "description": "From when."},
    },
    "when": ["city"],
    "action": "Look at the sky",
    "steps": [
        {
            "id": "sky",
            "tool": "travel.lookup_weather",
            "args": {"city": "${city}", "days": "${days}", "start": "${start}"},
        }
    ],
}


def _playbooks(**books: dict[str, Any]) -> Playbooks:
    return Playbooks(
        {name: read_playbook(name, yaml.safe_dump({"name": name} | BOOK | more)) for name, more in books.items()}
    )


@pytest.fixture(scope="session")
def everything() -> Registry:
    """Return every tool that a shipped playbook may call."""
    return load_registry(settings().packs)


def test_the_shipped_playbooks_run(everything: Registry) -> None:
    """Each is offered to its agents. With all inputs known it becomes a plan; if that only reads, it can stand in."""
    shipped = load_playbooks(settings().prompts_dir / "playbooks")
    agents = load_agents(settings().prompts_dir / "agents").profiles
    values: dict[str, Any] = {
        "text": "Kyoto",
        "integer": 2,
        "number": 90,
        "date": "2030-05-02",
        "money": {"amount": 900, "currency": "ILS", "operator": "<="},
    }

    for name, book in shipped.books.items():
        known = {each: values[slot.type] for each, slot in book.inputs.items()}
        for agent in book.agents:
            tools = everything.allowed(agents[agent].tools)
            offered = shipped.for_agent(agent, tools)
            assert name in offered.offered, f"{name} calls what {agent} may not"
            assert book.synthesis_hint is None or book.synthesis_hint in agents[agent].hints
            alone = Playbooks(offered.books, (name,))
            called = {"id": name, "tool": f"playbook.{name}", "args": known}
            expansion = Expansion(alone, alone.beside(tools))
            assert validate({"steps": expansion.steps(called)}, tools, PlanLimits()).steps
            stands_in = stand_in(alone, known, tools, PlanLimits()) is not None
            assert stands_in == (alone.as_tool(name, tools).effect == "read")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"steps": [{"id": "a", "tool": "t", "args": {"x": "${nowhere}"}}]}, "nowhere"),
        ({"steps": [{"id": "a", "tool": "t", "args": {"x": ["${b.y}"]}}, {"id": "b", "tool": "t"}]}, "'b'"),
        ({"steps": [{"id": "a", "tool": "t", "args": {"x": "in ${city}"}}]}, "whole value"),
        ({"steps": [{"id": "a", "tool": "t", "needs": ["b"]}]}, "'b'"),
        ({"steps": [{"id": "city", "tool": "t"}]}, "taken"),
        ({"steps": [{"id": "a", "tool": "t"}, {"id": "a", "tool": "t"}]}, "taken"),
        ({"steps": [{"id": "a", "tool": "t", "run_if": "${city}"}]}, "result"),
        ({"steps": [{"id": "a", "tool": "t"}], "result": "b"}, "result"),
        ({"steps": [{"id": "a", "tool": "playbook.b", "run_if": "${city}"}, {"id": "c", "tool": "t"}]}, "run_if"),
        ({"steps": []}, "at least 1"),
        ({"when": ["moon"]}, "moon"),
        ({"inputs": {"city": {"type": "place", "description": "x"}}}, "type"),
        ({"step": []}, "Extra inputs"),
    ],
)
def test_a_playbook_that_cannot_work_is_refused_when_it_is_read(fault: dict[str, Any], message: str) -> None:
    """A playbook that refers to something unknown is refused, and the message names it."""
    with pytest.raises(ValidationError, match=message):
        _playbooks(a=fault)


def test_a_file_is_named_after_its_playbook() -> None:
    """A playbook is found by its name."""
    with pytest.raises(ValueError, match="name the file"):
        read_playbook(
            "other",
            dedent("""\
            name: a
            version: 1
            description: x
            agents: [travel]
            action: x
            steps: [{id: a, tool: t}]
        """),
        )


def test_playbooks_that_call_each_other_in_a_circle_are_refused() -> None:
    """The message names the circle."""
    call = lambda name: {"steps": [{"id": "x", "tool": f"playbook.{name}", "args": {"city": "${city}"}}]}  # noqa: E731

    with pytest.raises(ValueError, match="a -> b -> a"):
        _playbooks(a=call("b"), b=call("a"))
    with pytest.raises(ValueError, match="which does not exist"):
        _playbooks(a=call("c"))


def test_a_playbook_cannot_stand_for_thousands_of_steps() -> None:
    """Nested playbooks multiply their steps. More than fifty are refused."""
    eight = [{"id": f"s{number}", "tool": "playbook.b", "args": {"city": "${city}"}} for number in range(8)]
    inner = [{"id": f"s{number}", "tool": "travel.lookup_weather"} for number in range(8)]

    with pytest.raises(ValueError, match="64 steps"):
        _playbooks(a={"steps": eight}, b={"steps": inner})


def test_a_playbook_looks_like_a_tool(tools: Registry) -> None:
    """A planner sees its inputs, its last step's result and its worst effect. It is the same object each time."""
    books = _playbooks(sky={}, note={"steps": [*BOOK["steps"], {"id": "w", "tool": "sim.write", "args": {"value": 1}}]})
    offered = books.for_agent("travel", tools).beside(tools)

    sky, note = offered.get("playbook.sky"), offered.get("playbook.note")

    assert sky.input_schema["required"] == ["city"]
    assert sky.output_schema == tools.get("travel.lookup_weather").output_schema
    assert (sky.effect, note.effect) == ("read", "write")
    assert books.for_agent("travel", tools).beside(tools).get("playbook.sky") is sky


def test_a_playbook_is_offered_where_it_can_run(tools: Registry) -> None:
    """Other agents do not get it, and no agent that lacks one of its tools."""
    books = _playbooks(sky={})

    assert books.for_agent("travel", tools).offered == ("sky",)
    assert books.for_agent("generic", tools).offered == ()
    assert books.for_agent("travel", tools.allowed(["sim.*"])).offered == ()


@pytest.mark.parametrize(
    ("known", "args"),
    [
        ({"city": "Rome"}, {"city": "Rome", "days": 2}),
        (
            {"city": "Rome", "days": 4, "start": "2026-12-01", "other": 1},
            {"city": "Rome", "days": 4, "start": "2026-12-01"},
        ),
        ({"days": 4}, None),
        ({"city": None}, None),
        ({"city": "Rome", "days": 99}, None),
    ],
    ids=["defaults", "slots", "unknown", "null", "refused"],
)
def test_a_playbook_stands_in_where_its_inputs_are_known(
    tools: Registry, known: dict[str, Any], args: dict[str, Any] | None
) -> None:
    """Known values fill it. It is left out if a required one is missing, or if its tools refuse one."""
    found = stand_in(_playbooks(sky={}).for_agent("travel", tools), known, tools, PlanLimits())

    assert (found.plan.steps[0].args if found else None) == args
    if found:
        assert (found.plan.action, found.source) == ("Look at the sky", "playbooks/sky@1")


def test_nothing_with_an_effect_stands_in(tools: Registry) -> None:
    """The message was not understood, so nothing is written. The next playbook that only reads is used."""
    write = {"steps": [{"id": "w", "tool": "sim.write", "args": {"value": 1}}]}
    never = {"when": []}
    books = _playbooks(a=write, b=never, c={"action": "The third"}).for_agent("travel", tools)

    found = stand_in(books, {"city": "Rome"}, tools, PlanLimits())

    assert found is not None
    assert found.plan.action == "The third"
