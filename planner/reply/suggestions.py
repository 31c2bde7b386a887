"""Suggestions are words that the user may say next: from the agent's profile, as far as the results make them apt."""

from collections.abc import Mapping
from typing import Any

from turnloom.planner.agents import AgentProfile
from turnloom.planner.languages.language import Language
from turnloom.planner.plan.references import resolve
from turnloom.planner.reply.reply_input import ReplyInput

MOST = 3
"""Most suggestions of a reply."""


def suggestions(given: ReplyInput) -> list[str]:
    """Return what the user may say next. Nothing if the reply asks a question: its choices are the answers."""
    material, language = given.material, given.prompts.language
    if material.ending or given.question():
        return []
    results = {step.tool: step.result for step in given.done()}
    if not results:
        return openers(given.agent, language)
    apt = [language.text(each.text) for each in given.agent.suggestions if each.after and _holds(each.after, results)]
    return apt[:MOST]


def openers(agent: AgentProfile, language: Language) -> list[str]:
    """Return what a user may say to an agent at any time, in their language."""
    return [language.text(each.text) for each in agent.suggestions if each.after is None][:MOST]


def _holds(after: str, results: Mapping[str, Any]) -> bool:
    tool, _, path = after.partition(":")
    if tool not in results or not path:
        return tool in results
    try:
        return bool(resolve({"$from": f"result.{path}"}, {"result": results[tool]}))
    except LookupError:
        return False
