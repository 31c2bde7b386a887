"""Figures are recognised, with their meaning, in the ways that people and models write them."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from turnloom.planner.reply.grounding.numerals import in_digits
from turnloom.planner.reply.grounding.scan import claims, figures
from turnloom.planner.reply.grounding.weekdays import find_weekdays


def _read(text: str) -> list[tuple[str, Any]]:
    return [(figure.kind, figure.keys[0][1:] if figure.keys else None) for figure in figures(text)]


def _money(amount: str, code: str | None) -> list[tuple[str, Any]]:
    return [("money", (Decimal(amount), code))]


@pytest.mark.parametrize(
    ("text", "amount", "code"),
    [
        ("₪1,200", "1200", "ILS"),
        ("N$9,960", "9960", "NAD"),
        ("S/ 738", "738", "PEN"),
        ("47.500 KWD", "47.500", "KWD"),
        ("900,000 kip", "900000", "LAK"),
        ("1.200 ILS", "1200", "ILS"),
        ("1 200,50 €", "1200.50", "EUR"),
        ("1\u202f200,50\u00a0€", "1200.50", "EUR"),
        ("USD 900.00", "900", "USD"),
        ("USD900", "900", "USD"),
        ("900 nis", "900", "ILS"),
        ("900₪", "900", "ILS"),
        ('ב-900 ש"ח', "900", "ILS"),
        ("ב900 שקלים", "900", "ILS"),
        ("1200 shekels", "1200", "ILS"),
        ("1'200.50 CHF", "1200.50", "CHF"),
        ("1\u2019200.50 CHF", "1200.50", "CHF"),
        ("1,20,000 INR", "120000", "INR"),
        ("US$ 1.2k", "1200", "USD"),
        ("12 thousand euros", "12000", "EUR"),
        ("2,50 euros", "2.50", "EUR"),
        ("¥12,000", "12000", "CNY"),
        ("12万円", "120000", "JPY"),
        ("\uff11\uff12\uff10\uff10 ILS", "1200", "ILS"),
        ("٩٠٠ ILS", "900", "ILS"),
        ("900 долларов", "900", "AUD"),
        ("$1,200.00 USD", "1200", "USD"),
        ("a 900-euro room", "900", "EUR"),
        ("only 25 per night", "25", None),
        ("25/night", "25", None),
        ("price: 25", "25", None),
        ("it costs 45, breakfast included", "45", None),
    ],
)
def test_money(text: str, amount: str, code: str | None) -> None:
    """An amount is one number and a currency, however it is written."""
    assert _read(text) == _money(amount, code)


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("twelve hundred shekels", "1200 shekels"),
        ("one thousand two hundred and fifty shekels", "1250 shekels"),
        ("nine hundred and ninety-nine thousand nine hundred and ninety-nine dollars", "999999 dollars"),
        ("a hundred and five euros, two nights", "105 euros, 2 nights"),
        ("one or two", "1 or 2"),
        ("deux cents euros", "200 euros"),
        ("mille deux cents quatre-vingt-dix-neuf euros", "1299 euros"),
        ("doscientos cincuenta y tres euros", "253 euros"),
        ("mil euros", "1000 euros"),
        ("neunhundert Euro", "900 Euro"),
        ("zweitausendfünfhundertvierzig Euro", "2540 Euro"),
        ("duecentotrenta euro", "230 euro"),
        ("אלף מאתיים וחמישים שקל", "1250 שקל"),
        ("the twenty-fourth of November", "the 24 of November"),
        ("am zwölften März", "am 12 März"),
        ("one point nine billion, deux virgule cinq", "1.9 billion, 2.5"),
        ("eins Komma neun Milliarden, dos coma siete", "1.9 Milliarden, 2.7"),
        ("two point to it, at this point nine", "2 point to it, at this point 9"),
        ("50 cent, 31 per cent, Sept 5", "50 cent, 31 per cent, Sept 5"),
        ("see one.example.com or a/two.txt", "see one.example.com or a/two.txt"),
        ("the first room, a second look", "the first room, a second look"),
    ],
)
def test_numbers_in_words(text: str, digits: str) -> None:
    """Numbers in words are read as digits. Words of addresses, scales and ordinals without a month stay."""
    read, places = in_digits(text)

    assert read == digits
    assert len(places) == len(read) + 1


@pytest.mark.parametrize("text", ["69 euros 90 for both", "69 euros 90.", "69 Euro 90 pro Paar"])
def test_hundredths_may_stand_behind_the_currency(text: str) -> None:
    """They have two digits and no word of their own."""
    assert _read(text) == _money("69.9", "EUR")


@pytest.mark.parametrize(
    "text", ["69 euros 90 minutes", "69 Euro 14 Nächte", "69 euros 20 %", "69 euros 12:30", "69 EUR 2 ways"]
)
def test_another_number_behind_a_currency_is_no_part_of_it(text: str) -> None:
    """It has a unit of its own."""
    assert _read(text)[:1] == _money("69", "EUR")


def test_a_trains_number_is_no_part_of_its_price() -> None:
    """A currency in letters begins an amount all the same."""
    assert _read("ICE 703 159,80 €")[1:] == _money("159.80", "EUR")
    assert _read("ILS 703 159,80") == _money("703159.80", "ILS")


def test_both_ends_of_a_range_are_money() -> None:
    """A currency counts for both ends of a range."""
    assert _read("€90\u2013120") == [*_money("90", "EUR"), *_money("120", "EUR")]
    assert _read("20 to 25 EUR") == [*_money("20", "EUR"), *_money("25", "EUR")]


def test_contradicting_currencies_mean_nothing() -> None:
    """An amount in two currencies has no meaning that a source could support."""
    assert [figure.keys for figure in figures("€900 ILS")] == [()]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,463,723 people", "1463723"), ("12 345 steps", "12345"), ("35.0116", "35.0116"), ("7,25 km", "7.25")],
)
def test_numbers(text: str, value: str) -> None:
    """A number that counts nothing is a figure."""
    assert _read(text) == [("number", (Decimal(value),))]


def test_lines_that_count_on_from_one_are_no_figures() -> None:
    """The days of a plan number it. A line that skips one says a number."""
    days = "Day 1: sea\n- Day 2: hills\n\nDay 3: sea\nDay 4: hills\nDay 6: sea"

    assert [figure.keys for figure in claims(days, [])] == [(("small", Decimal(6)),)]


@pytest.mark.parametrize("text", ["10:00 UTC+02:00", "10:00 (GMT-05:30)"])
def test_what_a_clock_is_ahead_of_utc_is_no_time_of_day(text: str) -> None:
    """It belongs to the time before it."""
    assert [text[figure.start : figure.end] for figure in figures(text)] == ["10:00"]


@pytest.mark.parametrize("text", ["20 %", "20%", "20 percent", "20 Prozent", "20 אחוז"])
def test_percentages(text: str) -> None:
    """A percentage is a figure, however small."""
    assert _read(text) == [("percent", (Decimal(20),))]


@pytest.mark.parametrize(
    "text",
    [
        "3 rooms for 2 adults",
        "5 nights",
        "4/5 stars",
        "open 24/7",
        "you may 2 things",
        "children from 8 may play",
        "the 2nd option",
        "Room 7",
        "1.",
    ],
)
def test_counts_are_no_figures(text: str) -> None:
    """Small numbers that count something need no source."""
    assert figures(text) == []


DAY = ("date", (date(2026, 12, 5),))
NO_YEAR = ("date", (12, 5))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-12-05", [DAY]),
        ("2026/12/05", [DAY]),
        ("5/12/2026", [DAY]),
        ("5.12.26", [DAY]),
        ("5 December 2026", [DAY]),
        ("the 5th of December, 2026", [DAY]),
        ("December 5, 2026", [DAY]),
        ("Dec. 5 2026", [DAY]),
        ("5. Dezember 2026", [DAY]),
        ("5 de diciembre de 2026", [DAY]),
        ("2026年12月5日", [DAY]),
        ("5 בדצמבר 2026", [DAY]),
        ("5 декабря 2026", [DAY]),
        ("Saturday 5 December 2026", [DAY]),
        ("5 Dec 2026 (Sat)", [DAY]),
        ("le 5 décembre", [NO_YEAR]),
        ("from 4 may to 5 may", [("date", (5, 4)), ("date", (5, 5))]),
        ("5/12", [NO_YEAR]),
        ("vom 5.12. an", [NO_YEAR]),
        ("Sat 5 Dec", [("date", (5, 12, 5))]),
        ("3-5 December", [("date", (12, 3)), NO_YEAR]),
        ("December 3 and 5", [("date", (12, 3)), NO_YEAR]),
        ("3rd to 5th December", [("date", (12, 3)), NO_YEAR]),
        ("December 2026", [("date", (2026, 12))]),
        ("from the 5th", [("date", (5,))]),
        ("5.12.2026-5.12.26", [DAY, DAY]),
        ("2026-12-05T10:42:00Z", [DAY, ("time", (10, 42))]),
    ],
)
def test_dates(text: str, found: list[tuple[str, Any]]) -> None:
    """A date is a day, with or without its year, in any order and language."""
    assert _read(text) == found


def test_a_date_on_a_wrong_weekday_means_nothing() -> None:
    """No source can support a date with a wrong weekday."""
    assert [figure.keys for figure in figures("Fri 5 December 2026")] == [()]


@pytest.mark.parametrize(("text", "days"), [("La segunda no se puede.", []), ("Na segunda abrimos às 9.", [("on", 0)])])
def test_an_ordinal_behind_an_article_is_no_weekday(text: str, days: list[tuple[str, int]]) -> None:
    """In Spanish it is the second one, in Portuguese Monday."""
    assert [key for figure in find_weekdays(text) for key in figure.keys] == days


@pytest.mark.parametrize(
    ("text", "kind", "key"),
    [
        ("at 15:00", "time", (15, 0)),
        ("by 3 pm", "time", (15, 0)),
        ("حتى 3:30 م", "time", (15, 30)),
        ("حتى 12:12 ص", "time", (0, 12)),
        ("by 3.30 pm", "time", (15, 30)),
        ("um 15 Uhr 30", "time", (15, 30)),
        ("at half past 3", "time", (3, 30)),
        ("at a quarter to 4", "time", (3, 45)),
        ("um halb 4", "time", (3, 30)),
        ("at 3 o'clock", "time", (3, 0)),
        ("at noon", "time", (12, 0)),
        ("see https://a.example.com/b?x=1.", "link", ("a.example.com/b?x=1",)),
        ("[book](https://a.example.com/b_(c))", "link", ("a.example.com/b_(c)",)),
        ("www.example.com/", "link", ("example.com",)),
        ("on example.com/x, then", "link", ("example.com/x",)),
        ("me@Example.com", "email", ("me@example.com",)),
        ("+972 54-123-4567", "phone", ("972541234567",)),
        ("054-1234567", "phone", ("541234567",)),
        ("(212) 555-0100", "phone", ("2125550100",)),
        ("passport number AB123456", "document", ("AB123456",)),
        ("card 4111 1111 1111 1111", "document", ("4111111111111111",)),
        ("IBAN DE89 3704 0044 0532 0130 00", "document", ("DE89370400440532013000",)),
        ("booking HB-4K2X93", "identifier", ("hb-4k2x93",)),
    ],
)
def test_links_times_and_personal_data(text: str, kind: str, key: tuple[Any, ...]) -> None:
    """Each kind is distinguished from the others, and normalised."""
    assert _read(text) == [(kind, key)]


def test_millions_in_words_are_one_number_with_what_follows() -> None:
    """A large number in words is read as a whole; "several millions" is none."""
    assert in_digits("four million eight hundred and twenty thousand euros")[0] == "4820000 euros"
    assert in_digits("dos millones quinientos mil")[0] == "2500000"
    assert in_digits("4.2 million, several million")[0] == "4.2 million, several million"
