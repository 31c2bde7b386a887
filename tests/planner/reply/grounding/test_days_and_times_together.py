"""Days and times that a sentence says together, or of which it says only what follows from results."""

import pytest

from tests.planner.reply.grounding.replies import refused

MEETING = {
    "expires_at": "2026-11-21T09:30:00Z",
    "proposals": [
        {"start": "2026-11-26T11:15:00+00:00", "end": "2026-11-26T12:45:00+00:00"},
        {"start": "2026-11-27T14:00:00+00:00", "end": "2026-11-27T15:30:00+00:00"},
    ],
}
HOUSE = {
    "answers": [
        {
            "topic": "breakfast",
            "answer": "Breakfast is served in the hall from 07:30 to 10:15, and on Sundays until 11:00.",
        },
        {"topic": "spa", "answer": "The spa on the roof is open from 14:00 to 21:30, and it is closed on Mondays."},
        {"topic": "train", "answer": "The last train of the day leaves from the station in the valley at 00:10."},
    ]
}
STAY = {"check_in": "2027-03-12", "check_out": "2027-03-16"}  # from Friday to Tuesday


@pytest.mark.parametrize(
    "reply",
    [
        "The first is from 11:15 to 12:45, the second from 2 pm to 3:30 pm.",
        "Breakfast is from 7:30 to 10:15, and on Sunday from 7:30 to 11:00.",
        "It is on 26 November, which is a Thursday.",
        "It is on 26 November, a Thursday, or on 27 November (Friday).",
        "You have 24 hours from now to choose.",
        "The last train leaves shortly after midnight.",
        "The spa is closed on Mondays, so not on Monday the 15th.",
        "On Sunday, 14 March, breakfast goes on until 11:00.",
        "Your last night is the night of Monday the 15th.",
        "Il treno parte poco dopo mezzanotte.",
        "La spa chiude alle nove e mezza di sera.",
    ],
)
def test_what_follows_may_be_said(reply: str) -> None:
    """The ends of one thing, a date's weekday, the time that is left, a day of the stay that a rule is about."""
    assert refused(reply, MEETING, HOUSE, STAY) == []


@pytest.mark.parametrize(
    "reply",
    [
        "It is from 11:15 to 15:30.",
        "The spa is open from 14:00 to 11:00.",
        "It is on 26 November, which is a Friday.",
        "It is on 27 November (Thursday).",
        "You have 48 hours from now to choose.",
        "The last train leaves shortly before midnight.",
        "The spa is closed on Mondays, so not on Wednesday the 17th.",
        "You leave on Monday the 15th.",
    ],
)
def test_what_does_not_follow_is_refused(reply: str) -> None:
    """The end of another thing, another weekday, a day that no rule names, the wrong side of midnight."""
    assert refused(reply, MEETING, HOUSE, STAY) != []


def test_sources_write_times_with_a_point() -> None:
    """In Norwegian, in Italian: in a reply they are read where a word says that they are times."""
    house = {"answer": "Frokosten serveres fra 07.00 til 10.30, på søndager til 11.30, i den store salen ved sjøen."}

    assert refused("Breakfast is from 7 am until half past ten.", house) == []
    assert refused("Breakfast is from 8 am until half past ten.", house, MEETING) != []


def test_a_time_behind_a_semicolon_is_another_things() -> None:
    """The only time of a sentence tells of which departure its only price is, unless it is in the next statement."""
    flights = {
        "results": [
            {"flight_number": "JQ739", "departs": "2027-01-26T07:10:00+10:00", "price": 189.0, "currency": "AUD"},
            {"flight_number": "VA1517", "departs": "2027-01-26T18:05:00+10:00", "price": 236.0, "currency": "AUD"},
        ]
    }

    assert refused("JQ739 is 189 dollars; VA1517 leaves at 18:05.", flights) == []
    assert refused("The one at 18:05 is 189 dollars.", flights) != []


def test_a_weekday_before_a_number_is_another_day() -> None:
    """It is not said of the date before it."""
    days = {"days": [{"date": "2026-12-01"}, {"date": "2026-12-03"}, {"date": "2026-12-07"}]}

    assert refused("Ce serait le mardi 1er décembre, le jeudi 3 ou le lundi 7.", days) == []


def test_two_weekdays_behind_two_dates() -> None:
    """Each is that of one of them."""
    course = {"text": "The course is on 27 and 28 March 2027 and costs £185 per person."}

    assert refused("The course is on 27 and 28 March 2027, Saturday and Sunday.", course) == []
    assert refused("The course is on 27 and 28 March 2027, Monday and Sunday.", course) != []
    assert refused("The course is on 27 and 28 March 2027, Saturday and Monday.", course) != []


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("Tarda cinco horas y cuarto.", 315),
        ("Una visita guidata dura un'ora e dieci.", 70),
        ("Le trajet dure deux heures et quart.", 135),
        ("It takes 2 hours and three quarters.", 165),
    ],
)
def test_lengths_in_words(text: str, minutes: int) -> None:
    """Hours with a quarter, three quarters, or minutes without their unit."""
    assert refused(text, {"duration_min": minutes}) == []
    assert refused(text, {"duration_min": minutes + 30}) != []


@pytest.mark.parametrize(
    ("reply", "deeds", "is_right"),
    [
        ("I've confirmed the meeting and sent the invitation.", ["confirmed", "sent"], True),
        ("I've also sent her the agenda.", ["confirmed", "sent"], False),
        ("I've also sent her the agenda.", ["confirmed", "papers"], True),
        ("I've already booked it for you.", ["held"], False),
        ("Ya te reservé el hotel.", [], False),
        ("Ya le confirmé la cita.", ["proposed"], False),
        ("Ya le confirmé la cita.", ["confirmed"], True),
        ("C'est fait, le rendez-vous est pris.", ["proposed"], False),
        ("I went ahead and put it in your calendar.", [], False),
        ("ההזמנה כבר בוצעה.", ["held"], False),
        ("Most rooms are already booked for May.", [], True),
        ("Ich habe Ihnen das Zimmer gehalten.", ["held"], True),
        ("Ich habe Ihnen das Zimmer gehalten.", [], False),
        ("ما حجزت لك شيئاً حتى الآن.", [], True),
        ("حجزت لك الغرفة.", [], False),
        ("Farmers are paid within seven days.", [], True),
        ("The deposit is paid.", [], False),
    ],
)
def test_deeds_that_no_call_has_done(reply: str, deeds: list[str], *, is_right: bool) -> None:
    """An invitation is no agenda, and "already" makes a first person's deed none of somebody else's."""
    assert (refused(reply, {"title": "Review"}, deeds=frozenset(deeds)) == []) is is_right


def test_a_date_on_a_weekday_of_which_a_text_speaks() -> None:
    """The sentence names the weekday too, and the date is on it."""
    house = {
        "check_in": "2027-04-22",
        "check_out": "2027-04-28",
        "tea": "A guided walk through the gardens starts at 06:40 every day except Monday.",
    }

    assert refused("The walk rests on Mondays, so not on the 26th.", house) == []
    assert refused("The walk rests on Mondays, so not on the 25th.", house) == ["25th"]


def test_days_and_hours_from_now() -> None:
    """They lead to a moment of the results."""
    meeting = {
        "duration_mins": 45,
        "proposals": [{"start": "2026-11-23T11:30:00+00:00"}, {"start": "2026-11-25T15:00:00+00:00"}],
    }

    assert refused("The first one starts in three days and two hours.", meeting) == []
    assert refused("The first one starts in three days and four hours.", meeting) != []


@pytest.mark.parametrize(
    ("reply", "is_right"),
    [
        ("It is three days from today.", True),
        ("It is four days from today.", False),
        ("Il est dans trois jours à partir d'aujourd'hui.", True),
        ("The shore is five days away from the crowds.", True),
        ("They are a little under a week away.", True),
    ],
)
def test_days_from_today_lead_to_a_known_day(reply: str, *, is_right: bool) -> None:
    """A number that is rounded, or of something else, is not compared."""
    meeting = {"proposals": [{"start": "2026-11-23T11:30:00+00:00"}, {"start": "2026-11-25T15:00:00+00:00"}]}

    assert (refused(reply, meeting) == []) is is_right
