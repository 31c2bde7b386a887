"""What a reply says to have been done must have been done, by a tool of the turn or before it."""

from functools import partial

import pytest

from tests.planner.reply.grounding.replies import refused

BOOKING = {"reservation_id": "M05KNL", "payment_history": [{"amount": 140}], "flights": [{"from": "ATL", "to": "PHL"}]}
read_only = partial(refused, deeds=frozenset())


@pytest.mark.parametrize(
    "reply",
    [
        "I have retrieved your reservation.",
        "We've accessed the booking and verified the dates.",
        "Ich habe die Daten abgerufen.",
        "J'ai récupéré votre réservation.",
        "He localizado su reserva.",
        "You are confirmed as a silver member.",
    ],
)
def test_what_is_done_for_the_reply_may_be_said(reply: str) -> None:
    """Looking something up is no deed, in any language."""
    assert read_only(reply, BOOKING) == []


@pytest.mark.parametrize(
    "reply",
    [
        "It was booked more than 24 hours ago and was paid with a gift card.",
        "You are currently booked in business class.",
        "It depends on whether insurance was purchased.",
        "Your reservation is scheduled for later.",
    ],
)
def test_a_record_tells_what_was_done_before(reply: str) -> None:
    """A reservation that a tool only reads has been booked and paid some time ago."""
    assert read_only(reply, BOOKING) == []


@pytest.mark.parametrize(
    "reply",
    [
        "I've held the seats until tonight.",
        "David has accepted the slot.",
        "I've let the desk know.",
        "I have booked it.",
        "It has been booked.",
        "Your payment has been charged.",
        "I have retrieved and cancelled it.",
    ],
)
def test_a_record_is_no_deed_of_this_turn(reply: str) -> None:
    """Nothing was booked, paid or cancelled by reading."""
    assert read_only(reply, BOOKING)


@pytest.mark.parametrize("reply", ["It was booked.", "It was paid.", "You are booked in business class."])
def test_without_a_record_nothing_was_done_before(reply: str) -> None:
    """A price and a date do not show that somebody has booked."""
    assert read_only(reply, {"price": 140, "date": "2026-12-05"})


def test_every_deed_of_a_clause_must_be_done() -> None:
    """A tool that confirms has ordered nothing."""
    confirmed = partial(refused, deeds=frozenset({"confirmed"}))

    assert confirmed("I've confirmed the half hour with David.", BOOKING) == []
    assert confirmed("I've confirmed the half hour with David and ordered lunch.", BOOKING) != []


@pytest.mark.parametrize(
    "reply",
    [
        "If you're out, don't worry: I've moved the delivery.",
        "If you're out, don't worry, I've moved the delivery.",
        "You can try it for 14 days. I've started a trial for you.",
        "It's booked for you.",
        "Je vous ai déjà réservé la chambre.",
        "שמרתי לכם שני מקומות.",
        "残念ながら満席のため、ご利用いただけません。次の便を予約しました。",
    ],
)
def test_what_no_tool_did_may_not_be_said(reply: str) -> None:
    """Not behind a condition either, which it does not depend on, nor behind a sentence that denies something."""
    assert refused(reply, {"trial_days": 14}, deeds=frozenset()) != []
    assert refused(reply, {"trial_days": 14}) == []


@pytest.mark.parametrize(
    "more",
    [
        "I've booked a meeting room as well.",
        "I've also ordered lunch.",
        "Ich habe auch einen Tisch bestellt.",
        "También le he reservado el aparcamiento.",
    ],
)
def test_what_was_done_as_well_is_a_second_thing(more: str) -> None:
    """One call that did something has not done two things."""
    assert refused(f"Your table is booked. {more}", {"table": 4}) != []
    assert refused(f"Your table is booked. {more}", {"table": 4}, {"room": 7}) == []


def test_one_call_may_do_several_things() -> None:
    """Its tool says which. What it does not say was not done as well."""
    deeds = frozenset({"confirmed", "sent"})

    assert refused("The meeting is confirmed. I've also sent the invitations.", {"meeting": 4}, deeds=deeds) == []
    assert refused("The meeting is confirmed. I've also booked a room.", {"meeting": 4}, deeds=deeds) != []


def test_what_is_scheduled_may_be_called_booked() -> None:
    """Other deeds may not."""
    assert refused("It's booked as a call.", {"title": "call"}, deeds=frozenset({"scheduled"})) == []
    assert refused("It's booked as a call.", {"title": "call"}, deeds=frozenset({"sent"})) != []


@pytest.mark.parametrize(
    "reply",
    [
        "I've provisionally booked the Garden Room for you.",
        "Ich habe die Almstube vorläufig für Sie reserviert.",
        "La chambre est réservée à titre provisoire.",
    ],
)
def test_what_is_booked_for_the_time_being_is_held(reply: str) -> None:
    """It needs a hold, and a booking is another deed."""
    assert refused(reply, {"hold": 7}, deeds=frozenset({"held"})) == []
    assert refused(reply, {"booking": 7}, deeds=frozenset({"paid"})) != []
