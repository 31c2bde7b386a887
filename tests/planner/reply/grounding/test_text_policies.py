"""What a text of a result says of anything, a reply in the same language does not deny."""

import pytest

from tests.planner.reply.grounding.replies import refused

TERMS = {
    "answers": [
        {"topic": "shuttle", "answer": "The shuttle to the station is free and goes every 30 minutes."},
        {"topic": "helmets", "answer": "Helmets for the scooters are included. A scooter costs EUR 20 a day."},
        {"topic": "tickets", "answer": "A day ticket costs EUR 14 and is not refundable. Strollers are welcome."},
        {"topic": "shop", "answer": "The shop is open from 8:00 to 18:00 and closed on Sundays."},
        {"topic": "tower", "answer": "The tower is open every day except Mondays."},
        {"topic": "access", "answer": "The road to the castle is not lit, so please bring a torch for the way back."},
    ]
}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The shuttle is free.", "The shuttle is payable on board."),
        ("Helmets are included.", "Helmets cost extra."),
        ("Day tickets are not refundable.", "Day tickets are fully refundable."),
        ("Strollers are welcome.", "Strollers are not allowed, I'm afraid; they are forbidden."),
        ("The shop is closed on Sundays.", "On Sundays the shop is open too."),
        ("On Mondays the tower is closed.", "The road to the castle is lit."),
    ],
)
def test_the_opposite_of_what_a_text_says_is_refused(right: str, wrong: str) -> None:
    """The words that both share tell that they speak of one thing."""
    assert refused(right, TERMS) == []
    assert refused(wrong, TERMS) != []


@pytest.mark.parametrize(
    "reply",
    [
        "If the shuttle is not free, I will tell you.",  # a condition
        "Is the shuttle payable on board?",
        "The lift is payable on board.",  # no text speaks of a lift
        "Except on holidays, the shuttle is not free.",
        "If you come late, the shuttle is not free.",
        "I can find out whether day tickets are refundable.",
    ],
)
def test_what_states_nothing_of_it_passes(reply: str) -> None:
    """Conditions, questions, exceptions and offers state nothing; of what no text names, a critic may judge."""
    assert refused(reply, TERMS) == []


def test_what_the_user_has_said_is_no_policy() -> None:
    """A wish denies nothing, and allows nothing."""
    said = "We would like a hotel where parking bicycles in the cellar is free."

    assert refused("Parking bicycles in the cellar is not free.", said=said) == []


def test_one_text_may_say_both() -> None:
    """Dogs are welcome here and not there: a reply may repeat either."""
    dogs = {"answer": "Small dogs are welcome in the garden rooms. Dogs are not permitted in the restaurant."}

    assert refused("Dogs are welcome in the garden rooms.", dogs) == []
    assert refused("Dogs are not permitted in the restaurant.", dogs) == []


OFFERS = {
    "options": [
        {"room_name": "Quay Room", "cancellable": False, "price_total": 412.0, "currency": "EUR"},
        {"room_name": "Bay Suite", "cancellable": True, "price_total": 700.0, "currency": "EUR"},
    ],
    "answers": [
        {"topic": "cancellation", "answer": "Cancellable rates can be cancelled free of charge. Others cannot."},
        {"topic": "breakfast", "answer": "Breakfast is served from 7:00."},
    ],
}
HELD = {"option": {"room_name": "Bay Suite", "cancellable": True, "price_total": 700.0, "currency": "EUR"}}


def test_the_field_of_an_offer_counts_more_than_a_text_or_another_offer() -> None:
    """What a text says of some rates, and what the offer that is held allows, says nothing of this one."""
    assert refused("The Quay Room comes with breakfast. It cannot be cancelled.", OFFERS, HELD) == []
    assert refused("The Quay Room comes with breakfast. Note that this one can be cancelled.", OFFERS, HELD) != []


HOUSE = {
    "answers": [
        {"answer": "The hot tub can be booked in slots of 45 minutes. It is free for guests."},
        {"answer": "Wir holen Sie kostenlos am Anleger ab; bis zum Haus sind es 2,3 km."},
        {"answer": "La piscina abre de 9:00 a 19:00. Los lunes está cerrada."},
    ]
}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("You can soak in the hot tub, and it is free.", "You can soak in the hot tub, and it costs extra."),
        ("The hot tub is yours in the evening. It is free.", "The hot tub is yours in the evening. It costs a fee."),
        ("Wir holen Sie am Anleger gratis ab.", "Wir holen Sie am Anleger gegen eine Gebühr ab."),
        ("Nada más el lunes está cerrada la piscina.", "El lunes está abierta la piscina."),
    ],
)
def test_a_statement_may_go_on_about_the_last_thing(right: str, wrong: str) -> None:
    """In a text of a result as in a reply, and with the words for a charge in several languages."""
    assert refused(right, HOUSE) == []
    assert refused(wrong, HOUSE) != []


MUSEUM = {
    "passage": "I biglietti sono rimborsabili fino a 24 ore prima. Il laboratorio di tessitura costa 45 euro a "
    "persona, dura 3 ore e non è rimborsabile. Tickets can be exchanged up to 24 hours ahead but are not refundable."
}
SHOP = {
    "passage": "Les bons cadeaux sont échangeables mais pas remboursables. La boutique ouvre tous les jours à 10 h."
}


@pytest.mark.parametrize(
    "text",
    [
        "Il laboratorio di tessitura costa 45 euro a persona e non è rimborsabile.",
        "Tickets aren't refundable, but you can exchange them up to 24 hours ahead.",
    ],
)
def test_what_one_thing_is_not_another_may_be(text: str) -> None:
    """That a thing costs something does not deny that it is refunded, and "but not" begins another statement."""
    assert refused(text, MUSEUM) == []


def test_what_is_denied_behind_but() -> None:
    """The opposite of it is refused, and so is that of what is before it."""
    assert refused("Les bons cadeaux sont échangeables, mais pas remboursables.", SHOP) == []
    assert refused("Les bons cadeaux sont remboursables.", SHOP) != []
