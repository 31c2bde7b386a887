"""What the offline model writes: a plan as JSON, a report on results, or a direct reply."""

import json
from pathlib import Path

from jinja2 import TemplateError

from planner.llm.offline.planning import direct, write_plan
from planner.llm.offline.prompt import Sent
from planner.llm.offline.rules import load_rules
from planner.prompts import prompts_in


def write(sent: Sent, prompts_dir: Path) -> str:
    """Return the answer to a request."""
    if sent.results is not None:
        return _report(sent, prompts_dir)
    if sent.tools is None:
        return _reply(sent, prompts_dir)
    plan = None
    if sent.messages and not _courtesy(sent.messages[-1], prompts_dir):
        plan = write_plan(sent.messages, sent.tools, load_rules(prompts_dir / "offline"))
    if plan is None:
        plan = direct(_reply(sent, prompts_dir), "None of the offline rules asks for a tool here.")
    return json.dumps(plan, ensure_ascii=False)


def _report(sent: Sent, prompts_dir: Path) -> str:
    steps = [{**step, "what": step["tool"].rsplit(".", 1)[-1].replace("_", " ")} for step in sent.results or []]
    try:
        return prompts_in(prompts_dir).render("offline/report", steps=steps).text
    except TemplateError:  # results of another shape than the rules know
        return _reply(sent, prompts_dir)


def _reply(sent: Sent, prompts_dir: Path) -> str:
    polite = _courtesy(sent.messages[-1], prompts_dir) if sent.messages else None
    if polite:
        return polite
    domains = load_rules(prompts_dir / "offline").domains
    can = [domain.can for domain in domains if any(step.tool in (sent.tools or {}) for step in domain.steps)]
    return prompts_in(prompts_dir).render("offline/unable", can=can).text


def _courtesy(message: str, prompts_dir: Path) -> str | None:
    courtesies = load_rules(prompts_dir / "offline").manners.courtesies
    return next((one.reply for one in courtesies if one.pattern.search(message)), None)
