"""Results of tools that declare nothing: JSON in texts, fields in any language, records of the user."""

from datetime import UTC, datetime

import pytest

from tests.planner.reply.grounding.replies import refused
from turnloom.planner.reply.grounding import Evidence, ResultOrigin, check

NOW = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
PROFILE = {
    "name": {"first_name": "Yusuf", "last_name": "Li"},
    "address": {"street": "909 Spruce Street", "city": "Los Angeles", "zip": "91148"},
    "email": "yusuf.li@example.com",
    "orders": ["#W6750959"],
}
ORDER = {"order_id": "#W6750959", "address": {"street": "476 Maple Drive", "zip": "10093"}}


@pytest.mark.parametrize("said", ["I am Yusuf Li, zip code 91148.", "My e-mail is yusuf.li@example.com"])
def test_what_a_record_of_the_user_holds_may_be_said(said: str) -> None:
    """A record that has what the user has said of itself is the user's, and so is what it refers to."""
    assert refused("It goes to 909 Spruce Street.", PROFILE, said=said) == []
    assert refused("It goes to 476 Maple Drive, 10093.", PROFILE, ORDER, said=said) == []


@pytest.mark.parametrize("said", ["Is Yusuf Li your customer?", "Write to yusuf.li@example.com please", ""])
def test_what_a_record_of_somebody_else_holds_may_not(said: str) -> None:
    """A name, or an address that is not said in the first person, makes no record the user's."""
    assert "909 Spruce Street" in refused("It goes to 909 Spruce Street.", PROFILE, said=said)


def test_a_tool_s_redacted_field_stays_secret_in_an_own_record() -> None:
    """What a tool redacts is never said, whoever it is about."""
    evidence = Evidence(NOW)
    evidence.add_said("My e-mail is yusuf.li@example.com", "message")
    evidence.add_result(PROFILE, ResultOrigin("s", redact=frozenset({"street"})))

    assert check("909 Spruce Street", evidence).violations


def test_a_text_that_is_json_is_read_as_what_it_holds() -> None:
    """Many tools return their result as one text."""
    result = '[{"flight": "HAT136", "price": 152}, {"flight": "HAT039", "price": 169}]'

    assert refused("HAT136 costs $152.", result) == []
    assert refused("HAT136 costs $169.", result) == ["$169"]
    assert refused("HAT136 costs $162.", "[" * 400 + "]" * 400, result) == ["$162"]


def test_a_number_with_a_decimal_comma_is_a_number() -> None:
    """Half of Europe writes prices so, also in results."""
    menu = {"devise": "EUR", "plats": [{"nom": "Soupe", "prix": "6,90"}, {"nom": "Menu", "prix": "1.213,50"}]}

    assert refused("La soupe coûte 6,90 €. Le menu coûte 1.213,50 €.", menu) == []
    assert refused("La soupe coûte 6,80 €.", menu) == ["6,80 €"]


def test_a_field_s_unit_is_that_of_its_parts() -> None:
    """A total within a length is a length; an area is in square kilometres; a probability is in per cent."""
    lake = {"shore_length_km": {"total": 273}, "area_km2": 536, "precip_prob": 90}

    assert refused("The shore is 273 km long, the lake covers 536 km², and the chance of rain is 90%.", lake) == []
    assert "283 km" in refused("The shore is 283 km long.", lake)
    assert refused("The chance of rain is 80%.", lake) == ["80%"]


def test_what_is_available_may_be_an_amount() -> None:
    """Seats that are available are whole; with cents it is money."""
    account = {"currency": "USD", "balance": "2184.37", "available": "2034.37"}

    assert refused("Of $2,184.37, $2,034.37 is available.", account) == []
    assert refused("Of $2,184.37, $2,134.37 is available.", account) == ["$2,134.37"]


@pytest.mark.parametrize("field", ["preis_pro_nacht", "menu", "monthly", "precio_mes", "gesamtpreis", "prix"])
def test_a_number_beside_a_currency_may_be_an_amount(field: str) -> None:
    """What no field of a known kind has may be money if the result names a currency."""
    result = {"rows": [{field: 88.5, "sterne": 4}], "currency": "EUR"}

    assert refused("It costs 88,50 €.", result) == []
    assert refused("It costs $88.50.", result) == ["$88.50"]
    assert refused("It costs €4.", result) == ["€4"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("a heart rate of 74", "a heart rate of 84"),
        ("There are 2 passengers.", "There are 3 passengers."),
        ("Bags: 6", "Bags: 5"),
    ],
)
def test_a_small_number_may_not_contradict_the_field_that_it_is_labelled_with(right: str, wrong: str) -> None:
    """A number beside the name of a field is one of the field's, or found elsewhere."""
    result = {"heart_rate": 74, "passengers": [{"age": 41}, {"age": 9}], "bags": 6}

    assert refused(right, result) == []
    assert refused(wrong, result) != []


def test_a_sentence_may_end_with_an_amount() -> None:
    """If a wrong price ends a sentence, the next sentence is judged by itself."""
    result = {"rooms": [{"name": "Garden Room", "price": 90}, {"name": "Sea Suite", "price": 120}]}

    assert refused("The Garden Room costs $90. The Sea Suite costs $120.", result) == []
    assert refused("The Garden Room costs $120. The Sea Suite costs $120.", result) == ["$120"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Return it within 30 days, until December 6.", "Return it within 30 days, until December 16."),
        ("With 15% off $200 you pay $170.", "With 15% off $200 you pay $160."),
        ("A fifth of the $200 is $40.", "A fifth of the $200 is $60."),
        ("You come on Friday the 6th.", "You come on Friday the 13th."),
    ],
)
def test_arithmetic_of_days_and_shares_is_a_source(right: str, wrong: str) -> None:
    """Days after a date, percentages and fractions follow from what is known."""
    result = {"delivered_on": "2026-11-06", "return_days": 30, "price": 200, "discount": "15 %"}

    assert refused(right, result) == []
    assert refused(wrong, result) != []


def test_today_is_no_other_day() -> None:
    """Today's date may be said as today's, not as that of something else."""
    assert refused("Today is 20 November.", {"due": "2026-11-30"}) == []
    assert refused("Please pay by 20 November.", {"due": "2026-11-30"}) == ["20 November"]


def test_an_amount_of_a_month_is_not_one_of_a_year() -> None:
    """The name of a field says what its amount is for. A night is a day."""
    insurance = {"monthly_premium": 18.9, "parking_per_night": 16, "currency": "EUR"}

    assert refused("It is €18.90 a month, and parking is €16 a day.", insurance) == []
    assert refused("It is €18.90 a year.", insurance) == ["€18.90"]


def test_a_figure_belongs_to_the_day_that_its_sentence_names() -> None:
    """A day names what happens then, as a name does."""
    weather = {"days": [{"date": "2026-12-05", "rain_pct": 75}, {"date": "2026-12-06", "rain_pct": 30}]}

    assert refused("On Saturday rain is likely (75%).", weather) == []
    assert refused("On Sunday rain is likely (75%).", weather) == ["75%"]


STAY = {"check_in": "2026-11-25", "opens": "2026-11-28", "low_c": 2.7, "high_c": 11.4}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("It's five days from today.", "It's six days from today."),
        ("It begins on 25 November, five days away.", "It begins on 25 November, seven days away."),
        ("Between 2.7 and 11.4 °C.", "Between 7.2 and 11.4 °C."),
        ("It opens on Saturday the 28th as planned.", "It opens on Friday the 28th as planned."),
        ("It opens on 28 November 2026, a Saturday.", "It opens on 28 November 2026, a Sunday."),
        ("You can cancel until the day before, 24 November.", "You can cancel until two days before, 24 November."),
    ],
)
def test_days_and_ranges(right: str, wrong: str) -> None:
    """Both ends of a range have its unit. Today is a known day. A weekday behind a date must be right."""
    assert refused(right, STAY) == []
    assert refused(wrong, STAY)


def test_coins_are_hundredths() -> None:
    """In "seventy cents" nothing is a hundred, unlike in "sept cents"."""
    assert refused("That is twenty-five euros and forty cents.", {"currency": "EUR", "fare": 25.4}) == []
    assert refused("Cela fait sept cents euros.", {"currency": "EUR", "prix": 700}) == []
    assert refused("That is twenty-five euros and fifty cents.", {"currency": "EUR", "fare": 25.4})


@pytest.mark.parametrize("reply", ["It ends two days later, on 3 May.", "You can cancel until the day before, 3 May."])
def test_the_calendar_has_an_end(reply: str) -> None:
    """9999-12-31 often stands for "never". No day is sought after it."""
    assert refused(reply, {"from": "0001-01-01", "until": "9999-12-31"}) == ["3 May"]
