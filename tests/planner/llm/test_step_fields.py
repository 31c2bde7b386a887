"""An agent's profile names the further fields of a step that its language model may write."""

import json
import re
from typing import Any

from tests.planner.llm.test_schema import unfolded, violations
from turnloom.models.runtime.settings import settings
from turnloom.planner.agents import load_agents
from turnloom.planner.llm.decoding import decode
from turnloom.planner.llm.schema import plan_schema
from turnloom.tools.registry import Registry


def test_a_profile_may_ask_for_more_fields_of_a_step(tools: Registry) -> None:
    """Fallbacks, conditions and labels cost tokens, so that only agents whose profile names them have them."""
    travel = load_agents(settings().prompts_dir / "agents").get("travel")
    plain = travel.model_copy(update={"step_fields": []})
    own = tools.allowed(travel.tools)

    more, fewer = (plan_schema(own, agent=agent) for agent in (travel, plain))

    assert list(violations(more)) == []
    assert _step_fields(more) - _step_fields(fewer) == {
        "reason",
        "on_need_error",
        "critical",
        "parallel_group",
        "purpose",
    }
    assert {tuple(call["properties"]) for call in _calls(more)} == {("tool", "args", "run_if", "fallbacks")}
    assert {tuple(call["properties"]) for call in _calls(fewer)} == {("tool", "args")}


def test_only_calls_that_may_take_its_place_are_offered_as_fallbacks(tools: Registry) -> None:
    """A write has none; a read has those of reads with the same result, on the same queue."""
    generic = load_agents(settings().prompts_dir / "agents").get("generic")
    offered = {}
    for call in _calls(plan_schema(tools, agent=generic)):
        name = call["properties"]["tool"]["const"]
        offered[name] = re.findall(r'"const": "([a-z_.]+)"', json.dumps(call["properties"].get("fallbacks")))

    assert offered["travel.search_hotels"] == ["travel.search_hotels"]
    assert offered["notifications.resolve"] == offered["sim.write"] == []


def test_fallbacks_are_decoded_like_calls(tools: Registry) -> None:
    """Their absent arguments lose their nulls, and so do conditions."""
    backup = {"tool": "travel.lookup_weather", "args": {"city": "Oslo", "days": None}}
    condition = {"$from": "a.ms", "equals": None, "not": True}
    call = {**backup, "fallbacks": [backup], "run_if": condition}
    step = {"id": "w", "call": call, "needs": [], "critical": None}

    (decoded,) = decode(json.dumps({"steps": [step]}), tools)["steps"]

    assert decoded["fallbacks"] == [{"tool": "travel.lookup_weather", "args": {"city": "Oslo"}}]
    assert decoded["run_if"] == {"$from": "a.ms", "not": True}
    assert "critical" not in decoded


def _calls(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the variants of a call, with their shared parts written out."""
    call = schema["properties"]["steps"]["items"]["properties"]["call"]
    variants: list[dict[str, Any]] = unfolded(call, schema["$defs"])["anyOf"]
    return variants


def _step_fields(schema: dict[str, Any]) -> set[str]:
    return set(schema["properties"]["steps"]["items"]["properties"])
