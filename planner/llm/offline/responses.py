"""The offline model's answers: a plan as JSON, a report, a judgement, a summary, a conclusion, or a direct reply."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinja2 import UndefinedError

from turnloom.planner.draft.prompts import prompts_in
from turnloom.planner.llm.offline.conclusions import conclude
from turnloom.planner.llm.offline.plans import direct, rest, with_calls, with_phases, with_slots, write_plan
from turnloom.planner.llm.offline.prompt import Sent
from turnloom.planner.llm.offline.rules import Domain, load_rules
from turnloom.planner.llm.schema import SEARCH


def write(sent: Sent, prompts_dir: Path) -> str:
    """Return the answer to a request."""
    words = load_rules(prompts_dir / "offline").words
    sent = replace(sent, messages=[words.read(message) for message in sent.messages])
    if sent.draft is not None:
        return json.dumps(_judge(sent.draft, sent.results or []), ensure_ascii=False)
    if sent.results is not None:
        return _report(sent, prompts_dir)
    if sent.exchanges is not None:
        inputs = {"summary": sent.summary, "exchanges": sent.exchanges}
        return prompts_in(prompts_dir).render("offline/summary", **inputs).text
    if sent.incoming is not None:
        return json.dumps(conclude(sent.incoming, sent.knowledge), ensure_ascii=False)
    if sent.tools is None:
        return _reply(sent, prompts_dir)
    plan = None
    if sent.messages and not _courtesy(sent.messages[-1], prompts_dir):
        plan = write_plan(sent, load_rules(prompts_dir / "offline"))
    steps = [step["id"] for step in plan["steps"]] if plan is not None else []
    if plan is not None:
        plan = rest(plan, sent.done, sent.at_most)
    else:
        plan = direct(_reply(sent, prompts_dir), "None of the offline rules asks for a tool here.")
    plan = with_slots(plan, sent.slot_names)
    plan = with_phases(plan, steps) if sent.is_phased else plan
    return json.dumps(with_calls(plan, sent), ensure_ascii=False)


def _judge(draft: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Object if the draft has no word of the tool of a step that did not succeed."""
    failed, said = [_words(step) for step in results if step["status"] != "succeeded"], draft.lower()
    silent = [words for words in failed if not any(word in said for word in words.split())]
    reasons = [f"It does not say what became of this: {words}." for words in silent]
    return {"verdict": "revise" if reasons else "ok", "reasons": reasons, "fix": None}


def _words(step: dict[str, Any]) -> str:
    return str(step["tool"]).rsplit(".", 1)[-1].replace("_", " ")


def _report(sent: Sent, prompts_dir: Path) -> str:
    steps = [{**step, "what": _words(step)} for step in sent.results or []]
    try:
        return prompts_in(prompts_dir).render("offline/report", steps=steps).text
    except UndefinedError:  # the results have a shape that the rules do not know
        return _reply(sent, prompts_dir)


def _reply(sent: Sent, prompts_dir: Path) -> str:
    polite = _courtesy(sent.messages[-1], prompts_dir) if sent.messages else None
    if polite:
        return polite
    can = _understood(load_rules(prompts_dir / "offline").domains, set(sent.tools or ()))
    return prompts_in(prompts_dir).render("offline/unable", can=can).text


def _understood(domains: list[Domain], offered: set[str]) -> list[str]:
    """Return examples of what can be asked with these tools, or with any if others can be searched.

    A tool that domains share speaks for none of them, unless a domain has no other.
    """
    tools = {domain.name: {step.tool for step in domain.steps} for domain in domains}
    uses = Counter(tool for used in tools.values() for tool in used)
    own = {name: {tool for tool in used if uses[tool] == 1} or used for name, used in tools.items()}
    return [domain.can for domain in domains if own[domain.name] & offered or SEARCH in offered]


def _courtesy(message: str, prompts_dir: Path) -> str | None:
    courtesies = load_rules(prompts_dir / "offline").manners.courtesies
    return next((one.reply for one in courtesies if one.pattern.search(message)), None)
