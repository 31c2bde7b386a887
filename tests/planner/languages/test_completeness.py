"""Every text of replies is translated into every shipped language, and no reply is left half in English."""

import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import pytest

from tests.planner.reply.sample_results import sample_result
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.agents import load_agents
from turnloom.planner.draft.samples import samples
from turnloom.planner.languages import formats
from turnloom.planner.languages.catalogues import load_languages
from turnloom.planner.languages.language import PLACEHOLDER, Language
from turnloom.planner.llm.offline.rules import load_rules
from turnloom.planner.prompts import Prompts
from turnloom.planner.reply.result_fields import result_fields
from turnloom.tools.packs.hotel.comparison import Criterion
from turnloom.tools.packs.hotel.terms import known_terms, name_of
from turnloom.tools.packs.travel.weather import _SKIES, _WARMTH
from turnloom.tools.registry import Tool, load_registry

PROMPTS = Prompts(ROOT / "prompts")
LANGUAGES = load_languages(ROOT / "prompts" / "languages")
SPOKEN = [tag for tag, catalogue in LANGUAGES.catalogues.items() if catalogue.messages]
FOR_THE_LLM = ("responding/critic", "responding/regenerate", "responding/revise")
TEMPLATES = [
    name
    for name in PROMPTS.names()
    if name == "fragments/problems" or (name.startswith("responding/") and name not in FOR_THE_LLM)
]
AGENTS = load_agents(ROOT / "prompts" / "agents").profiles.values()
TOOLS = load_registry(["dates", "hotel", "meetings", "notifications", "research", "travel"]).tools.values()
WORDED = {tool for prompt in PROMPTS.wordings().values() for tool in (*prompt.words_of, *prompt.beside)}
"""Tools whose results templates word. Those of the others are shown field by field."""
CITIES = ROOT / "tools" / "packs" / "travel" / "data"
DATA = ("pine", "demo data")
ENGLISH = LANGUAGES.get("en").words - {
    word for tag, catalogue in LANGUAGES.catalogues.items() if tag != "en" for word in catalogue.words
}
"""Common words of English that are no words of another language."""
CELLS = {
    *("yes", "no", "none", "free", "not refunded", "not said", "outbound", "return", "open", "resolved"),
    *(word for _, word in (*_WARMTH, *_SKIES)),
    *("climate normals", "not a forecast", "forecast", ", then "),
    *(".", "demo data", "an invented hotel at an invented price", "{low} to {high} °C"),
    *("There are more days than attractions; some days are open.", "There is no hotel yet."),
    "The weather is missing, and with it the dates.",
    *{json.loads(path.read_text("utf-8"))["name"] for path in CITIES.glob("*.json")},
    *{place["kind"] for path in CITIES.glob("*.json") for place in json.loads(path.read_text("utf-8"))["attractions"]},
    *(name_of(code) for kind in ("boards", "beds", "amenities", "topics") for code in known_terms(kind)),
}
"""Words in the cells of tables, the names of what a hotel has, and those of weather and sights."""
EVERYDAY = range(101)
"""Numbers that occur. French and Spanish have another form from a million."""


def texts_of(tool: Tool) -> Iterator[str]:
    """Yield what a tool's artifacts and results are called: titles, columns, labels."""
    for word in DATA if tool.artifact else ():
        written = json.dumps(sample_result(tool.output_schema, is_full=True)).replace("pine", word)
        shown = tool.artifact(tool.output.model_validate_json(written)).model_dump()
        labels = [fact["label"] for fact in shown["data"].get("facts", ())]
        yield from (shown["title"], *shown["data"].get("columns", ()), *labels)
    if tool.name not in WORDED:
        yield tool.name.rpartition(".")[2].replace("_", " ")
        fields = result_fields(sample_result(tool.output_schema, is_full=True), tool.output_schema, LANGUAGES.english)
        yield from names([field._asdict() for field in fields])


def names(value: Any) -> Iterator[str]:
    """Yield the titles of fields, and the names inside their values."""
    if isinstance(value, list):
        for inner in value:
            yield from names(inner)
    elif isinstance(value, dict):
        yield from (value["title"],) if value.keys() == {"title", "value"} else value
        yield from names(list(value.values()))


def spoken(tag: str) -> Language:
    return LANGUAGES.chosen(tag, ())


def offline_texts() -> Iterator[str]:
    """Yield what the offline model says itself: its courtesies, questions and examples."""
    rules = load_rules(ROOT / "prompts" / "offline")
    yield from (courtesy.reply for courtesy in rules.manners.courtesies)
    yield from (text for text in rules.manners.barred.values() if "{" not in text)
    for domain in rules.domains:
        yield from domain.requires.values()
        yield from (question for questions in domain.requires_of.values() for question in questions.values())
        yield from () if domain.name in ("sim", "research") else domain.examples


TEXTS = (
    {text for name in PROMPTS.names() for text in PROMPTS.get(name).messages}
    | {suggestion.text for agent in AGENTS for suggestion in agent.suggestions}
    | {text for tool in TOOLS for text in texts_of(tool) if text[:1].isalpha() and text not in DATA}
    | {formats.RANGE, *get_args(Criterion), *CELLS, *offline_texts()}
)


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
