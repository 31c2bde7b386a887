"""The weather of a day is that of the day, and its warmest day is the warmest."""

import pytest

from tests.planner.reply.grounding.replies import refused

FORECAST = {
    "city": "Oslo",
    "days": [
        {"date": "2026-12-04", "summary": "sunny, forecast", "t_min_c": -7.0, "t_max_c": 2.0, "precipitation_pct": 5},
        {"date": "2026-12-05", "summary": "heavy snow", "t_min_c": -3.5, "t_max_c": 1.0, "precipitation_pct": 90},
        {"date": "2026-12-06", "summary": "partly cloudy", "t_min_c": -5.0, "t_max_c": 3.0, "precipitation_pct": 20},
    ],
}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("On Friday, 4 December, it is sunny.", "On Friday, 4 December, it is rainy."),
        ("Snow is forecast for 5 December.", "Snow is forecast for 4 December."),
        ("Am 5. Dezember schneit es: viel Schnee.", "Am 4. Dezember schneit es: viel Schnee."),
        ("El 4 de diciembre hace sol.", "El 5 de diciembre hace sol."),
        ("12月5日は雪の予報です。", "12月6日は雪の予報です。"),
        ("4 December brings sun; 5 December brings snow.", "4 December brings snow; 5 December brings sun."),
        ("On 6 December you get a bit of sun between the clouds.", "On 6 December you get a lot of snow."),
        ("The wettest day is 5 December.", "The wettest day is 6 December."),
        ("The coldest day is Friday, 4 December.", "The coldest day is Saturday, 5 December."),
        ("Der wärmste Tag ist der 6. Dezember.", "Der wärmste Tag ist der 4. Dezember."),
    ],
)
def test_a_day_has_its_own_weather(right: str, wrong: str) -> None:
    """In the words of any language."""
    assert refused(right, FORECAST) == []
    assert refused(wrong, FORECAST) != []


@pytest.mark.parametrize(
    "reply",
    [
        "On 4 December the chance of rain is 5 %.",
        "On 4 December you get no snow at all.",
        "Will there be snow on 4 December?",
        "From 4 to 6 December you get sun and snow.",
        "On Sun 6 Dec it is cloudy.",
        "On 5 December it is -3.5 °C at the coldest, with snow.",
    ],
)
def test_what_says_nothing_of_the_sky_of_a_day_passes(reply: str) -> None:
    """A chance, what there is not, a question, several days together, and the short form of Sunday."""
    assert refused(reply, FORECAST) == []
