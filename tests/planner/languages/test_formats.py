"""Templates write words, dates, times, numbers and money in the language of the reply."""

from typing import Any

import pytest

from turnloom.models.runtime.settings import ROOT
from turnloom.planner.languages import formats
from turnloom.planner.languages.catalogues import load_languages
from turnloom.planner.languages.language import ENGLISH, Language, Words, locale_of
from turnloom.planner.prompts import Prompts
from turnloom.planner.templates import Templates, fill

TEMPLATES = Templates()
SHIPPED = load_languages(ROOT / "prompts" / "languages")


def language(tag: str, messages: dict[str, Words] | None = None) -> Language:
    found = locale_of(tag)
    assert found is not None
    return Language(found, messages or {})


def written(template: str, spoken: Language, **inputs: Any) -> str:
    """Return a rendered template. The spaces that do not break are written as plain ones."""
    text = fill(TEMPLATES.read(template)[0], inputs, spoken).text
    return text.replace("\u202f", " ").replace("\xa0", " ").replace("\u200f", "")


@pytest.mark.parametrize(
    ("tag", "day", "time", "amount", "choice"),
    [
        ("en", "Sat, 5 Dec 2026", "14:30", "€1,280", "a, b or c"),
        ("en-US", "Sat, Dec 5, 2026", "2:30 PM", "€1,280", "a, b, or c"),
        ("es", "sáb, 5 dic 2026", "14:30", "1280 €", "a, b o c"),
        ("de-AT", "Sa., 5. Dez. 2026", "14:30", "€ 1.280", "a, b oder c"),
        ("fr", "sam. 5 déc. 2026", "14:30", "1 280 €", "a, b ou c"),
        ("he-IL", "שבת, 5 בדצמ\u05f3 2026", "14:30", "1,280 €", "a, b או c"),
        ("ar", "السبت، 5 ديسمبر 2026", "2:30 م", "1,280 €", "a أو b أو c"),
        ("ja", "2026年12月5日(土)", "14:30", "€1,280", "a、b、またはc"),
    ],
)
def test_values_are_written_as_people_there_write_them(tag: str, day: str, time: str, amount: str, choice: str) -> None:
    """The country of a locale counts. A whole amount has no decimals."""
    template = (
        '{{ "2026-12-05" | day }}|{{ "14:30" | time }}|{{ 1280 | money("EUR") }}|{{ ["a", "b", "c"] | listed("or") }}'
    )

    found = written(template, language(tag)).split("|")

    assert found[:2] == [day, time]
    assert found[2].replace("1.280 €", "1280 €") == amount or tag == "de-AT"
    assert found[3] == choice


@pytest.mark.parametrize(
    ("tag", "name", "text"),
    [
        ("en", "Asia/Jerusalem", "Jerusalem Time"),
        ("he", "Asia/Jerusalem", "שעון ירושלים"),
        ("ja", "America/Argentina/Buenos_Aires", "Buenos Aires時間"),
        ("en", "UTC", "UTC"),
        ("en", "Etc/GMT+3", "Etc/GMT+3"),
        ("en", "Nowhere/Land", "Nowhere/Land"),
    ],
)
def test_a_time_zone_is_named_by_its_city(tag: str, name: str, text: str) -> None:
    """One of no city keeps its name."""
    assert written("{{ x | timezone }}", language(tag), x=name) == text


@pytest.mark.parametrize("value", ["soon", "2026-13-01", "", None, "12 o'clock"])
def test_what_is_no_date_or_time_stays_as_it_is(value: Any) -> None:
    """A result may hold anything."""
    assert written("{{ x | day }}|{{ x | time }}", ENGLISH, x=value) == f"{value}|{value}"


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [(12.5, "EUR", "€12.50"), (46000, "JPY", "JP¥46,000"), (9, None, "9"), ("many", "EUR", "many"), (7, "XQZ", "XQZ7")],
)
def test_money_is_written_with_its_currency(amount: Any, currency: str | None, text: str) -> None:
    """An amount without a currency is a number."""
    assert written("{{ a | money(c) }}", ENGLISH, a=amount, c=currency).replace(" ", "") == text


@pytest.mark.parametrize(
    ("tag", "n", "text"),
    [("en", 1, "1 night"), ("en", 3, "3 nights"), ("ar", 2, "ليلتان"), ("ar", 3, "3 ليال"), ("ja", 1, "1泊")],
)
def test_words_depend_on_numbers_as_the_language_asks(tag: str, n: int, text: str) -> None:
    """Arabic has six forms, Japanese one."""
    words: dict[str, dict[str, Words]] = {
        "en": {},
        "ar": {"{n} nights": {"one": "ليلة", "two": "ليلتان", "few": "{n} ليال", "other": "{n} ليلة"}},
        "ja": {"{n} nights": {"other": "{n}泊"}},
    }

    assert written('{{ ngettext("{n} night", "{n} nights", n) }}', language(tag, words[tag]), n=n) == text


def test_a_text_without_translation_stays_english() -> None:
    """Its values are written in the language all the same."""
    assert written('{{ _("From {day}", day="2026-12-05" | day) }}', language("fr")) == "From sam. 5 déc. 2026"


def test_a_place_takes_its_value_once() -> None:
    """Text of users in a value is no template, and a percent sign is no place."""
    text = written('{{ _("{a} of 100 %", a=a) }}', ENGLISH, a="{a} {b} %s")

    assert text == "{a} {b} %s of 100 %"


def test_a_list_from_right_to_left_stays_a_list_in_markdown() -> None:
    """The mark of direction stands behind the number or the dash."""
    text = fill(TEMPLATES.read("1. Sea Suite\n- Sea Suite\nSea Suite\nשבת")[0], {}, language("ar")).text

    assert text == "1. \u200fSea Suite\n- \u200fSea Suite\n\u200fSea Suite\nשבת"


def test_names_keep_their_direction_within_hebrew() -> None:
    """A value with Latin letters is isolated. A line that begins with one is marked as from right to left."""
    hebrew = language("he", {"The {room} is free.": "{room} פנוי."})

    text = fill(
        TEMPLATES.read('{{ _("The {room} is free.", room=room) }}\n{{ room }}: שבת\n')[0], {"room": "Sea Suite"}, hebrew
    ).text

    assert text == "\u200f\u2068Sea Suite\u2069 פנוי.\n\u200fSea Suite: שבת"


def test_a_text_to_translate_is_a_constant() -> None:
    """A text that is put together could not be found in a catalogue."""
    with pytest.raises(ValueError, match="constant"):
        TEMPLATES.read("{{ _(x) }}")


def test_words_may_stand_in_a_list_of_a_set() -> None:
    """Names of codes are such lists."""
    template = '{% set boards = {"RO": _("room only")} %}{{ boards.get("RO") }}'

    assert written(template, language("de", {"room only": "ohne Verpflegung"})) == "ohne Verpflegung"


def test_many_places_count_against_the_budget() -> None:
    """A text that grows with each round ends the rendering."""
    template = '{% set x = "y" * 1 if false else "yyyy" %}' + '{% set x = _("{a}{a}{a}{a}", a=x) %}' * 12 + "{{ x }}"

    with pytest.raises(Exception, match="characters"):
        written(template, ENGLISH)


@pytest.mark.parametrize(
    ("tag", "value", "written"),
    [
        ("de", "sea_view", "Meerblick"),
        ("de", "double bed, single bed (2)", "Doppelbett, Einzelbett (2)"),
        ("de", "Gion (district), then Nishiki Market (market)", "Gion (Viertel), dann Nishiki Market (Markt)"),
        ("fr", "Cool, rain likely (climate normals)", "Frais, pluie probable (moyennes climatiques)"),
        ("de", "Villa_Rosa, Sea Suite", "Villa_Rosa, Sea Suite"),
        ("fr", "-6.7 to 15 °C, 30 % chance of rain", "-6,7 à 15 °C, 30 % de risque de pluie"),
        ("es", "Rome Inn, 5 stars, 96 EUR per night", "Rome Inn, 5 estrellas, 96 € por noche"),
        ("ja", "Inn: demo data.", "Inn\uff1aデモデータ。"),
        ("en", "sea_view", "sea view"),
    ],
)
def test_words_of_results_that_the_catalogue_has_are_translated(tag: str, value: str, written: str) -> None:
    """The others, such as names, stay as they are."""
    assert formats.worded(SHIPPED.chosen(tag, ()), value).replace("\xa0", " ") == written


@pytest.mark.parametrize(
    ("tag", "value", "text"),
    [
        ("en", "2026-12-05T10:00:00+02:00", "Sat, 5 Dec 2026, 10:00 UTC+02:00"),
        ("en-US", "2026-12-05T19:30:00.25Z", "Sat, Dec 5, 2026, 7:30 PM UTC"),
        ("de", "2026-12-05T10:00", "Sa., 5. Dez. 2026, 10:00"),
        ("ja", "2026-12-05T10:00:00-05:30", "2026年12月5日(土)、10:00 UTC-05:30"),
        ("en", "2026-12-05T25:00:00Z", "2026-12-05T25:00:00Z"),
    ],
)
def test_a_moment_in_a_text_is_its_day_and_its_time(tag: str, value: str, text: str) -> None:
    """With what its clock is ahead of UTC, because a result of another service may be of any zone."""
    found = formats.dated(SHIPPED.chosen(tag, ()), value)

    assert found.replace("\u202f", " ") == text


def test_a_prompt_of_a_language_model_has_no_marks_of_direction() -> None:
    """They would stand inside its data. What people read has them."""
    hebrew = Prompts(ROOT / "prompts").spoken(SHIPPED.chosen("he", ()))
    inputs = {"message": "שלום", "action": None, "steps": [{"result": "Rome"}], "bound": None}

    for_model = hebrew.render("fragments/results", **inputs).text
    for_people = hebrew.render("responding/stale", at="Rome").text

    assert {"\u200f", "\u2068"}.isdisjoint(for_model)
    assert not {"\u200f", "\u2068"}.isdisjoint(for_people)
