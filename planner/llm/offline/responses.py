"""The offline model's answers: a plan as JSON, a report, a judgement, a summary, a conclusion, or a direct reply."""

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from babel import Locale
from jinja2 import UndefinedError

from turnloom.planner.languages.catalogues import load_languages
from turnloom.planner.languages.language import Language
from turnloom.planner.llm.offline.conclusions import conclude
from turnloom.planner.llm.offline.plans import direct, rest, with_calls, with_phases, with_slots, write_plan
from turnloom.planner.llm.offline.prompt import Sent
from turnloom.planner.llm.offline.rules import Domain, load_rules
from turnloom.planner.llm.schema import SEARCH
from turnloom.planner.prompts import prompts_in

_WORKING = frozenset({"dates.resolve_hint", "travel.format_itinerary"})
"""Tools whose results are only the working of an answer."""
_CIVIL = frozenset({"please", "pls", "thanks"})
"""Words that may follow the number of a choice. Behind "2 nights" it is no choice."""
_SHORT = 5
"""Most words of a message that only takes a choice."""


def write(sent: Sent, prompts_dir: Path) -> str:
    """Return the answer to a request."""
    words, language = load_rules(prompts_dir / "offline").words, _language(sent, prompts_dir)
    sent = _chosen(replace(sent, messages=[words.read(message) for message in sent.messages]), prompts_dir)
    if sent.draft is not None:
        return json.dumps(_judge(sent.draft, sent.results or []), ensure_ascii=False)
    if sent.results is not None:
        return _report(sent, prompts_dir, language)
    if sent.exchanges is not None:
        inputs = {"summary": sent.summary, "exchanges": sent.exchanges}
        return prompts_in(prompts_dir).render("offline/summary", **inputs).text
    if sent.incoming is not None:
        return json.dumps(conclude(sent.incoming, sent.knowledge), ensure_ascii=False)
    if sent.tools is None:
        return _reply(sent, prompts_dir, language)
    plan = None
    if sent.messages and not _courtesy(sent.messages[-1], prompts_dir):
        plan = write_plan(sent, load_rules(prompts_dir / "offline"))
    steps = [step["id"] for step in plan["steps"]] if plan is not None else []
    if plan is not None:
        plan = rest(plan, sent.done, sent.at_most)
        plan["reply"] = plan["reply"] and language.text(plan["reply"])
    else:
        plan = direct(_reply(sent, prompts_dir, language), "None of the offline rules asks for a tool here.")
    plan = with_slots(plan, sent.slot_names)
    plan = with_phases(plan, steps) if sent.is_phased else plan
    return json.dumps(with_calls(plan, sent), ensure_ascii=False)


def _judge(draft: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Object if the draft has no word of the tool of a step that did not succeed, beside one that brought something."""
    brought = {step["tool"] for step in results if step["status"] == "succeeded"} - _WORKING
    failed, said = [_words(step) for step in results if step["status"] != "succeeded" and brought], draft.lower()
    silent = [words for words in failed if not any(word in said for word in words.split())]
    reasons = [f"It does not say what became of this: {words}." for words in silent]
    return {"verdict": "revise" if reasons else "ok", "reasons": reasons, "fix": None}


def _words(step: dict[str, Any]) -> str:
    return str(step["tool"]).rsplit(".", 1)[-1].replace("_", " ")


def _report(sent: Sent, prompts_dir: Path, language: Language) -> str:
    steps = [{**step, "what": _words(step)} for step in sent.results or []]
    try:
        return prompts_in(prompts_dir).render("offline/report", steps=steps).text
    except UndefinedError:  # the results have a shape that the rules do not know
        return _reply(sent, prompts_dir, language)


def _reply(sent: Sent, prompts_dir: Path, language: Language) -> str:
    polite = _courtesy(sent.messages[-1], prompts_dir) if sent.messages else None
    if polite:
        return language.text(polite)
    examples = _examples(load_rules(prompts_dir / "offline").domains, sent)
    said = [language.text(example) for example in examples]
    return prompts_in(prompts_dir).spoken(language).render("offline/unable", examples=said).text


def _chosen(sent: Sent, prompts_dir: Path) -> Sent:
    """Let a short message such as "the second one" stand for the choice that the last reply offered there."""
    offered = [choices for call in sent.asked for choices in call["needs"].values() if isinstance(choices, list)]
    said = re.findall(r"\w+", sent.messages[-1].lower()) if sent.messages else []
    places = load_rules(prompts_dir / "offline").manners.places
    counts = {word for word, unit in pairwise(said) if word.isdecimal() and unit not in _CIVIL}
    place = next((places[word] for word in said if word in places and word not in counts), None)
    if place is None or len(said) > _SHORT or len(offered) != 1 or not -1 <= place < len(offered[0]):
        return sent
    return replace(sent, messages=[*sent.messages[:-1], str(offered[0][place])])


def _language(sent: Sent, prompts_dir: Path) -> Language:
    """Return the language that the prompt names, or else the one that the messages show."""
    languages = load_languages(prompts_dir / "languages")
    named = next((tag for tag in languages.catalogues if Locale(tag).english_name == sent.language), None)
    return languages.chosen(named, reversed(sent.messages))


def _examples(domains: list[Domain], sent: Sent) -> list[str]:
    """Return examples of what can be asked with the tools that are offered, or that can be searched for.

    A tool that domains share speaks for none of them, unless a domain has no other.
    """
    tools = {domain.name: {step.tool for step in domain.steps} for domain in domains}
    uses = Counter(tool for used in tools.values() for tool in used)
    own = {name: {tool for tool in used if uses[tool] == 1} or used for name, used in tools.items()}
    known = {tool for used in own.values() for tool in used if _is_within_reach(tool, sent)}
    return [example for domain in domains if own[domain.name] & known for example in domain.examples]


def _is_within_reach(tool: str, sent: Sent) -> bool:
    offered = sent.tools or {}
    return tool in offered or (SEARCH in offered and f"{tool.partition('.')[0]} (" in sent.rules)


def _courtesy(message: str, prompts_dir: Path) -> str | None:
    courtesies = load_rules(prompts_dir / "offline").manners.courtesies
    return next((one.reply for one in courtesies if one.pattern.search(message)), None)
