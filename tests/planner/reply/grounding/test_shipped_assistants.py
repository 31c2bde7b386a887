"""What assistants say of rooms, flights, meetings and documents, as people put it in several languages."""

from typing import Any

import pytest

from tests.planner.reply.grounding.replies import refused

ROOMS = {
    "check_in": "2027-01-15",
    "check_out": "2027-01-19",
    "nights": 4,
    "adults": 2,
    "options": [
        {"room_name": "Harbour Double", "price_total": 548.0, "currency": "GBP", "cancellable": True},
        {"room_name": "Sail Loft", "price_total": 796.0, "currency": "GBP", "cancellable": False},
    ],
    "longer_stays": [{"room_name": "Quay Studio", "nights": 5}],
}
LINK = {
    "url": "https://stay.example.com/b/Rk47mX?room=LFT&src=chat",
    "expires_at": "2026-11-20T11:30:00Z",
    "option": {"room_name": "Sail Loft", "price_total": 796.0, "currency": "GBP"},
}
HOUSE = {
    "answers": [
        {"topic": "pets", "answer": "One dog per room is welcome for 18 GBP a night."},
        {"topic": "rooms", "answer": "The Harbour Double has 22 square metres, the Sail Loft 38 and the terrace 54."},
        {
            "topic": "spa",
            "answer": "The spa on the roof, with a view of the harbour, costs 40 GBP a month for whoever lives near.",
        },
    ]
}
FLIGHTS = {
    "destination": "Copenhagen",
    "results": [
        {
            "carrier": "SAS",
            "flight_number": "SK538",
            "departs": "2027-03-04T10:25:00+00:00",
            "arrives": "2027-03-04T13:40:00+01:00",
            "duration_min": 135,
            "price": 124.0,
            "currency": "EUR",
        },
        {
            "carrier": "Copenhagen Air",
            "flight_number": "CA110",
            "departs": "2027-03-04T18:50:00+00:00",
            "arrives": "2027-03-04T22:00:00+01:00",
            "duration_min": 130,
            "price": 87.0,
            "currency": "EUR",
        },
    ],
}
REPORT = {
    "passage": "The plant served 2,318,400 households in 2025, up from 2,190,600 in 2024. Sales were EUR 7.13 million, "
    "after EUR 6.2 million. Adults pay EUR 12, children EUR 4.50. It employs 84 people, 25 percent of them in summer."
}
INN = {"options": [{"room_name": "和室「楓」", "price_total": 57200.0, "currency": "JPY"}], "nights": 2}


@pytest.mark.parametrize(
    ("reply", "results", "said"),
    [
        ("With the dog at £18 a night you pay £868 altogether for the Sail Loft.", [ROOMS, HOUSE], ""),
        ("The Sail Loft has 38 square metres, the Harbour Double 22.", [ROOMS, HOUSE], ""),
        ("The Harbour Double is £548, which is about 61% of your budget.", [ROOMS], "At most 900 GBP."),
        ("SK538 takes 2 hours 15 minutes.", [FLIGHTS], ""),
        ("SK538 lands in Copenhagen at 13:40.", [FLIGHTS], ""),
        ("SK538 costs €124, against €87 with Copenhagen Air.", [FLIGHTS], ""),
        ("That is 127,800 more households than in 2024.", [REPORT], ""),
        ("Sales rose by 15 percent, by about 0.9 million euros.", [REPORT], ""),
        ("Of the 84 people, 21 work there in summer.", [REPORT], ""),
        ("For two adults and three children that is €37.50.", [REPORT], "We are 2 adults and 3 children."),
        ("For the three of you that is €28.50.", [REPORT], "My wife, our son and I would like to come."),
        ("Members rate it 4.6 out of 5.", [{"text": "Members rate the place 4.6 out of 5 in a yearly survey."}], ""),
        ("2泊で合計57,200円です。", [INN], ""),
        ("五万七千二百円です。", [INN], ""),
        ("I'm here if you need anything else, in 2027 too.", [ROOMS], ""),
    ],
)
def test_what_follows_from_results_may_be_said(reply: str, results: list[dict[str, Any]], said: str) -> None:
    """Nights, shares of a budget, two years of a report, fares of a group, and the clock of where a flight lands."""
    assert refused(reply, *results, said=said) == []


@pytest.mark.parametrize(
    ("reply", "results"),
    [
        ("The Harbour Double costs £796 in total.", [ROOMS, LINK]),
        ("The Sail Loft is £199 for the whole stay.", [ROOMS]),
        ("The Sail Loft is £3,184 a night.", [ROOMS]),
        ("The spa costs £40 a year.", [ROOMS, HOUSE]),
        ("SK538 leaves at 10:25 and lands at 13:40, so you are in the air for 3 hours 15 minutes.", [FLIGHTS]),
        ("You fly on Thursday and come back on Monday the sixteenth.", [FLIGHTS]),
        ("Members get a discount on every room.", [ROOMS]),
        ("For the three of you that is €26.50.", [REPORT]),
        ("Members rate it 4.3 out of 5.", [{"text": "Members rate the place 4.6 out of 5 in a yearly survey."}]),
        ("2泊で57,200ドルです。", [INN]),
        ("1泊57,200円です。", [INN]),
        ("予約しておきました。", [INN]),
    ],
)
def test_what_results_have_of_something_else_is_refused(reply: str, results: list[dict[str, Any]]) -> None:
    """Another room's price, a night's for the stay, clocks of two zones, a promise that no result makes."""
    assert refused(reply, *results, deeds=frozenset()) != []


@pytest.mark.parametrize(
    ("reply", "is_right"),
    [
        ("詳しくはhttps://stay.example.com/b/Rk47mX?room=LFT&src=chatをご覧ください。", True),
        ("詳しくはhttps://evil.example.com/b/Rk47mXをご覧ください。", False),
        ("Please pay at https://pay.example.org/b/Rk47mX?src=chat", False),
        ('<a href="https://evil.example.org">pay</a>', False),
    ],
)
def test_a_link_needs_its_source_wherever_it_stands(reply: str, *, is_right: bool) -> None:
    """It stands in Japanese without a blank before it, and `src=` within it makes it no picture."""
    assert (refused(reply, LINK) == []) is is_right


@pytest.mark.parametrize(
    "text",
    [
        "سعرها ألف وثلاثمئة وثمانين درهمًا",
        "سعرها ١٬٣٨٠ درهم",  # noqa: RUF001 - Arabic's digits
        "سعرها 1,380 درهمًا",
        "سعرها ١٣٨٠٫٠٠ درهم",  # noqa: RUF001 - Arabic's digits
    ],
)
def test_arabic_amounts_are_read(text: str) -> None:
    """Numbers in words, Arabic's own marks, and a currency with its ending."""
    assert refused(text, {"price": 1380, "currency": "AED"}) == []
    assert refused(text, {"price": 1480, "currency": "AED"}) != []


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("It starts at ten past six in the morning.", "06:10"),
        ("It starts at ten to six in the morning.", "05:50"),
        ("It ends at quarter past midnight.", "00:15"),
        ("It ends 25 minutes before noon.", "11:35"),
        ("Open from 1 to 2 pm.", "13:00"),
        ("Comienza a las siete menos cuarto.", "06:45"),
        ("Il commence à sept heures et demie.", "07:30"),
        ("Il va de quatorze heures à quinze heures trente.", "15:30"),
        ("Es beginnt zehn nach sechs.", "06:10"),
        ("يبدأ في التاسعة والنصف صباحًا.", "09:30"),
        ("夜9時に閉まります。", "21:00"),
    ],
)
def test_times_in_words_need_their_source(text: str, time: str) -> None:
    """They are read as the clock shows them."""
    others = [{"at": "14:00"}, {"at": "02:00"}]

    assert refused(text, {"at": time}, *others) == []
    assert refused(text, {"at": "17:20"}, *others) != []


@pytest.mark.parametrize(
    "reply", ["If breakfast is not included, it costs 15 GBP.", "朝食が含まれない場合は、15 GBPです。"]
)
def test_a_condition_denies_nothing(reply: str) -> None:
    """It says what holds otherwise, before it or behind it."""
    assert refused(reply, {"breakfast_included": True, "otherwise": "15 GBP"}) == []


def test_an_area_is_no_length() -> None:
    """Square metres are not compared with the metres to the beach."""
    room = {"area_sqm": 41, "metres_to_beach": 200}

    assert refused("It has 41 m² and is 200 m from the beach.", room) == []
    assert refused("It has 41 square metres.", room) == []
    assert refused("It has 44 m².", room) != []
