"""Scales, units, lengths of time and days are read in the languages of the templates, and hedges before them."""

from decimal import Decimal

import pytest

from tests.planner.reply.grounding.replies import refused
from turnloom.planner.reply.grounding.numerals import in_digits
from turnloom.planner.reply.grounding.scan import claims, figures

REPORT = {
    "passage": "Sales rose from 27.9 to 31.5 million euros. The company carried 3,124 passengers to 640 places. "
    "Profit was 760,000 euros."
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3,6 milioni di euro", 3_600_000),
        ("cinque milioni e mezzo di euro", 5_500_000),
        ("38,7 milliards d'euros", 38_700_000_000),
        ("214,6 miljard euro", 214_600_000_000),
        ("11,4 miljoen euro", 11_400_000),
        ("12 mil millones de euros", 12_000_000_000),
        ("3,6 milionów euro", 3_600_000),
        ("2,5 mld euro", 2_500_000_000),
        ("nonante-neuf euros", 99),
        ("septante-neuf millions d'euros", 79_000_000),
        ("خمسا وأربعين يورو", 45),
        ("septante et une euros", 71),
    ],
)
def test_scales(text: str, value: int) -> None:
    """Millions and thousand millions, behind digits and behind words."""
    (found,) = figures(in_digits(text)[0])

    assert (found.kind, found.keys) == ("money", (("money", Decimal(value), "EUR"),))


@pytest.mark.parametrize("text", ["from 27.9 to 31.5 million euros", "van 27,9 naar 31,5 miljoen euro"])
def test_the_ends_of_a_range_share_their_scale(text: str) -> None:
    """Both are millions of euros."""
    assert [figure.keys for figure in figures(text)] == [
        (("money", Decimal(value), "EUR"),) for value in (27_900_000, 31_500_000)
    ]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("39 מ״ר", ("count", "area", 39)),
        ("20 vierkante meter", ("count", "area", 20)),
        ("6,4 ק״מ", ("count", "kilometre", Decimal("6.4"))),
        ("cinco diárias", ("count", "night", 5)),
        ("ست ليال", ("count", "night", 6)),
        ("شقة على بعد 5 كيلومترات", ("count", "kilometre", 5)),
        ("6 miles", ("count", "mile", 6)),
        ("35,4 graus", ("count", "degree", Decimal("35.4"))),
        ("tot 2 dagen vooraf", ("count", "day", 2)),
        ("ארבעה מועדים", ("count", "item", 4)),
        ("une heure vingt ; départs", ("duration", 80)),
        ("שעה ועשרים דקות", ("duration", 80)),
        ("שעתיים ועשרים וחמש דקות", ("duration", 145)),
        ("ساعتان وعشرون دقيقة", ("duration", 140)),
        ("ביום שני", ("on", 0)),
    ],
)
def test_units(text: str, key: tuple[object, ...]) -> None:
    """A number with a unit is a count or a length of time."""
    plain = in_digits(text)[0]

    assert key in [claim.keys[0] for claim in claims(plain, figures(plain))]


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("done ten minutes before three", {(2, 50), (14, 50)}),
        ("zehn Minuten nach drei", {(3, 10), (15, 10)}),
        ("30 minutes before the start", set()),
    ],
)
def test_minutes_beside_an_hour(text: str, times: set[tuple[int, int]]) -> None:
    """They are a time of day, not a length of time."""
    found = [figure for figure in figures(in_digits(text)[0]) if figure.kind == "time"]

    assert {key[1:] for figure in found for key in figure.keys} == times


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Le bénéfice est de près de 800 000 euros.", []),
        ("Le chiffre d'affaires approche les 32 millions d'euros.", []),
        ("Les ventes ont grimpé de 3,6 millions d'euros.", []),
        ("In the text 31,240 passengers travelled.", ["31,240"]),  # ten times as many
        ("Sales were 315 million euros.", ["315 million euros"]),
    ],
)
def test_what_follows_from_a_report(text: str, wrong: list[str]) -> None:
    """Rounded figures and differences do; a misplaced decimal point does not."""
    assert refused(text, REPORT) == wrong


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("ההגעה ביום שישי, 4 בדצמבר.", "ההגעה ביום שני, 4 בדצמבר.", ["שני", "4 בדצמבר"]),
        (
            "Chegam na sexta-feira, 4 de dezembro.",
            "Chegam na quinta-feira, 4 de dezembro.",
            ["quinta", "4 de dezembro"],
        ),
    ],
)
def test_a_weekday_of_a_date(right: str, wrong: str, words: list[str]) -> None:
    """Also one of two words, and one that is a number, too."""
    stay = {"check_in": "2026-12-04", "check_out": "2026-12-07"}

    assert refused(right, stay) == []
    assert refused(wrong, stay) == words


@pytest.mark.parametrize("text", ["del viernes 4 al lunes 7 de diciembre", "du vendredi 4 au lundi 7 décembre"])
def test_the_first_day_of_a_range_may_leave_its_month_to_the_last(text: str) -> None:
    """It is a day of the results all the same."""
    stay = {"check_in": "2026-12-04", "check_out": "2026-12-07"}

    assert refused(text, stay) == []
    assert refused(text.replace("4", "11"), stay) != []


def test_and_that_is_written_as_one_word_with_a_number() -> None:
    """It is no part of the number; between the parts of one number it is."""
    assert in_digits("לשני מבוגרים ושלושה ילדים")[0].endswith("3 ילדים")
    assert in_digits("מאה ועשרים שקלים")[0] == "120 שקלים"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("חדר לשלושה לילות", "חדר ל-3 לילות"),
        ("לארבעה אורחים", "ל-4 אורחים"),
        ("בשני הכיוונים", "בשני הכיוונים"),
        ("בשלוש וחצי", "בשלוש וחצי"),
    ],
)
def test_for_that_is_written_as_one_word_with_a_number(text: str, read: str) -> None:
    """Before what is counted it is apart; "both ways" and a time of day stay as they are."""
    assert in_digits(text)[0] == read
