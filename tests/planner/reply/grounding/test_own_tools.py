"""Right replies over the results of a business's own tools pass, and altered ones do not."""

import pytest

from tests.planner.reply.grounding.replies import refused

NOTHING_DONE: frozenset[str] = frozenset()
PLANS = {
    "currency": "USD",
    "plans": {
        "team": {"monthly": 12, "max_users": 50, "sso": False, "gluten_free": True},
        "business": {"monthly": 21, "max_users": 500, "sso": True, "gluten_free": False},
    },
}
COURSES = {"courses": [{"name": "Pilates", "spots": 14, "booked": 11}, {"name": "Boxing", "spots": 16, "booked": 6}]}
BANK = {"amounts_in": "pence", "currency": "GBP", "account": {"available": 184237, "booked": 190737}}
STAY = {"rooms": [{"name": "Golf Loft", "total": 193, "currency": "EUR"}, {"name": "Sea Loft", "total": 260}]}


@pytest.mark.parametrize(
    ("right", "altered", "result"),
    [
        ("Team costs $12 and Business $21.", "Team costs $21 and Business $21.", PLANS),
        ("Team is for up to 50 users.", "Team is for up to 500 users.", PLANS),
        (
            "| | Team | Business |\n|---|---|---|\n| Monthly | $12 | $21 |",
            "| | Team | Business |\n| Monthly | $21 | $12 |",
            PLANS,
        ),
        ("Team is gluten-free.", "Team is not gluten-free.", PLANS),
        ("Business has gluten.", "Business has no gluten.", PLANS),
        ("Team has no SSO.", "Team has SSO.", PLANS),
        ("Pilates has three spots left, Boxing ten.", "Pilates has five spots left, Boxing ten.", COURSES),
        ("I found two courses.", "I found three courses.", COURSES),
        ("You have £1,842.37 available.", "You have £1,482.37 available.", BANK),
        ("The Golf Loft is nice. It costs €193.", "The Golf Loft is nice. It costs €260.", STAY),
        ("Your order comes to €193.", "Your order comes to $193.", STAY),
    ],
)
def test_a_right_reply_passes_and_an_altered_one_does_not(right: str, altered: str, result: object) -> None:
    """Keys of an object tell things apart, a capacity has a rest, and a field may say what is not there."""
    found = [bool(refused(text, result, deeds=NOTHING_DONE)) for text in (right, altered)]

    assert found == [False, True]


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        ("Your parcel has the number RR473124829DE.", {"tracking": "RR473124829DE"}),
        ("Ihr Termin ist bestätigt.", {"status": "bestaetigt"}),
        ("The second one is six weeks later, on 14 January.", {"dates": ["2026-12-03", "2027-01-14"], "room": 4}),
        ("Hay un menú de mediodía por 16,90 €.", {"menu_mediodia": 16.9, "moneda": "EUR"}),
        ("It is non-refundable, but it can be transferred.", {"refundable": False, "transferable": True}),
        ("It includes breakfast and can't be cancelled.", {"breakfast_included": True, "cancellable": False}),
        ("Reserve at +34 910 555 018.", {"train": "LX 520", "booking_phone": "+34 910 555 018"}),
        ("Reserve at +34 910 555 018.", {"passengers": 3, "booking_phone": "+34 910 555 018"}),
        ("Two seats come to €296 in total.", {"price_per_person": 148, "currency": "EUR", "seats": 9}),
        ("Day 1 - 10 December: the shrine.", {"days": [{"date": "2026-12-10"}]}),
        ("Yoghurts are 85 cents.", {"yoghurt": {"price": 0.85, "currency": "EUR"}}),
        ("Le dimanche, on ouvre à 9h30.", {"samedi_dimanche": "9h30-19h"}),
        ("Of the £2,400 you pay £150.", {"excess": 150, "currency": "GBP"}),
        ("Surgery is covered up to £5,000.", {"surgery": {"limit": 5000}, "currency": "GBP"}),
        ("**Berlin → München, 4.12.**", {"date": "2026-12-04", "from": "Berlin", "to": "München"}),
        ("It will be done in four days.", {"ready_on": "2026-11-24", "loan_per_day": 12.5}),
        ("Three hours of parking come to €8.40.", {"parking_hour": 2.8, "currency": "EUR", "walk_minutes": 6}),
    ],
)
def test_a_turn_of_phrase_is_no_reason_to_refuse(reply: str, result: object) -> None:
    """Each of these is right, and was refused once."""
    assert refused(reply, result, said="We can spend £2,400, for 2 people.") == []


@pytest.mark.parametrize(
    "reply",
    [
        "I've moved it to Monday; is that fine?",
        "J'ai réservé deux places ; ça va ?",
        "Ich habe Ihnen eines gebucht, möchten Sie die Bestätigung sehen?",
    ],
)
def test_what_a_result_says_was_done_does_not_tell_that_we_did_more(reply: str) -> None:
    """A call that only reads has done nothing, and a question behind a statement does not make it one."""
    assert refused(reply, {"status": "delivered", "booked": 14}, deeds=NOTHING_DONE)


def test_a_booking_phone_beside_a_person_stays_private() -> None:
    """A field such as `booking_phone` is a business's only where its object has no person."""
    assert refused("Call +34 910 555 018.", {"booking_phone": "+34 910 555 018", "passenger_name": "Ana Ruiz"})
    assert refused("Call +34 910 555 018.", {"booking_phone": "+34 910 555 018", "passenger": 884120})
