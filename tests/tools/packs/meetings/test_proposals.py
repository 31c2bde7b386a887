"""Test which times are proposed: properties over random people, and nights on which clocks change."""

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.tools.packs.meetings.arranging import ALWAYS, at
from turnloom.tools.packs.meetings.proposals import GRID, MOST, Person, propose, working
from turnloom.tools.packs.meetings.store.calendars import Interval

ZONES = [
    ZoneInfo(name)
    for name in ("UTC", "Asia/Jerusalem", "America/New_York", "Asia/Kathmandu", "Pacific/Apia", "Australia/Lord_Howe")
]
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
STARTS = datetime(2026, 3, 26, 12, 7, tzinfo=UTC)
"""The start of two weeks in which clocks change in Jerusalem and on Lord Howe Island."""


def _interval(first: int, length: int) -> Interval:
    starts = STARTS + timedelta(minutes=first)
    return Interval(starts, starts + timedelta(minutes=length))


intervals = st.builds(_interval, st.integers(-600, 20_000), st.integers(1, 3_000))
clock = st.integers(0, 23 * 60).map(lambda minute: f"{minute // 60:02}:{minute % 60:02}")
hours = st.tuples(clock, clock).map(sorted).filter(lambda pair: pair[0] < pair[1])
persons = st.builds(
    Person,
    zone=st.sampled_from(ZONES),
    working_hours=st.dictionaries(st.sampled_from(DAYS), hours, min_size=1) | st.just(ALWAYS),
    busy=st.lists(intervals, max_size=8),
)
durations = st.integers(1, 48).map(lambda fives: timedelta(minutes=5 * fives))


def _works(person: Person, moment: datetime) -> bool:
    """Return whether it is working time by the person's own clock."""
    there = moment.astimezone(person.zone)
    named = person.working_hours.get(DAYS[there.weekday()])
    return named is not None and time.fromisoformat(named[0]) <= there.time() < time.fromisoformat(named[1])


@settings(max_examples=80)
@given(window=intervals, duration=durations, people=st.lists(persons, min_size=1, max_size=3))
def test_a_proposal_suits_everybody(window: Interval, duration: timedelta, people: list[Person]) -> None:
    """It is within the window and everybody's hours, overlaps nothing, and has the requested length."""
    found = propose(window, duration, people, people[0].zone)

    assert len(found) <= MOST
    assert found == sorted(found) == propose(window, duration, people, people[0].zone)
    assert not any(one.overlaps(next_one) for one, next_one in pairwise(found))
    for each in found:
        assert window.starts <= each.starts
        assert each.ends <= window.ends
        assert each.ends - each.starts == duration
        assert (each.starts.minute % 15, each.starts.second) == (0, 0)
        minutes = [each.starts + timedelta(minutes=number) for number in range(duration // timedelta(minutes=1))]
        for person in people:
            assert not any(each.overlaps(busy) for busy in person.busy)
            assert all(_works(person, minute) for minute in minutes)


@settings(max_examples=60)
@given(window=intervals, duration=durations, person=persons)
@example(_interval(0, 3_000), timedelta(minutes=5), Person(zone=ZONES[0], working_hours=ALWAYS, busy=[]))
def test_a_free_time_is_found(window: Interval, duration: timedelta, person: Person) -> None:
    """Nothing is proposed only if no quarter of an hour is free."""
    found = propose(window, duration, [person], person.zone)
    spans = working(person, window)

    quarters = int(window.starts.timestamp() // 900) + 1, int(window.ends.timestamp() // 900)
    starts = (datetime.fromtimestamp(900 * number, UTC) for number in range(*quarters))
    slots = (Interval(each, each + duration) for each in starts)
    free = any(
        any(span.starts <= slot.starts and slot.ends <= span.ends for span in spans)
        and not any(slot.overlaps(busy) for busy in person.busy)
        for slot in slots
    )
    assert bool(found) >= free


def test_proposals_are_spread_over_days() -> None:
    """Each day gives its earliest time, as long as there are days."""
    person = Person(zone=ZONES[1], working_hours=ALWAYS, busy=[])

    found = propose(Interval(STARTS, STARTS + timedelta(days=9)), timedelta(hours=1), [person], ZONES[1])

    assert len({each.starts.astimezone(ZONES[1]).date() for each in found}) == MOST


def test_proposals_of_a_single_day_are_apart() -> None:
    """One does not follow right after the other."""
    person = Person(zone=ZONES[0], working_hours=ALWAYS, busy=[])

    found = propose(at("2026-11-23T09:00Z", 8 * 60), timedelta(minutes=30), [person], ZONES[0])

    assert [each.starts.hour for each in found] == [9, 11, 13, 15]


def test_the_hour_that_does_not_exist() -> None:
    """On 27 March 2026 Jerusalem goes from 02:00 to 03:00: hours from 01:00 to 04:00 are two hours."""
    person = Person(zone=ZONES[1], working_hours={"fri": ["01:00", "04:00"]}, busy=[])

    (span,) = working(person, at("2026-03-26T12:00Z", 48 * 60))

    assert span == Interval(datetime(2026, 3, 26, 23, tzinfo=UTC), datetime(2026, 3, 27, 1, tzinfo=UTC))


def test_the_hour_that_comes_twice() -> None:
    """On 25 October 2026 Jerusalem goes from 02:00 to 01:00. Hours from 00:30 to 01:30 end at the first 01:30."""
    person = Person(zone=ZONES[1], working_hours={"sun": ["00:30", "01:30"]}, busy=[])
    later = Person(zone=ZONES[1], working_hours={"sun": ["01:30", "04:00"]}, busy=[])
    window = at("2026-10-24T12:00Z", 24 * 60)

    assert working(person, window) == [at("2026-10-24T21:30Z", 60)]
    assert working(later, window) == [at("2026-10-24T23:30Z", 150)]


def test_a_meeting_begins_at_a_quarter_of_an_hour() -> None:
    """This holds in every zone, even with an offset of three quarters of an hour."""
    for zone in ZONES:
        person = Person(zone=zone, working_hours=ALWAYS, busy=[])
        (first, *_) = propose(Interval(STARTS, STARTS + timedelta(days=1)), GRID, [person], zone)

        assert first.starts.astimezone(zone).minute % 15 == 0
