"""A reply has the language of its user, and a tenant may add one."""

import pytest
import yaml

from turnloom.models.contracts.memory import Exchange
from turnloom.models.contracts.override import NO_OVERRIDES, Override, Overrides
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.languages.catalogues import load_languages, read_catalogue
from turnloom.planner.tenant_texts import tailor, unsaid_texts

LANGUAGES = load_languages(ROOT / "prompts" / "languages")
STALE = "(Prices as of {at}; they may have changed since.)"
"""A text of the shipped templates."""
ITALIAN = f'messages:\n  "{STALE}": "(Prezzi delle {{at}}; potrebbero essere cambiati.)"\n'


@pytest.mark.parametrize(
    ("locale", "texts", "chosen"),
    [
        ("de-AT", ["Do you have a room?"], "de_AT"),
        ("de_XX", [], "de"),
        ("en", [], "en_GB"),
        ("en-US", ["¿Cuánto cuesta?"], "en_US"),
        (None, ["¿Cuánto cuesta?"], "es"),
        (None, ["ok", "2", "Haben Sie ein Zimmer?", "Do you have a room?"], "de"),
        (None, ["ok"], "en_GB"),
        (None, ["quanto costa?"], "en_GB"),
        ("sw-KE", [], "en_GB"),
        ("xx-YY", [], "en_GB"),
        ("zz", ["¿Cuánto cuesta?"], "en_GB"),
    ],
)
def test_the_locale_chooses_and_else_the_message(locale: str | None, texts: list[str], chosen: str) -> None:
    """The first message that shows its language counts. English stands in for a language without messages."""
    assert str(LANGUAGES.chosen(locale, texts).locale) == chosen


def test_a_short_answer_is_in_the_language_of_the_conversation() -> None:
    """Of earlier messages the newest counts that shows its language."""
    history = [Exchange("Hello, how are you?", ""), Exchange("¿Tienen una habitación?", ""), Exchange("2", "")]

    prompts = tailor(NO_OVERRIDES).prompts_for({}, "ok", history)

    assert str(prompts.language.locale) == "es"


def test_a_tenant_adds_a_language_by_a_file() -> None:
    """What its catalogue does not have stays English."""
    tailored = tailor(Overrides({"languages/it": Override(ITALIAN, "file")}))

    prompts = tailored.prompts_for({"locale": "it-IT"}, "quanto costa?")

    assert tailored.refused == {}
    assert prompts.render("responding/stale", at="10:42").text == "(Prezzi delle 10:42; potrebbero essere cambiati.)"
    assert "languages/it" in tailored.names()
    assert "Prezzi" in tailored.text("languages/it")


def test_a_plain_text_counts_for_all_numbers() -> None:
    """A text with forms stands for one without a number, too: no translation is ignored."""
    messages = 'messages: {"{n} beds": "Camas: {n}", "the room": {one: "o quarto", other: "o quarto"}}'
    language = LANGUAGES.under("pt", read_catalogue("pt", messages)).chosen("pt-BR", ())

    assert [language.counted("{n} bed", "{n} beds", n) for n in (1, 2)] == ["Camas: {n}"] * 2
    assert language.text("the room") == "o quarto"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('messages: {"{n} beds": {one: "{n} letto"}}', "other"),
        ('messages: {"From {a}": "Da {b}"}', "no place 'b'"),
        ('messages: {"{n} beds": {um: "{n} cama", other: "{n} camas"}}', "has a form 'um'; there are: zero, one, two"),
        ("words: [a]", "Extra inputs"),
        ("- a", "dictionary"),
    ],
)
def test_a_bad_catalogue_is_refused(text: str, reason: str) -> None:
    """The reason names what is wrong, and the shipped words count."""
    tailored = tailor(Overrides({"languages/it": Override(text, "ledger")}))

    assert reason in tailored.refused["languages/it"]


def test_a_text_that_nothing_says_is_told_with_the_nearest_one() -> None:
    """It is no fault: a tool of a plug-in may say it. Texts of templates, agents and tools are known."""
    known = [STALE, "With breakfast, please", "Rooms from {check_in} to {check_out}", "sea view"]
    messages = {text: text for text in (*known, STALE.replace("changed", "chaned"), "Ahoy, landlubbers")}
    text = yaml.safe_dump({"messages": messages})
    tailored = tailor(Overrides({"languages/it": Override(text, "ledger")}))

    told = unsaid_texts("languages/it", text, tailored)

    assert tailored.refused == {}
    assert sorted(told) == [
        f"languages/it: nothing says {STALE.replace('changed', 'chaned')!r}; did you mean {STALE!r}?",
        "languages/it: nothing says 'Ahoy, landlubbers'",
    ]


@pytest.mark.parametrize("tag", ["xx", "de-AT", "english"])
def test_a_catalogue_is_named_after_a_language(tag: str) -> None:
    """A country has formats of its own, but not words."""
    with pytest.raises(ValueError, match="no tag of a language"):
        read_catalogue(tag, "messages: {}")
