"""What foreign services answer every day, and whole amounts, people and documents in it."""

from typing import Any

import pytest

from tests.planner.reply.grounding.replies import refused

WORKSHOPS = {
    "currency": "ILS",
    "workshops": [
        {"name": "Wheel", "date": "2027-01-15", "price_per_person": 220, "places_left": 4},
        {"name": "Clay", "date": "2027-01-18", "price_per_person": 165, "places_left": 2},
    ],
}
SAILINGS = {
    "currency": "NOK",
    "sailings": [
        {"vessel": "Skagerrak", "duration_min": 225, "fare_car": 890, "fare_per_adult": 240},
        {"vessel": "Nordlys", "duration_min": 495, "fare_car": 590, "fare_per_adult": 190},
    ],
}
MEETING = {"start": "2026-11-24T14:30:00+01:00", "end": "2026-11-24T15:15:00+01:00"}
PARCEL = {"items": [{"name": "lamp", "price": 26}], "status": "delivered", "tracking_id": "843053632392"}
GOODS = {"items": [{"name": "keyboard", "price": 272.33}, {"name": "thermostat", "price": 262.47}]}
PETS = {
    "answers": [{"topic": "pets", "answer": "Pets are not allowed."}, {"topic": "wifi", "answer": "Free in the house."}]
}
BRIEFS = {"results": [{"document": "brief", "title": "Market brief", "passage": "Norwind holds 18 percent."}]}
CLINIC = {
    "services": [{"name": "visit", "price": 38}],
    "emergencies": {"opens": "21:00"},
    "emergency": {"phone": "+34 93 555 07 41"},
}
PATIENT = {"patient": {"name": "Noa Levi", "emergency_contact": {"name": "Dan Levi", "phone": "+34 93 555 07 41"}}}
OWNER = {"user": {"name": "Dana Katz", "document": "X12345678"}}


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        ("The Wheel costs 220 ILS a person, Clay 165 ILS.", WORKSHOPS),
        ("Der Kurs ist am 15. Jänner.", WORKSHOPS),
        ("For the car and two adults that is 1,370 NOK on the Skagerrak and 970 NOK on the Nordlys.", SAILINGS),
        ("By day it takes 3 hours 45 minutes, at night 8 hours 15 minutes on the Nordlys.", SAILINGS),
        ("It is at 14:30, which is 13:30 UTC.", MEETING),
        ("They were sent under tracking number 843053632392.", PARCEL),
        ("Labour is charged for half an hour at least.", PARCEL),
        ("The keyboard is dearer than the thermostat: 272.33 against 262.47.", GOODS),
        ("The house rule is no pets.", PETS),
        ("According to the market brief, Norwind holds 18 percent.", BRIEFS),
        ("At night, call +34 93 555 07 41.", CLINIC),
    ],
)
def test_what_is_right_may_be_said(reply: str, result: dict[str, Any]) -> None:
    """Two places are left, and no decimals; a document has a title; a fare is for the car and for each adult."""
    assert refused(reply, result, said="Two of us with a car and a dog. Are pets allowed?") == []


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        ("The Wheel costs 2.20 ILS a person.", WORKSHOPS),
        ("For the car and two adults that is 1,380 NOK on the Skagerrak.", SAILINGS),
        ("The Nordlys takes 3 hours 45 minutes.", SAILINGS),
        ("It is at 14:30, which is 12:30 UTC.", MEETING),
        ("Pets are allowed.", PETS),
        ("The document is X12345678.", OWNER),
        ("You can call +34 93 555 07 41.", PATIENT),
    ],
)
def test_what_is_wrong_may_not(reply: str, result: dict[str, Any]) -> None:
    """The rules that let the replies above pass hold for no more than that."""
    assert refused(reply, result, said="Two of us with a car and a dog. Are pets allowed?")
