"""What the templates write in any language is read by the check of figures: dates, times, amounts, counts."""

from datetime import UTC, datetime

import pytest

from tests.planner.languages.test_completeness import PROMPTS, SPOKEN, TEMPLATES, spoken
from turnloom.planner.draft.samples import samples
from turnloom.planner.reply.grounding import Evidence, ResultOrigin, check

CHECKED = [name for name in TEMPLATES if "/apologies/" not in name]
"""An apology is not checked: it holds no result."""
TAGS = [*SPOKEN, "en", "en-US", "de-CH", "ar-EG"]


@pytest.mark.parametrize("tag", TAGS)
def test_a_templates_figures_have_their_sources(tag: str) -> None:
    """A figure that could not be traced would be left out of the reply."""
    language, refused = spoken(tag), []
    for name in CHECKED:
        prompt = PROMPTS.get(name)
        for inputs in samples(name, prompt.inputs):
            evidence = Evidence(datetime(2026, 11, 20, tzinfo=UTC))
            evidence.add_result(inputs, ResultOrigin("step"))
            evidence.add_authored(prompt.words(language), "template")
            text = prompt.render(inputs, language).text
            refused += [(name, found.text, found.kind) for found in check(text, evidence).violations]

    assert refused == []


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
