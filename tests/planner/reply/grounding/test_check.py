"""No figure passes without a source. Figures are traced, refused or withheld."""

import random
import time
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planner.reply.grounding.replies import LINK, NOW, altered_reply, evidence, reply
from turnloom.planner.reply.grounding import Evidence, ResultOrigin, check

EVIDENCE = evidence()


def _known(result: Any, *, said: Any = None, **origin: Any) -> Evidence:
    known = Evidence(NOW)
    known.add_result(result, ResultOrigin("s", **origin))
    known.add_said(said, "user")
    return known


def _traced(text: str, known: Evidence = EVIDENCE) -> list[tuple[str, str, str]]:
    grounding = check(text, known)
    assert grounding.violations == ()
    return [(source.text, source.step, source.path) for source in grounding.sources]


def _refused(text: str, known: Evidence = EVIDENCE) -> list[tuple[str, str]]:
    return [(violation.text, violation.reason) for violation in check(text, known).violations]


def test_each_figure_is_traced_to_step_and_path() -> None:
    """A source names the step and the path of the value in its result."""
    assert _traced(f"The room is ₪937.50, 4-6 December; rain 35%. Until 10:42: {LINK}") == [
        ("₪937.50", "rooms", "options[2].price_total"),
        ("4-6 December", "rooms", "check_in"),
        ("4-6 December", "rooms", "check_out"),
        ("35%", "weather", "days[0].precipitation_pct"),
        ("10:42", "link", "expires_at"),
        (LINK, "link", "url"),
    ]


def test_what_the_user_said_is_not_invented() -> None:
    """A figure of the message, or of the user's profile, has the user as its source."""
    known = Evidence(NOW)
    known.add_said("under 900 ILS, from the 5th of March", "message")
    known.add_said({"budget": {"amount": 1200, "currency": "ILS"}}, "slots")

    assert _traced("Under ₪900 or ₪1,200, from 5 March 2027", known) == [
        ("₪900", "message", "message"),
        ("₪1,200", "message", "slots.budget.amount"),
        ("5 March 2027", "message", "message"),
    ]


def test_today_may_be_said() -> None:
    """The day of the reply needs no source. Any other day does."""
    assert _traced("Today is Friday, 20 November 2026.") == [("20 November 2026", "message", "now")]
    assert _refused("Tomorrow is 21 November.") == [("21 November", "no_source")]


def test_times_of_results_are_told_in_the_users_zone() -> None:
    """A time with its zone may be given in UTC, unchanged, or in the user's zone."""
    known = Evidence(NOW.astimezone(ZoneInfo("Asia/Jerusalem")))
    known.add_result({"expires_at": "2026-11-20T22:42:00Z"}, ResultOrigin("s"))

    assert _refused("It is kept until 00:42 on 21 November (22:42 UTC).", known) == []


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"price": 90, "currency": "EUR"}, "€90"),
        ({"price": "90.00", "currency": "EUR"}, "90 EUR"),
        ({"price_usd": 90}, "$90"),
        ({"price": {"amount": 90, "currency": "EUR"}}, "90 €"),
        ({"currency": "EUR", "options": [{"total": 90}]}, "€90"),
        ({"prices": [80, 90], "currency": "EUR"}, "€90"),
        ({"currency": "EUR", "weekend": 90}, "€90"),
        ({"rows": [["Double", 90, "EUR"]]}, "€90"),
        ({"text": "from 90 EUR a night"}, "€90"),
        ({"EUR": 90}, "€90"),
        ({"rates": {"BB": 90}, "currency": "EUR"}, "€90"),
        ({"price": 90}, "90 per night"),
        ({"price": 90}, "€90"),
        ({"price": 90, "currency": "EUR"}, "ninety euros"),
        ({"seats": [{"fare": 90}, {"fare": 70}]}, "$90, $20 more than the other at $70"),
        ({"price": 92, "currency": "EUR"}, "about €90"),
        ({"distance_m": 1250}, "1,250 m"),
        ({"2026-12-05": "free"}, "5 December"),
        ({"code": "HB-4K2X93"}, "Your code is hb-4k2x93."),
    ],
)
def test_where_results_keep_their_values(result: Any, text: str) -> None:
    """A currency may be beside its amount, in its name, above it or in a text."""
    assert _refused(text, _known(result)) == []


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"price": 90, "currency": "EUR"}, "$90"),
        ({"price": 90, "other": {"currency": "USD"}}, "€90"),
        ({"price": 90, "quota": 3, "currency": "EUR"}, "€3"),
        ({"count": 90}, "€90"),
        ({"price": 90, "currency": "EUR"}, "about €91"),
        ({"price": 90, "currency": "EUR"}, "ninety-one euros"),
        ({"price": 90, "currency": "EUR"}, "about €120"),
        ({"date": "2026-12-05"}, "5 January"),
        ({"date": "2026-12-05"}, "Fri 5 December"),
        ({"url": "https://a.example.com/x?a=1"}, "https://a.example.com/x"),
        ({"rain": 30}, "40 % chance"),
        ({"population": 1463723}, "1,463,724 people"),
    ],
)
def test_a_figure_without_a_source_is_refused(result: Any, text: str) -> None:
    """A value in another currency, with another meaning or changed by little has no source."""
    assert [reason for _, reason in _refused(text, _known(result))] == ["no_source"]


GUEST = {
    "guest": {"name": "Dana Levi", "phone": "054-1234567"},
    "address": "12 Hidden Street",
    "note": "call 03-5551234",
}


@pytest.mark.parametrize("text", ["Call 054-1234567", "She is dana levi", "at 12 hidden  street", "03-5551234"])
def test_personal_data_of_others_is_refused(text: str) -> None:
    """The user does not get contacts, addresses and names of other people in a result."""
    assert {reason for _, reason in _refused(text, _known(GUEST))} == {"personal"}


@pytest.mark.parametrize("text", ["passport number AB123456", "4111 1111 1111 1111", "me@example.com"])
def test_personal_data_from_nowhere_is_refused(text: str) -> None:
    """Invented contacts have no source."""
    assert [reason for _, reason in _refused(text)] == ["personal"]


def test_the_users_own_data_may_be_said() -> None:
    """The user's own words may be repeated, even if a result contains them too."""
    said = {"name": "Dana Levi", "phone": "+972 54 123 4567", "email": "dana@example.com"}
    known = _known({"guest_name": "Dana Levi", "phone": "+972541234567"}, said=said)

    assert _refused("Dana Levi, +972-54-123-4567, dana@example.com", known) == []


def test_public_fields_may_be_said_and_redacted_ones_never() -> None:
    """A tool declares which of its contacts are public, and which fields nobody may see."""
    result = {"phone": "03-5551234", "pin": "mango"}

    assert _refused("Call 03-5551234", _known(result, public=frozenset({"phone"}))) == []
    assert _refused("The pin is mango", _known(result, redact=frozenset({"pin"}))) == [("mango", "personal")]


def test_contacts_of_a_place_of_business_may_be_said_and_those_of_its_guests_not() -> None:
    """A clinic's number is public without being declared. A person's is not, wherever its record stands."""
    clinic = {"clinic": {"name": "Aster", "phone": "03-5551234", "patients": [{"name": "Dana", "phone": "03-5559876"}]}}
    listed = [{"name": "Trattoria Lupo", "cuisine": "Italian", "phone": "03-5551234"}]
    waiter = [{"first_name": "Noa", "surname": "Adler", "reviews": 12, "phone": "03-5559876"}]

    assert _refused("Call 03-5551234", _known(clinic)) == _refused("Call 03-5551234", _known(listed)) == []
    assert {reason for known in (clinic, waiter) for _, reason in _refused("Call 03-5559876", _known(known))} == {
        "personal"
    }


def test_amounts_in_hundredths_may_be_said_in_units() -> None:
    """A field in cents supports the amount in euros, and not the number of cents as euros."""
    known = _known({"total_cents": 124050, "currency": "EUR"})

    assert _refused("It is €1,240.50.", known) == []
    assert _refused("It is €124,050.", known) == [("€124,050", "no_source")]


def test_a_day_and_a_month_in_a_table_are_a_date() -> None:
    """Two numbers with a full stop between them may be a date, without a word that says so."""
    known = _known({"days": ["2026-11-25", "2026-12-05"]})

    assert _refused("| 25.11 | 05.12 |", known) == []
    assert _refused("| 25.11 | 06.12 |", known) == [("06.12", "no_source")]


def test_old_prices_are_stale_and_old_dates_are_not() -> None:
    """A price that is older than ten minutes is marked, with its turn. Lasting facts are not."""
    known = Evidence(NOW)
    for age_s, step in ((599, "fresh"), (601, "old")):
        known.add_result({"price": age_s, "currency": "ILS", "on": "2026-12-05"}, ResultOrigin(step, "t1", age_s))

    grounding = check("₪599 or ₪601 on 5 December", known)

    assert [(source.turn, source.stale) for source in grounding.sources] == [("t1", False), ("t1", True), ("t1", False)]
    assert grounding.oldest_price_s == 601


def test_a_result_of_this_turn_comes_before_what_was_remembered() -> None:
    """If a price is looked up again, it is fresh."""
    known = Evidence(NOW)
    known.add_result({"price": 90, "currency": "ILS"}, ResultOrigin("now"))
    known.add_result({"price": 90, "currency": "ILS"}, ResultOrigin("then", "t1", 900))

    assert [source.stale for source in check("₪90", known).sources] == [False]


@pytest.mark.parametrize(
    "text", ["₪**901**", "₪\u200e901", "**901** shekels", "_901_ ILS", "on **5** December", "call 054-*1234567*"]
)
def test_invisible_characters_hide_nothing(text: str) -> None:
    """Emphasis and direction marks between the characters of a figure change nothing."""
    assert len(_refused(text)) == 1
    assert _refused(text.replace("901", "900").replace("**5**", "**4**").replace("054-*1234567*", "me")) == []


def test_a_huge_result_is_searched_so_far_and_no_further() -> None:
    """Text beyond a limit is no evidence. The check takes no longer for it, and passes no figure of it."""
    rest = " and so on" * 11_000
    known = _known([f"price 1234 EUR {rest} price 4321 EUR", f"price 2345 EUR {rest}", "price 5432 EUR"])

    refused = _refused("1234 EUR, 2345 EUR, 4321 EUR, 5432 EUR", known)

    assert refused == [("4321 EUR", "no_source"), ("5432 EUR", "no_source")]


def test_no_number_is_cut_in_two() -> None:
    """The part of a long text that is read ends between words, because half a price would be another price."""
    known = _known("x " * 49_994 + "for 1234567 EUR")

    assert _refused("1234 EUR", known) == [("1234 EUR", "no_source")]


def test_times_and_days_of_a_long_list_are_sought_in_linear_time() -> None:
    """What follows from the lengths beside them costs in proportion to the list, and not to its square."""

    def took(rows: int) -> float:
        begins = [NOW + timedelta(hours=31 * n, minutes=7 * n) for n in range(rows)]
        known = _known({"flights": [{"at": str(at), "minutes": 30 + n, "days": n} for n, at in enumerate(begins)]})
        start = time.thread_time()
        for n in range(8):
            check(f"At {n}:{n * 7 + 3:02} it leaves, on {n + 1} May 2081.", known)
        return time.thread_time() - start

    assert min(took(400) for _ in range(3)) < 25 * min(took(50) for _ in range(3)) + 0.05


@settings(max_examples=500)
@given(st.randoms(use_true_random=False))
def test_no_altered_figure_passes(rng: random.Random) -> None:
    """Among replies with one altered figure, in many formats and languages, none passes."""
    text, lie = altered_reply(rng)

    start, violations = text.index(lie), check(text, EVIDENCE).violations

    assert any(found.start < start + len(lie) and start < found.end for found in violations), (text, lie)


def test_correct_replies_are_hardly_ever_refused(record_property: Any) -> None:
    """Fewer than 2 % of 1,000 replies are refused whose figures are all in the results."""
    rng = random.Random(4)
    replies = [reply(rng) for _ in range(1_000)]

    refused = [text for text in replies if check(text, EVIDENCE).violations]

    print(f"correct replies refused: {len(refused) / 10:.1f} %")  # noqa: T201 - the rate is a figure of ours
    record_property("correct_replies_refused", len(refused))
    assert len(refused) < 20, refused[:3]


def test_what_the_makers_wrote_contradicts_no_count() -> None:
    """A persona that mentions three days leaves a reply free to speak of two. A result with three does not."""
    persona, result = Evidence(NOW), _known({"days": 3})
    persona.add_authored("Where the user leaves it open, take three days.", "persona")

    assert _refused("Ask me for a 2-day trip.", persona) == []
    assert _refused("It is a 2-day trip.", result) != []
