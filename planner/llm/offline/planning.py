"""From facts to a plan, in the form that the response format asks for."""

import json
from collections.abc import Mapping
from typing import Any

from planner.llm.offline.rules import Domain, Rules, Skeleton
from planner.llm.offline.understanding import Facts, substituted, understand
from planner.llm.schema import JSON_TEXT

Offered = Mapping[str, dict[str, Any]]
"""Tool -> schema of its arguments."""


def write_plan(messages: list[str], offered: Offered, rules: Rules) -> dict[str, Any] | None:
    """Return a plan, or a plan that is a reply; None where no domain understands the last message."""
    for domain in rules.domains:
        facts = understand(messages, domain, rules.manners)
        if facts is None or not any(step.tool in offered for step in domain.steps):
            continue
        for slot, question in domain.requires.items():
            if slot not in facts:
                return direct(question, f"The message leaves the {slot} open.")
        steps = _steps(domain, facts, offered)
        if steps:
            return _plan(domain.thought, steps, action=_action(domain, facts))
    return None


def direct(reply: str, thought: str) -> dict[str, Any]:
    """Return a plan without steps, whose reply is the answer."""
    return _plan(thought, [], reply=reply)


def _plan(
    thought: str, steps: list[dict[str, Any]], *, action: str | None = None, reply: str | None = None
) -> dict[str, Any]:
    return {
        "thought": thought,
        "action": action,
        "confidence": 0.9,
        "synthesis_hint": None,
        "reply": reply,
        "steps": steps,
    }


def _action(domain: Domain, facts: Facts) -> str:
    fitting = (action.text for action in domain.actions if all(name in facts for name in action.conditions))
    return next(fitting).format_map(facts)


def _steps(domain: Domain, facts: Facts, offered: Offered) -> list[dict[str, Any]]:
    written: dict[str, list[str]] = {}
    steps = []
    for skeleton in domain.steps:
        if skeleton.tool in offered and _applies(skeleton, facts):
            ids = written[skeleton.id] = _ids(skeleton, facts)
            args = {name: _value(value, facts, written) for name, value in skeleton.args.items()}
            for place, name in enumerate(ids):
                before = ids[place - 1 : place] if place and skeleton.in_sequence in facts else []
                steps.append(_step(skeleton, name, _fit(args, offered[skeleton.tool]), before))
    return steps


def _applies(skeleton: Skeleton, facts: Facts) -> bool:
    return all(name in facts for name in skeleton.conditions) and not any(name in facts for name in skeleton.unless)


def _ids(skeleton: Skeleton, facts: Facts) -> list[str]:
    if skeleton.repeat is None:
        return [skeleton.id]
    return [f"{skeleton.id}{place}" for place in range(1, facts[skeleton.repeat] + 1)]


def _step(skeleton: Skeleton, name: str, args: Any, needs: list[str]) -> dict[str, Any]:
    return {
        "tool": skeleton.tool,
        "id": name,
        "reason": skeleton.reason,
        "args": args,
        "needs": needs,
        "on_need_error": skeleton.on_need_error,
    }


def _value(value: Any, facts: Facts, written: Mapping[str, list[str]]) -> Any:
    """Return what stands for a value of the skeleton, None where nothing does."""
    if isinstance(value, list):
        return next((found for one in value if (found := _value(one, facts, written)) is not None), None)
    if not isinstance(value, dict):
        return substituted(value, facts)
    if "$each" in value:
        return [{"$from": name} for name in written.get(value["$each"], [])]
    return value if value["$from"].split(".")[0] in written else None


def _fit(args: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Write arguments as the schema wants them: every one it names, in its order, free-form ones as JSON text."""
    return {name: _fit_one(args.get(name), inner) for name, inner in schema.get("properties", {}).items()}


def _fit_one(value: Any, schema: dict[str, Any]) -> Any:
    described = [str(branch.get("description", "")) for branch in schema.get("anyOf", [schema])]
    takes_text = any(description.startswith(JSON_TEXT) for description in described)
    if value is None or not takes_text or (isinstance(value, dict) and "$from" in value):
        return value
    return json.dumps(value, ensure_ascii=False)
