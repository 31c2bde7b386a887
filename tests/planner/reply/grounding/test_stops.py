"""Whether a flight is direct, or has a stop, is a policy of that flight."""

import pytest

from tests.planner.reply.grounding.replies import refused

FLIGHTS = {
    "results": [
        {"carrier": "Qantas", "flight_number": "QF120", "price": 184.0, "currency": "EUR", "stops": []},
        {"carrier": "Garuda", "flight_number": "GA718", "price": 231.5, "currency": "EUR", "stops": ["CGK"]},
    ]
}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Qantas QF120 is nonstop.", "Qantas QF120 is a one-stop flight."),
        ("Garuda GA718 has a stop in CGK.", "Garuda GA718 flies without a stop."),
        ("Qantas costs €184; Garuda, with a stop, €231.50.", "Qantas, with a stop, costs €184."),
        (
            "Qantas vuela directo por 184 EUR; con escala, Garuda sale en 231,50 EUR.",
            "Garuda vuela con escala por 231,50 EUR; con escala, Qantas sale en 184 EUR.",
        ),
        ("El de Qantas es directo.", "El de Qantas es con escala."),
        ("Mit Garuda gibt es einen Zwischenstopp.", "Mit Qantas gibt es einen Zwischenstopp."),
        ("O voo da Qantas é sem escalas.", "O voo da Garuda é sem escalas."),
        ("رحلة Qantas دون توقف.", "رحلة Garuda دون توقف."),
        ("Qantasは直行便です。", "Garudaは直行便です。"),
    ],
)
def test_a_flight_has_its_own_stops(right: str, wrong: str) -> None:
    """In the words of any language."""
    assert refused(right, FLIGHTS) == []
    assert refused(wrong, FLIGHTS) != []


@pytest.mark.parametrize("reply", ["Garuda takes twice as long as the nonstop flight.", "Is Garuda direct?"])
def test_what_says_nothing_of_a_flight_passes(reply: str) -> None:
    """ "The nonstop flight" is another one, and a question states nothing."""
    assert refused(reply, FLIGHTS) == []


@pytest.mark.parametrize("direct", [0, []])
def test_a_number_of_stops_says_the_same_as_a_list(direct: object) -> None:
    """None, or one."""
    flights = {"results": [{"carrier": "Qantas", "stops": direct}, {"carrier": "Garuda", "stops": 1}]}

    assert refused("Qantas is nonstop.", flights) == []
    assert refused("Qantas has a stop.", flights) != []
