"""The offline model reads the dates of a trip and of a stay as people write them."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.tools.packs.dates.stays import read_stays

Context = Callable[..., PlanningContext]
ARRIVAL = {"$from": "dates.check_in"}
DEPARTURE = {"$from": "dates.check_out"}
TODAY = date(2026, 11, 20)


def _calls(context: Context, offline: OpenAIModel, message: str, agent: str = "travel") -> dict[str, dict[str, Any]]:
    plan = draft(context(message, agent=agent), offline).plan
    assert plan is not None
    return {step.id: step.args for step in plan.steps}


@pytest.mark.parametrize(
    "message",
    [
        "flights and hotels, from Paris to Rome, 4 to 8 December",
        "flights and hotels from Paris to Rome, the 4th to the 8th of December 2026",
        "hotels and flights from Paris to Rome on December 4 - 8",
        "flights from Paris to Rome 2026-12-04 to 2026-12-08, and hotels",
        "Flüge und Hotels von Paris nach Rom vom 4. bis 8. Dezember",
        "Vuelos y hoteles de París a Roma del 4 al 8 de diciembre",
        "Vols et hôtels de Paris à Rome du 4 au 8 décembre",
        "טיסות מפריז לרומא ומלונות מ-4 עד 8 בדצמבר",
        "رحلات جوية وفنادق من باريس إلى روما من 4 إلى 8 ديسمبر",
        "12月4日から8日までパリからローマへのフライトとホテル",
    ],
)
def test_a_range_of_days_is_flight_out_stay_and_flight_back(
    context: Context, offline: OpenAIModel, message: str
) -> None:
    """In seven languages. The resolver of hints reads the words as these two days."""
    calls = _calls(context, offline, message)

    [stay] = read_stays(calls["dates"]["hint"], TODAY)
    assert (stay.check_in, stay.check_out) == (date(2026, 12, 4), date(2026, 12, 8))
    assert (calls["flights"]["depart"], calls["flights"]["return"]) == (ARRIVAL, DEPARTURE)
    assert (calls["hotels"]["check_in"], calls["hotels"]["nights"]) == (ARRIVAL, 4)


@pytest.mark.parametrize(
    ("message", "nights"),
    [
        ("hotels in Rome from 28 December to 2 January", 5),
        ("hotels in Rome from December 28 to January 2", 5),
        ("hotels in Rome 2026-12-28 to 2027-01-08", 11),
        ("hotels in Rome from the 3rd to the 5th of May", 2),
    ],
)
def test_nights_are_counted_across_months(context: Context, offline: OpenAIModel, message: str, nights: int) -> None:
    """The hotel is wanted for as many nights as lie between the two days."""
    assert _calls(context, offline, message)["hotels"]["nights"] == nights


@pytest.mark.parametrize("said", ["on 4 December 2026", "on the 4th of December", "on December 4", "4. december"])
def test_a_single_day_is_a_flight_out_alone(context: Context, offline: OpenAIModel, said: str) -> None:
    """Nobody has spoken of a flight back."""
    calls = _calls(context, offline, f"flights from Tel Aviv to Rome {said}")

    [stay] = read_stays(calls["dates"]["hint"], TODAY)
    assert stay.check_in == date(2026, 12, 4)
    assert calls["flights"] == {"origin": "Tel Aviv", "destination": "Rome", "depart": ARRIVAL}


def test_the_day_of_the_flight_back_may_be_said_apart(context: Context, offline: OpenAIModel) -> None:
    """Each of the two days is looked up."""
    calls = _calls(context, offline, "flights from Tel Aviv to Rome on 4 December, back on the 8th of December")

    assert (calls["dates"]["hint"], calls["back"]["hint"]) == ("4 December", "the 8th of December")
    assert calls["flights"]["return"] == {"$from": "back.check_in"}


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("חדר לשני מבוגרים מ-4 עד 6 בדצמבר", None),
        ("חדר לזוג 4-6 בדצמבר, עד 900 שקל", 900),
        ("a room for 2 from 4 up to 6 December, up to 900", 900),
        ("Zimmer für zwei vom 4. bis 6. Dezember, bis zu 900 Schekel", 900),
    ],
)
def test_the_last_day_of_a_stay_is_no_budget(
    context: Context, offline: OpenAIModel, message: str, limit: int | None
) -> None:
    """ "Up to" stands before both."""
    calls = _calls(context, offline, message, agent="hotel")

    [stay] = read_stays(calls["dates"]["hint"], TODAY)
    assert (stay.check_in, stay.check_out) == (date(2026, 12, 4), date(2026, 12, 6))
    assert calls["availability"].get("budget", {}).get("amount") == limit
