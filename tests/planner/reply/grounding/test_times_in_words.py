"""Times of day and lengths of time, as people say them in several languages, and what follows from them."""

import pytest

from tests.planner.reply.grounding.replies import refused
from turnloom.planner.reply.grounding.numerals import in_digits
from turnloom.planner.reply.grounding.scan import figures

FLIGHTS = {
    "results": [
        {
            "flight_number": "JL754",
            "departs": "2027-04-03T20:40:00+05:30",
            "arrives": "2027-04-04T08:25:00+09:00",
            "duration_min": 495,
        },
        {
            "flight_number": "SQ511",
            "departs": "2027-04-03T12:20:00+05:30",
            "arrives": "2027-04-04T00:35:00+09:00",
            "duration_min": 945,
        },
    ]
}
HOUSE = {
    "answers": [
        {"topic": "dinner", "answer": "Dinner is served in the long hall beside the lake from 18:15 to 20:00."},
        {"topic": "arrival", "answer": "The rooms are ready from 14:00, and breakfast in the hall begins at 07:30."},
    ]
}
MEETING = {
    "duration_mins": 50,
    "proposals": [
        {"start": "2026-11-23T09:15:00+00:00", "end": "2026-11-23T10:05:00+00:00"},
        {"start": "2026-11-26T11:00:00+00:00", "end": "2026-11-26T11:50:00+00:00"},
    ],
    "expires_at": "2026-11-21T12:00:00+00:00",
}


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("at 8 this morning", {(8, 0)}),
        ("by 7 tonight", {(19, 0)}),
        ("om negen uur", {(9, 0), (21, 0)}),
        ("morgenavond om half acht", {(7, 30), (19, 30)}),
        ("om kwart over negen", {(9, 15), (21, 15)}),
        ("à midi moins le quart", {(11, 45)}),
        ("a mezzogiorno e mezzo", {(12, 30)}),
        ("alle sei e trentacinque", {(6, 35), (18, 35)}),
        ("a las once y media", {(11, 30), (23, 30)}),
        ("from nine to a quarter to ten", {(9, 0), (21, 0), (9, 45), (21, 45)}),
        ("from 11 to 11.45 am", {(11, 0), (23, 0), (11, 45)}),
    ],
)
def test_times_of_day(text: str, times: set[tuple[int, int]]) -> None:
    """An hour without its half of the day is either."""
    found = figures(in_digits(text)[0])

    assert {key[1:] for figure in found if figure.kind == "time" for key in figure.keys} == times


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("once horas y veinte minutos", "11 horas y 20 minutos"),
        ("due notti per tre persone", "2 notti per 3 persone"),
        ("once more, with due care", "once more, with due care"),
        ("It won't cost you a cent.", "It won't cost you a cent."),
        ("Sei qui da due notti", "Sei qui da 2 notti"),
    ],
)
def test_words_that_other_languages_use_otherwise(text: str, digits: str) -> None:
    """They are numerals beside a word that only their own language has."""
    assert in_digits(text)[0] == digits


@pytest.mark.parametrize(
    ("reply", "is_right"),
    [
        ("It touches down at 8.25 the next morning.", True),
        ("It touches down at 8.45 the next morning.", False),
        ("SQ511 leaves at midday and lands shortly after midnight.", True),
        ("JL754 leaves shortly after midnight.", True),  # as SQ511 lands: names bind only amounts of their own kind
        ("SQ511 lands shortly before noon.", False),
        ("JL754 is a good seven hours quicker.", True),
        ("JL754 is a good eleven hours quicker.", False),
        ("Move your watches three and a half hours forward.", True),
        ("Move your watches two and a half hours forward.", False),
    ],
)
def test_what_follows_from_flights(reply: str, *, is_right: bool) -> None:
    """Points between hours and minutes, noon and midnight, what is quicker, and what clocks are ahead."""
    assert (refused(reply, FLIGHTS) == []) is is_right


@pytest.mark.parametrize(
    ("reply", "is_right"),
    [
        ("Dinner is 18:15 to 20:00; breakfast begins at 7:30.", True),
        ("Dinner is 18:15 to 20:00, and the rooms are ready from 14:00.", True),
        ("Dinner is 18:15 to 20:00; the boats leave at 14:00.", False),
    ],
)
def test_a_statement_that_names_nothing_is_told_by_its_words(reply: str, *, is_right: bool) -> None:
    """What was named in the statement before it is not what it is about."""
    assert (refused(reply, HOUSE) == []) is is_right


@pytest.mark.parametrize(
    ("reply", "is_right"),
    [
        ("Monday, 9.15 to 10.05 am, or Thursday, 11 to 11.50 am.", True),
        ("Monday, 9.15 to 10.05 am, or Thursday, 10 to 11.50 am.", False),
        ("The first one begins at 9:15, and they stay open until noon tomorrow.", True),
        ("You have two days and a little under 24 hours until the first one begins.", True),
        ("You have three days and a little under five hours until the first one begins.", False),
        ("The two begin an hour and 45 minutes apart on the clock.", True),
        ("The two begin an hour and 25 minutes apart on the clock.", False),
    ],
)
def test_what_follows_from_a_meeting(reply: str, *, is_right: bool) -> None:
    """Hours of a range, two statements of one sentence, what is left, and the time between two times."""
    assert (refused(reply, MEETING) == []) is is_right


AGENDA = {
    "proposals": [
        {"start": "2026-11-27T09:20:00+01:00", "end": "2026-11-27T11:55:00+01:00"},
        {"start": "2026-12-01T14:25:00+01:00", "end": "2026-12-01T16:00:00+01:00"},
    ]
}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Van tien voor half tien tot vijf voor twaalf.", "Van tien over half tien tot vijf voor twaalf."),
        ("Um fünf vor halb drei geht es los.", "Um fünf nach halb drei geht es los."),
        ("It goes on until five to twelve.", "It goes on until ten to twelve."),
        ("You would be home after midnight.", "It begins at midnight."),
        ("De ene begint om 9:20; de andere eindigt om 16:00.", "De ene begint om 9:20 en eindigt om 16:00."),
        ("Vrijdagochtend kan ook.", "Maandagochtend kan ook."),
    ],
)
def test_times_as_people_say_them(right: str, wrong: str) -> None:
    """Minutes beside a half hour, behind "until", and the parts of days that Dutch writes with the weekday."""
    assert refused(right, AGENDA) == []
    assert refused(wrong, AGENDA) != []


def test_a_part_of_the_day_before_a_japanese_hour() -> None:
    """A particle may stand between."""
    bath = {"opens": "06:00", "closes": "23:30"}

    assert refused("朝は6時から、夜は11時半までです。", bath) == []
    assert refused("夜の10時半までです。", bath) != []
