"""What the templates write in any language is read by the check of figures: dates, times, amounts, counts."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import Any

import pytest

from tests.planner.languages.test_completeness import PROMPTS, SPOKEN, TEMPLATES, spoken
from turnloom.planner.draft.samples import samples
from turnloom.planner.languages.language import Language
from turnloom.planner.reply.grounding import Evidence, ResultOrigin, check

_MANY = 23
"""More than a template lists: the longest lists twenty."""
CHECKED = [name for name in TEMPLATES if "/apologies/" not in name]
"""An apology is not checked: it holds no result."""
TAGS = [*SPOKEN, "en", "en-US", "de-CH", "ar-EG", "tr"]
"""Those of the shipped languages, of some countries, and one that no catalogue has words of."""


@pytest.mark.parametrize("tag", TAGS)
def test_a_templates_figures_have_their_sources(tag: str) -> None:
    """A figure that could not be traced would be left out of the reply."""
    language = spoken(tag)

    refused = [(name, *found) for name, inputs in _cases(tag) for found in _refused(name, inputs, language)]

    assert refused == []


@pytest.mark.parametrize("tag", [*SPOKEN, "en"])
def test_how_many_a_template_leaves_out_is_its_own_count(tag: str) -> None:
    """Results list more than a reply does, and the template says how many, in words that the check need not know."""
    language = spoken(tag)

    longer = [(name, longer) for name, inputs in _cases(tag) if (longer := _lengthened(inputs)) != inputs]
    refused = [(name, *found) for name, inputs in longer for found in _refused(name, inputs, language)]

    assert refused == []


@pytest.mark.parametrize("tag", SPOKEN)
def test_a_limit_that_the_user_has_named_may_be_said(tag: str) -> None:
    """It is no price of a result, and a template repeats it before the options that are within it."""
    prompt, language = PROMPTS.get("responding/show_updated_options"), spoken(tag)
    option = {"room_name": "Sea View", "board_code": "BB", "cancellable": True, "price_total": 480, "currency": "ILS"}
    party = {"check_in": "2026-12-04", "check_out": "2026-12-05", "adults": 2, "children": 0, "babies": 0}
    others = {"sold_out": [], "longer_stays": [], "over_budget": 0}
    budget = {"amount": 1500, "currency": "ILS", "operator": "<="}
    found = {**party, **others, "options": [option, option | {"price_total": 510}], "budget": budget}
    steps = [{"tool": "pms.get_availability", "status": "succeeded", "result": found}]
    usual = next(samples(prompt.name, prompt.inputs))
    text = prompt.render({**usual, "steps": steps, "problems": ""}, language).text
    evidence = Evidence(datetime(2026, 11, 20, tzinfo=UTC))
    evidence.add_said("1500 ILS", "message")
    evidence.add_result(found, ResultOrigin("step"))

    assert [(one.text, one.kind) for one in check(text, evidence).violations] == []


def _cases(tag: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the templates with their inputs: the common ones, and of the special ones half, others in each language."""
    for name in CHECKED:
        for number, inputs in enumerate(samples(name, PROMPTS.get(name).inputs)):
            if number == 0 or (number + TAGS.index(tag)) % 2:
                yield name, inputs


def _refused(name: str, inputs: dict[str, Any], language: Language) -> list[tuple[str, str]]:
    """Return the text and the kind of whatever the check refuses of a template."""
    prompts = PROMPTS.spoken(language)
    evidence = Evidence(datetime(2026, 11, 20, tzinfo=UTC))
    evidence.add_result(inputs, ResultOrigin("step"))
    rendered = prompts.render(name, **inputs)
    evidence.add_authored(prompts.authored(rendered), "template")
    return [(found.text, found.kind) for found in check(rendered.text, evidence).violations]


def _lengthened(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return inputs whose results, and what a formatter made of them, have many of each object that they list."""
    steps = [{**step, "result": _long_lists(step.get("result"))} for step in inputs.get("steps", ())]
    found = {"steps": steps, "output": _long_lists(inputs.get("output"))}
    return {**inputs, **{name: value for name, value in found.items() if name in inputs}}


def _long_lists(result: Any) -> Any:
    """Return a result in whose lists of objects the same ones come over and over again."""
    if not isinstance(result, dict):
        return result
    return {field: _long(value) for field, value in result.items()}


def _long(value: Any) -> Any:
    is_long = isinstance(value, list) and any(isinstance(one, dict) for one in value)
    return list(islice(cycle(value), _MANY)) if is_long else value


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("wrong", [f"2026-{month:02}-26" for month in range(1, 13)])
def test_a_date_that_no_result_has_is_still_found(tag: str, wrong: str) -> None:
    """The day of another stay is refused in every language and month."""
    prompt, language = PROMPTS.get("responding/dates"), spoken(tag)
    steps = [{"tool": "dates.resolve_hint", "status": "succeeded", "result": {"check_in": wrong, "check_out": wrong}}]
    usual = next(samples(prompt.name, prompt.inputs))
    text = prompt.render({**usual, "steps": steps, "problems": ""}, language).text
    evidence = Evidence(datetime(2026, 11, 20, tzinfo=UTC))
    evidence.add_result({"check_in": "2026-12-04", "check_out": "2026-12-05"}, ResultOrigin("step"))

    refused = [found.kind for found in check(text, evidence).violations if found.kind != "weekday"]

    assert refused == ["date", "date"]
