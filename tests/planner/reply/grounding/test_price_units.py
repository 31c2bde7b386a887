"""What an amount is for: by the words behind it, by those it stands between, and by what it was divided by."""

from typing import Any

import pytest

from tests.planner.reply.grounding.replies import refused

HOUSE = {
    "answers": [
        {
            "topic": "transfer",
            "answer": "The transfer from the airport costs 32 EUR per car each way and takes 25 minutes.",
        },
        {
            "topic": "dinner",
            "answer": "Dinner is served at seven in the evening and costs 58 EUR per person, on all days.",
        },
        {"topic": "dogs", "answer": "Dogs up to twelve kilos are welcome in some of the rooms for 30 EUR per stay."},
    ]
}
PLANS = {
    "text": "Starter costs 9 EUR per user a month, Team 17.50 EUR per user a month and Studio 31 EUR per user a month. "
    "An Off-Peak Return costs 17.40 EUR for adults and 8.70 EUR for children from 5 to 15 years."
}
ROOM = {
    "nights": 7,
    "adults": 2,
    "children": 1,
    "options": [{"room_name": "Dune", "price_total": 1585.5, "currency": "EUR"}],
}


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        ("The transfer is €32 per car each way.", HOUSE),
        ("The transfer is €32 each way for the car.", HOUSE),
        ("Dinner is €58 a head.", HOUSE),
        ("Das Abendessen kostet 58 € pro Person, für drei Personen 174 €.", HOUSE),
        ("Das Abendessen kostet 58 €, für drei Personen 174 €.", HOUSE),
        ("Kolacja kosztuje 58 € za osobę.", HOUSE),
        ("A dog costs €30 for the stay.", HOUSE),
        ("Starter is €9, Team €17.50 and Studio €31, each per user and month.", PLANS),
        ("Children pay €8.70 on an Off-Peak Return, adults €17.40.", PLANS),
        ("That is €226.50 a night.", ROOM),
        ("That is €528.50 per person.", ROOM),
        ("That is €113.25 for each of the two adults a night.", ROOM),
    ],
)
def test_an_amount_is_told_for_what_it_is(reply: str, result: dict[str, Any]) -> None:
    """In the words of the result or in others, and computed for each person and night."""
    assert refused(reply, result) == []


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        ("The transfer is €32 per person each way.", HOUSE),
        ("The transfer is €32 per car for the return trip.", HOUSE),
        ("Dinner is €58 for all of you.", HOUSE),
        ("La cena cuesta 58 € por pareja.", HOUSE),
        ("Dinner is €58 for the three of you.", HOUSE),
        ("Le dîner coûte 58 € pour toute la famille.", HOUSE),
        ("Le dîner coûte 58 € pour deux, et le spa est gratuit.", HOUSE),
        ("Das Abendessen kostet 58 € für drei Personen.", HOUSE),
        ("La cena cuesta 58 € por familia.", HOUSE),
        ("Het diner kost 58 € voor jullie drie samen.", HOUSE),
        ("La cena costa 58 € per tutta la famiglia.", HOUSE),
        ("Kolacja kosztuje 58 € za całą rodzinę.", HOUSE),
        ("سعر العشاء 58 يورو للأسرة كلها.", HOUSE),
        ("A dog costs €30 a night.", HOUSE),
        ("Studio is €9 a month.", PLANS),
        ("Starter is €9 a year.", PLANS),
        ("An Off-Peak Return is €8.70 for adults.", PLANS),
        ("That is €226.50 per person.", ROOM),
        ("That is €226.50 per person and night.", ROOM),
        ("That is €528.50 a night.", ROOM),
    ],
)
def test_an_amount_is_not_told_for_something_else(reply: str, result: dict[str, Any]) -> None:
    """Another payer, way, time or thing; a night's share for each person's, and the reverse."""
    assert refused(reply, result) != []


def test_percentages_belong_to_what_the_sentence_names() -> None:
    """A deposit's percentage is computed where the deposit is told, and not with any other amount."""
    given = [{"price": 318, "currency": "EUR"}, {"answer": "A deposit of 15 percent is due when the room is booked."}]

    assert refused("The deposit comes to €47.70.", *given) == []
    assert refused("The towels come to €47.70.", *given) != []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Sales grew by about 9 percent.", "Sales grew by about 19 percent."),
        ("That is roughly 14 percent more bikes.", "That is roughly 18 percent more bikes."),
    ],
)
def test_growth_compares_what_the_report_compares(right: str, wrong: str) -> None:
    """Two numbers that follow each other in a text, whatever else stands there."""
    report = {
        "passage": "Sales came to 296.5 million EUR, up from 271.8 million EUR; it sold 184,600 bikes in 2025, up from "
        "162,300 in 2024. It has 640 people in 23 shops, 9,350 members and 418 partners."
    }

    assert refused(right, report) == []
    assert refused(wrong, report) != []


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("The villa is two lakh twelve thousand five hundred rupees.", {"price": 212500, "currency": "INR"}),
        ("The villa is just over ₹2.1 lakh.", {"price": 212500, "currency": "INR"}),
        ("Son un millón ciento treinta y nueve mil pesos.", {"price": 1139000, "currency": "CLP"}),
        ("I ricavi sono cinque milioni e mezzo di euro.", {"revenue": 5500000, "currency": "EUR"}),
        ("The room is R2 850 a night.", {"price_per_night": 2850, "currency": "ZAR"}),
        ("الغرفة بأقل قليلًا من 500 ريال.", {"price": 486, "currency": "OMR"}),
    ],
)
def test_amounts_as_they_are_written_elsewhere(text: str, result: dict[str, Any]) -> None:
    """In lakh, in millions and a half, in rand with a blank, rounded in Arabic."""
    assert refused(text, result) == []
    assert refused(text, result | {next(iter(result)): 777}) != []


def test_the_words_right_behind_an_amount_count_before_those_around_it() -> None:
    """The years of a child beside a price make it no yearly one."""
    cot = {
        "answers": [{"answer": "O berço é gratuito para bebês de até 2 anos. Uma cama extra custa R$ 95 por noite."}]
    }

    assert refused("Uma cama extra sairia por R$ 95 por noite.", cot) == []
    assert refused("Uma cama extra sairia por R$ 95 por mês.", cot) != []


def test_what_all_pay_is_not_what_each_pays() -> None:
    """A price a trip, or a day, is for everybody: it is no price of a person."""
    trips = {"answers": [{"answer": "El traslado cuesta 32 EUR por viaje, para hasta 4 personas, y dura 25 minutos."}]}

    assert refused("El traslado cuesta 32 € por viaje.", trips) == []
    assert refused("El traslado cuesta 32 € por persona.", trips) != []
    assert refused("المبلغ نحو ٣٬٦٠٠ ريال.", {"price": 3620, "currency": "SAR"}) == []
