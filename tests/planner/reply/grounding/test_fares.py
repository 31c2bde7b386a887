"""What a party pays by the fares for adults and children of a longer text."""

import pytest

from tests.planner.reply.grounding.replies import refused

TOUR = {
    "passage": "The tour costs EUR 18 for adults, EUR 9.50 for ages 6 to 12 and EUR 13 for ages 13 to 17. Tours last "
    "90 minutes. Parking costs EUR 7 a day. A private tour costs EUR 145 per group and is not refundable."
}
PARTY = {"adults": 2, "children": 2, "nights": 3}
ROOM = {
    "options": [
        {"room_name": "Tilleul", "price_total": 398, "currency": "EUR"},
        {"room_name": "Verger", "price_total": 520, "currency": "EUR"},
    ],
    "nights": 4,
    "adults": 2,
}
CATS = {
    "answers": [{"question": "Les chats ?", "answer": "Les chats sont admis, avec un supplément de 7 EUR par nuit."}]
}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The tour would be €58.50 for all of you.", "The tour would be €61.50 for all of you."),
        ("Your two adult tickets come to €36 in all.", "Your two adult tickets come to €41 in all."),
        ("For all of you and the car it comes to €62.", "For all of you and the car it comes to €91."),
        (
            "A private tour is €145. With single tickets you pay €86.50 less.",
            "A private tour is €145. With single tickets you pay €84.50 less.",
        ),
    ],
)
def test_a_party(right: str, wrong: str) -> None:
    """Two adults and two children pay 2 * 18 + 9.50 + 13, or twice one of them."""
    assert refused(right, TOUR, PARTY) == []
    assert refused(wrong, TOUR, PARTY) != []


@pytest.mark.parametrize(
    "passage",
    [
        "سعر الزيارة 90 EUR للكبار و40 EUR للأطفال من 6 إلى 12 سنة، والدخول مجاني لمن هم دون 6 سنوات.",
        "הסיור עולה 90 EUR למבוגר, 40 EUR לילד, והוא נמשך שעה ועשרים דקות בכל יום חול.",
        "Der Eintritt kostet 90 EUR für Erwachsene und 40 EUR für Kinder. Hunde sind nicht erlaubt.",
    ],
)
def test_who_pays_in_languages(passage: str) -> None:
    """The words beside an amount tell who pays it."""
    assert refused("That makes €220 in all.", {"passage": passage}, {"adults": 2, "children": 1}) == []
    assert refused("That makes €240 in all.", {"passage": passage}, {"adults": 2, "children": 1}) != []


def test_a_stay_with_what_is_paid_each_night() -> None:
    """The room that was named by its price for a night, and the cat on each of the four nights."""
    text = "La chambre Tilleul revient à 99,50 € par nuit. Avec le supplément pour le chat, le séjour passe à {} €."

    assert refused(text.format(426), ROOM, CATS) == []
    assert refused(text.format(436), ROOM, CATS) != []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "For the four of you it comes to €55: two adults at €18 and two children at €9.50.",
            "For the four of you it comes to €57: two adults at €18 and two children at €9.50.",
        ),
        (
            "Cela fait 45,50 €: deux adultes à 18 € et l'enfant de 11 ans à 9,50 €.",
            "Cela fait 54,50 €: deux adultes à 18 € et l'enfant de 11 ans à 9,50 €.",
        ),
        ("That's for the four of you.", "That's for the eleven of you."),
    ],
)
def test_a_bill_that_is_listed(right: str, wrong: str) -> None:
    """How many pay a fare stands before it, and an age is not how many pay."""
    assert refused(right, TOUR, PARTY) == []
    assert refused(wrong, TOUR, PARTY) != []


def test_a_crowd_takes_no_longer() -> None:
    """Results may say any number of people."""
    crowd = {"adults": 10**9, "children": 10**9, "nights": 10**6}

    assert refused("That makes €58.51 in all for the 400 of you, 300 adults and 100 children.", TOUR, crowd) != []
