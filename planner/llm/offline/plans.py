"""From facts to a plan, in the form that the response format asks for."""

import json
import re
from collections.abc import Mapping
from string import Formatter
from typing import Any

from turnloom.planner.llm.offline.answers import answered
from turnloom.planner.llm.offline.intent import mentioned, understand
from turnloom.planner.llm.offline.prompt import Sent
from turnloom.planner.llm.offline.rules import Action, Domain, Manners, Rules, Skeleton
from turnloom.planner.llm.offline.values import Facts, value_of
from turnloom.planner.llm.schema import JSON_TEXT, SEARCH

_REFERENCE = re.compile(r'"\$from\\*": *\\*"([A-Za-z0-9_-]+)')

Offered = Mapping[str, dict[str, Any]]
"""Tool -> schema of its arguments."""


def write_plan(sent: Sent, rules: Rules) -> dict[str, Any] | None:
    """Return a plan with steps or with a reply; None if no domain understands the last message."""
    offered = {tool: schema for tool, schema in (sent.tools or {}).items() if tool not in sent.unavailable}
    for domain in rules.domains:
        facts = understand(sent.messages, domain, rules.manners, sent.slots, sent.slot_names)
        plan = _plan_of(domain, facts, sent, offered, rules.manners) if facts is not None else None
        if plan is not None:
            return plan
    return None


def direct(reply: str, thought: str, said: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a plan without steps. Its reply is the answer."""
    return _plan(thought, [], said or {}, reply=reply)


def with_slots(plan: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return a plan that writes down the slots of these names, all of them and no others."""
    if not names:
        return {key: value for key, value in plan.items() if key not in ("slots", "forget")}
    return {**plan, "slots": {name: plan["slots"].get(name) for name in names}}


def rest(plan: dict[str, Any], done: Mapping[str, str], at_most: int | None) -> dict[str, Any]:
    """Return a plan without the steps that have ended or can no longer run.

    `at_most` cuts it to the first steps that can run now.
    """
    left = [step for step in plan["steps"] if step["id"] not in done and not _is_impossible(step, done)]
    if at_most is not None:
        left = [step for step in left if _waits_for(step) <= done.keys()][:at_most]
    return {**plan, "steps": left}


def with_calls(plan: dict[str, Any], sent: Sent) -> dict[str, Any]:
    """Return a plan whose steps have the fields of the response format: tool and arguments are in `call`."""
    steps = []
    for step in plan["steps"]:
        whole = {**step, "call": {name: step.get(name) for name in sent.call_fields[step["tool"]]}}
        steps.append({name: whole.get(name) for name in sent.step_fields})
    return {**plan, "steps": steps}


def with_phases(plan: dict[str, Any], steps: list[str]) -> dict[str, Any]:
    """Return a plan with its phases: one for all the work.

    `steps`: the ids of all steps, including those that have ended.
    """
    phase = {
        "id": "work",
        "objective": plan["action"] or plan["thought"],
        "success_metrics": ["each step has ended"],
        "steps": steps,
        "rationale": None,
    }
    left = [{**step, "phase": phase["id"], "assumes": []} for step in plan["steps"]]
    head = {"assumptions": [], "phases": [phase] if steps else [], "current_phase": phase["id"] if left else "done"}
    # The steps come last, as in the format, so that a reader of the growing text knows the phase by then.
    return {**{key: value for key, value in plan.items() if key != "steps"}, **head, "steps": left}


def _is_impossible(step: dict[str, Any], done: Mapping[str, str]) -> bool:
    lost = {name for name, status in done.items() if status != "succeeded"}
    return step["on_need_error"] != "run" and bool(_waits_for(step) & lost)


def _waits_for(step: dict[str, Any]) -> set[str]:
    # Free-form arguments are JSON text by now, with the references in it.
    return {*step["needs"], *_REFERENCE.findall(json.dumps(step["args"]))}


def _plan(
    thought: str,
    steps: list[dict[str, Any]],
    said: Mapping[str, Any],
    *,
    action: str | None = None,
    hint: str | None = None,
    reply: str | None = None,
) -> dict[str, Any]:
    return {
        "thought": thought,
        "action": action,
        "confidence": 0.9,
        "slots": said,
        "forget": None,
        "synthesis_hint": hint,
        "steps": steps,
        "reply": reply,
    }


def _plan_of(domain: Domain, facts: Facts, sent: Sent, offered: Offered, manners: Manners) -> dict[str, Any] | None:
    """Return a plan for facts of a domain; None if its tools cannot serve them."""
    if not any(step.tool in offered or step.tool in sent.unavailable for step in domain.steps):
        return _search(domain) if SEARCH in offered else None
    said = mentioned(sent.messages[-1], domain, manners)
    plan = _asking(domain, facts, said) or _recounting(sent, domain, facts, said)
    return plan or _working(domain, facts, sent, offered, manners)


def _asking(domain: Domain, facts: Facts, said: Facts) -> dict[str, Any] | None:
    """Return a plan that asks for the first slot that must be known; None if all are."""
    missing = ((slot, question) for slot, question in _questions(domain, facts).items() if slot not in facts)
    return next((direct(question, f"The message leaves the {slot} open.", said) for slot, question in missing), None)


def _recounting(sent: Sent, domain: Domain, facts: Facts, said: Facts) -> dict[str, Any] | None:
    """Return a plan that answers from what earlier turns did or found; None if nothing remembered answers."""
    fitting = [one for one in domain.recounts if facts.keys() >= {*one.conditions}]
    hint = next((one.hint for entry in sent.remembered for one in fitting if one.tool == entry["tool"]), None)
    return None if hint is None else _plan("The conversation remembers it.", [], said, hint=hint)


def _working(domain: Domain, facts: Facts, sent: Sent, offered: Offered, manners: Manners) -> dict[str, Any] | None:
    """Return a plan with steps, or with a reply or hint in their place; None if the domain has none for these facts."""
    said = mentioned(sent.messages[-1], domain, manners)
    facts |= _recalled(sent.memory, domain)
    facts |= {f"{status}.{step}": True for step, status in sent.done.items()}
    if domain.answers:
        facts |= answered(sent.messages[-1], str(facts.get("subject", "")), domain, sent.observed)
    steps = _steps(domain, facts, offered)
    if excuse := _excuse(domain, facts, sent.unavailable, manners, is_idle=not steps):
        return direct(excuse, "What is wanted cannot be done now.", said)
    planned = dict.fromkeys((f"planned.{step['id']}" for step in steps), True)
    hint = _fitting(domain.hints, facts | planned)
    if not steps and not hint:
        return None
    action, reply = _fitting(domain.actions, facts), _fitting(domain.replies, facts)
    return _plan(domain.thought, steps, said, action=action, hint=hint, reply=reply)


def _search(domain: Domain) -> dict[str, Any]:
    """Return a plan that asks for the tools of a domain."""
    words = " ".join(dict.fromkeys(step.tool for step in domain.steps))
    call: dict[str, Any] = {"id": "search", "reason": None, "tool": SEARCH, "args": {"words": words[:200]}, "needs": []}
    return _plan(domain.thought, [{**call, "on_need_error": None}], {})


def _questions(domain: Domain, facts: Facts) -> dict[str, str]:
    """Return the slots that must be known, each with the question for it."""
    questions = dict(domain.requires)
    for want, more in domain.requires_of.items():
        questions |= more if want in facts else {}
    return questions


def _recalled(memory: list[dict[str, Any]], domain: Domain) -> Facts:
    """Return the facts in the newest of these results, newest first. A result that was cut short holds none."""
    facts = {}
    for name, source in domain.recalls.items():
        tool, _, field = source.partition(":")
        newest = next((entry["result"] for entry in memory if entry["tool"] == tool), None)
        if isinstance(newest, Mapping) and newest.get(field):
            facts[name] = newest[field]
    return facts


def _excuse(
    domain: Domain, facts: Facts, unavailable: Mapping[str, dict[str, Any]], manners: Manners, *, is_idle: bool
) -> str | None:
    """Return why the wanted work cannot be done; None if it can.

    An open circuit is an excuse only if no other step can be planned (`is_idle`).
    """
    for skeleton in domain.steps:
        why = unavailable.get(skeleton.tool)
        if why is not None and _applies(skeleton, facts) and (is_idle or why["code"] != "CIRCUIT_OPEN"):
            return manners.barred[why["code"]].format_map(why)
    return None


def _fitting(actions: list[Action], facts: Facts) -> str | None:
    """Return the first text whose conditions hold and whose names are all known, filled in."""
    fitting = (action.text for action in actions if facts.keys() >= {*action.conditions, *_named(action.text)})
    text = next(fitting, None)
    return text and text.format_map(facts)


def _named(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def _steps(domain: Domain, facts: Facts, offered: Offered) -> list[dict[str, Any]]:
    written: dict[str, list[str]] = {}
    steps = []
    for skeleton in domain.steps:
        if skeleton.tool not in offered or not _applies(skeleton, facts):
            continue
        args = {name: value_of(value, facts, written) for name, value in skeleton.args.items()}
        if any(args[name] is None for name in skeleton.must):
            continue
        ids = written[skeleton.id] = _ids(skeleton, facts)
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


def _fit(args: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Write arguments as the schema wants them: all it names, in its order, free-form ones as JSON text."""
    return {name: _fit_one(args.get(name), inner) for name, inner in schema.get("properties", {}).items()}


def _fit_one(value: Any, schema: dict[str, Any]) -> Any:
    branches = [one for branch in schema.get("anyOf", ()) for one in branch.get("anyOf", [branch])]
    takes_text = JSON_TEXT in branches
    if value is None or not takes_text or (isinstance(value, dict) and "$from" in value):
        return value
    return json.dumps(value, ensure_ascii=False)
