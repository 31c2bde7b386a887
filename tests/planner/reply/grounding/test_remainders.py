"""What is left of what the user will spend, and what lies between round trips."""

import pytest

from tests.planner.reply.grounding.replies import refused

FLIGHTS = {
    "results": [
        {"carrier": "Jetstar", "origin": "MEL", "destination": "DPS", "price": 289.5, "currency": "AUD"},
        {"carrier": "Qantas", "origin": "MEL", "destination": "DPS", "price": 441.0, "currency": "AUD"},
        {"carrier": "Jetstar", "origin": "DPS", "destination": "MEL", "price": 324.5, "currency": "AUD"},
        {"carrier": "Qantas", "origin": "DPS", "destination": "MEL", "price": 458.5, "currency": "AUD"},
    ]
}
HOTELS = {
    "check_in": "2027-02-12",
    "check_out": "2027-02-16",
    "adults": 2,
    "results": [
        {"name": "Harbour Lantern", "price_per_night": 168.0, "currency": "AUD"},
        {"name": "Glass Fjord", "price_per_night": 391.0, "currency": "AUD"},
    ],
}
SAID = "We can spend 2,400 dollars on flights and hotel"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "Jetstar there and back is AUD 614, which is AUD 285.50 less than Qantas both ways.",
            "Jetstar there and back is AUD 614, which is AUD 258.50 less than Qantas both ways.",
        ),
        (
            "Qantas out and Jetstar back make AUD 765.50, AUD 134 less than the other flights both ways.",
            "Qantas out and Jetstar back make AUD 765.50, AUD 143 less than the other flights both ways.",
        ),
        (
            "Jetstar kostet hin und zurück AUD 614; gegenüber den Qantas-Flügen sparen Sie AUD 285.50.",
            "Jetstar kostet hin und zurück AUD 614; gegenüber den Qantas-Flügen sparen Sie AUD 258.50.",
        ),
        (
            "Jetstar both ways plus four nights at the Harbour Lantern would be AUD 1,286, leaving AUD 1,114.",
            "Jetstar both ways plus four nights at the Harbour Lantern would be AUD 1,268, leaving AUD 1,132.",
        ),
        (
            "Qantas both ways is AUD 899.50, the Glass Fjord is AUD 1,564, so AUD 63.50 over your 2,400.",
            "Qantas both ways is AUD 899.50, the Glass Fjord is AUD 1,564, so AUD 36.50 over your 2,400.",
        ),
        (
            "Split two ways, the Glass Fjord is just under AUD 800 apiece for the whole stay.",
            "Split two ways, the Glass Fjord is just under AUD 1,100 apiece for the whole stay.",
        ),
        (
            "All in all the Harbour Lantern comes to a little over AUD 670.",
            "All in all the Harbour Lantern comes to a little over AUD 730.",
        ),
        (
            "Going with Qantas and returning with Jetstar would be roughly AUD 770.",
            "Going with Qantas and returning with Jetstar would be roughly AUD 680.",
        ),
        (
            "Qantas de ida y Jetstar de vuelta sale en AUD 765.50, AUD 134 menos que Qantas ida y vuelta.",
            "Qantas de ida y Jetstar de vuelta sale en AUD 756.50.",
        ),
        (
            "Qantas both ways is just under AUD 900.",
            "Qantas both ways is just under AUD 700.",
        ),
        (
            "The Glass Fjord is AUD 1,564, or AUD 782 each; that's AUD 892 more than the Harbour Lantern.",
            "The Glass Fjord is AUD 1,564, or AUD 782 each; that's AUD 829 more than the Harbour Lantern.",
        ),
    ],
)
def test_two_legs_that_lead_there_and_back_are_one_amount(right: str, wrong: str) -> None:
    """It may be compared with another one, added to a stay, and taken from what the user has named."""
    assert refused(right, FLIGHTS, HOTELS, said=SAID) == []
    assert refused(wrong, FLIGHTS, HOTELS, said=SAID) != []


def test_what_is_left_after_a_stay_that_is_told_by_the_night() -> None:
    """The budget is for the stay."""
    room = {"nights": 5, "room_name": "Orchard Room", "price_total": 17250.0, "currency": "ZAR"}
    text = "That works out at R3,450 a night, and R{} of your budget stays in your pocket."

    assert refused(text.format("2,750"), room, said="Our budget is 20,000 rand") == []
    assert refused(text.format("2,570"), room, said="Our budget is 20,000 rand") != []


TAX = {
    "nights": 4,
    "adults": 2,
    "children": 1,
    "answer": "The visitors' tax is 5.50 CHF per adult and night and is not included in the price.",
}


def test_what_is_for_a_person_and_a_night_is_paid_by_all_for_the_stay() -> None:
    """Those who pay are the adults, or all with their children, unless the text says how many."""
    assert refused("The tax for the two of you comes to CHF 44.", TAX) == []
    assert refused("The tax for the two of you comes to CHF 54.", TAX) == ["CHF 54"]


def test_a_total_may_stand_before_how_many_pay_what() -> None:
    """A part counts so many times as the number before it says."""
    drive = {"answer": "The drive costs 720 NAD a person; children under 12 pay half."}
    text = "The drive is NAD {} for your family: two adults at NAD 720 each and your son at NAD 360."

    assert refused(text.format("1,800"), drive) == []
    assert refused(text.format("1,850"), drive) == ["NAD 1,850"]


def test_days_before_an_arrival_and_from_today_follow_from_a_text() -> None:
    """What is 7 days before the arrival, and when a trial of 14 days ends, stands nowhere."""
    stay = {"check_in": "2027-02-12", "answer": "Rates can be cancelled free of charge until 7 days before arrival."}
    trial = {"text": "The free trial lasts 14 days and needs no credit card, whatever plan you choose then."}

    assert refused("You can cancel until 5 February.", stay) == []
    assert refused("You can cancel until 6 February.", stay) == ["6 February"]
    assert refused("Start today and it runs until Friday, 4 December.", trial) == []


def test_a_longer_stay_ends_as_many_nights_after_the_arrival() -> None:
    """A result names how long a stay would have to be, and not until when."""
    stay = {
        "check_in": "2027-03-04",
        "check_out": "2027-03-07",
        "longer_stays": [{"room_name": "Net Loft", "nights": 4}],
    }

    assert refused("The Net Loft would be possible if you stayed four nights, until Monday the 8th.", stay) == []
    assert refused("The Net Loft would be possible if you stayed four nights, until Friday the 12th.", stay) != []


def test_both_ways_cost_twice_what_one_way_costs() -> None:
    """The text says for what its amount is."""
    transfer = {"answer": "Our car from the airport costs 21,500 LKR each way and takes 40 minutes."}

    assert refused("There and back in our car: LKR 43,000.", transfer) == []
    assert refused("There and back in our car: LKR 34,000.", transfer) == ["LKR 34,000"]


def test_before_a_german_word_am_is_no_half_of_the_day() -> None:
    """CHF 9 "am Tag" are for a day."""
    prices = {"text": "Die Tageskarte kostet CHF 68 für Erwachsene. Der Parkplatz kostet CHF 9 am Tag."}

    assert refused("Der Parkplatz kostet neun Franken am Tag.", prices) == []
    assert refused("Er kostet acht Franken am Tag.", prices) != []


def test_cities_are_so_many_hours_apart_as_they_are() -> None:
    """It is common knowledge, whether a result says it or not."""
    meeting = {"start": "2026-12-09T10:00:00+00:00", "length_min": 50}

    assert refused("Tokyo is nine hours ahead of you.", meeting) == []
    assert refused("Tokyo is seven hours ahead of you.", meeting) == ["seven hours"]
    assert refused("東京はパリより8時間進んでいます。", meeting) == []


def test_hundredths_may_stand_behind_with() -> None:
    """Spanish says "37 euros con cincuenta"."""
    tickets = {"text": "El billete cuesta 37,50 EUR para adultos y 13 EUR para niños de 4 a 12 años."}

    assert refused("Cuesta treinta y siete euros con cincuenta.", tickets) == []
    assert refused("Cuesta treinta y siete euros con sesenta.", tickets) != []


def test_what_the_user_pays_may_be_repeated_where_no_result_has_a_price() -> None:
    """Beside results with prices it is no evidence of one."""
    meeting = {"title": "Lease renewal", "proposals": [{"start": "2026-11-24T09:00:00+00:00"}]}
    said = "We're at $18,400 a month now and the landlord wants 6 percent more"

    assert refused("From your note, you now pay $18,400 a month.", meeting, said=said) == []
    assert refused("From your note, you now pay $14,800 a month.", meeting, said=said) == ["$14,800"]
    assert refused("The flat costs $18,400 a month.", meeting, {"price": 900, "currency": "USD"}, said=said) != []
