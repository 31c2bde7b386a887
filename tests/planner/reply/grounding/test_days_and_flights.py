"""Days by their number alone, and flights by theirs, bind the figures beside them."""

import pytest

from tests.planner.reply.grounding.replies import refused

FLIGHTS = {
    "results": [
        {
            "flight_number": "FI670",
            "departs": "2027-04-08T16:55:00Z",
            "price": 84.5,
            "currency": "GBP",
            "duration_min": 430,
        },
        {
            "flight_number": "FI671",
            "departs": "2027-04-13T13:20:00Z",
            "price": 76.2,
            "currency": "GBP",
            "duration_min": 500,
        },
    ]
}
WEATHER = {
    "days": [
        {"date": "2027-05-20", "precipitation_pct": 10, "t_max_c": -1.0},
        {"date": "2027-05-22", "precipitation_pct": 80, "t_max_c": 4.0},
    ]
}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "The flight out on 8 April costs £84.50, and the one home on the 13th is £76.20.",
            "The flight out on 8 April costs £76.20, and the one home on the 13th is £84.50.",
        ),
        (
            "A la ida, el 8 de abril, son 84,50 £; a la vuelta, el 13, son 76,20 £.",
            "A la ida, el 8 de abril, son 76,20 £; a la vuelta, el 13, son 84,50 £.",
        ),
        ("FI671 leaves at 13:20.", "FI670 leaves at 13:20."),
        ("FI671 costs £76.20.", "FI670 costs £76.20."),
        ("FI670 takes 7 hours 10 minutes.", "FI671 takes 7 hours 10 minutes."),
        ("FI670は7時間10分、帰りのFI671は8時間20分です。", "FI670は7時間10分、帰りのFI671は7時間10分です。"),
        ("El FI670 tarda 7 horas con 10 minutos.", "El FI670 tarda 8 horas con 20 minutos."),
    ],
)
def test_flights(right: str, wrong: str) -> None:
    """A price, a time or a length beside a day or a flight number is that of the flight."""
    assert refused(right, FLIGHTS) == []
    assert refused(wrong, FLIGHTS) != []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("On the 20th it is 10 %, on the 22nd 80 %.", "On the 20th it is 80 %, on the 22nd 10 %."),
        ("ב-20 במאי הסיכוי 10%, ב-22 כבר 80%.", "ב-20 במאי הסיכוי 80%, ב-22 כבר 10%."),
        ("20日の降水確率は10\uff05、22日は80\uff05です。", "20日の降水確率は80\uff05、22日は10\uff05です。"),
        ("The high on the 20th is 30°F (-1°C).", "The high on the 20th is 36°F (-1°C)."),
        ("It reaches 39 °F on 22 May.", "It reaches 49 °F on 22 May."),
    ],
)
def test_weather(right: str, wrong: str) -> None:
    """What the weather is on a day, also in degrees Fahrenheit."""
    assert refused(right, WEATHER) == []
    assert refused(wrong, WEATHER) != []
