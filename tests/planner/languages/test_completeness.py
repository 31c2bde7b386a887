"""Every text of the templates is translated into every shipped language, and no reply is left half in English."""

import json
import re
from itertools import product
from typing import Any

import pytest

from turnloom.models.runtime.settings import ROOT
from turnloom.planner.draft.prompts import Prompts
from turnloom.planner.draft.samples import samples
from turnloom.planner.languages import formats
from turnloom.planner.languages.catalogues import load_languages
from turnloom.planner.languages.language import PLACEHOLDER, Language

PROMPTS = Prompts(ROOT / "prompts")
LANGUAGES = load_languages(ROOT / "prompts" / "languages")
SPOKEN = [tag for tag, catalogue in LANGUAGES.catalogues.items() if catalogue.messages]
FOR_THE_LLM = ("responding/critic", "responding/regenerate", "responding/revise")
TEMPLATES = [
    name
    for name in PROMPTS.names()
    if name == "fragments/problems" or (name.startswith("responding/") and name not in FOR_THE_LLM)
]
TEXTS = {text for name in PROMPTS.names() for text in PROMPTS.get(name).messages} | {formats.RANGE}
ENGLISH = LANGUAGES.get("en").words - {
    word for tag, catalogue in LANGUAGES.catalogues.items() if tag != "en" for word in catalogue.words
}
"""Common words of English that are no words of another language."""
EVERYDAY = range(101)
"""Numbers that occur. French and Spanish have another form from a million."""


def spoken(tag: str) -> Language:
    return LANGUAGES.chosen(tag, ())


def words(text: Any) -> set[str]:
    written = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False, default=str)
    return set(re.findall(r"[^\W\d_]+", written.lower()))


def test_the_shipped_languages_are_there() -> None:
    """English needs no catalogue of words: the templates are written in it."""
    assert set(SPOKEN) == {"ar", "de", "es", "fr", "he", "ja"}


@pytest.mark.parametrize("tag", SPOKEN)
def test_every_text_is_translated_and_no_other(tag: str) -> None:
    """A text that a template no longer has leaves the catalogues with it."""
    translated = LANGUAGES.get(tag).messages.keys()

    assert (sorted(TEXTS - translated), sorted(translated - TEXTS)) == ([], [])


@pytest.mark.parametrize("tag", SPOKEN)
def test_a_translation_has_the_places_of_its_text(tag: str) -> None:
    """Only a number may be left out, where the words say it."""
    for english, translation in LANGUAGES.get(tag).messages.items():
        for written in [translation] if isinstance(translation, str) else translation.values():
            missing = set(PLACEHOLDER.findall(english)) - set(PLACEHOLDER.findall(written))
            assert missing <= ({"n"} if isinstance(translation, dict) else set()), (english, written)


@pytest.mark.parametrize("tag", SPOKEN)
def test_a_text_with_a_number_has_each_form_that_the_language_has(tag: str) -> None:
    """The forms are those of Unicode's rules for plurals."""
    forms = {spoken(tag).locale.plural_form(n) for n in EVERYDAY}
    for english, translation in LANGUAGES.get(tag).messages.items():
        if isinstance(translation, dict):
            assert set(translation) == forms | {"other"}, english


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_reply_has_no_word_of_english_left(name: str) -> None:
    """Whatever a template says in English it says in the other languages: in no other words than its data's."""
    prompt = PROMPTS.get(name)

    for inputs, tag in product(samples(name, prompt.inputs), SPOKEN):
        english, text = (prompt.render(inputs, each).text for each in (LANGUAGES.english, spoken(tag)))
        own = words(text) - words(inputs)

        assert bool(text) == bool(english)
        assert not own & (words(english) if tag in ("ar", "he", "ja") else ENGLISH), (tag, text)
        assert not PLACEHOLDER.search(text.replace(inputs.get("problems", ""), "")), (tag, text)
