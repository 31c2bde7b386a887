"""Slot values, as people and models write them, are stored in one form or refused with a sentence."""

from typing import Any

import pytest

from turnloom.planner.memory.slots import Slot, check_slots, read_value

ADULTS = Slot(type="integer", description="d", min=1, max=20)
PRICE = Slot(type="number", description="d", min=0)
DAY = Slot(type="date", description="d")
BOARD = Slot(type="choice", description="d", choices=("RO", "BB", "HB"))
AGES = Slot(type="integers", description="d", min=0, max=17)
WISHES = Slot(type="texts", description="d")
BUDGET = Slot(type="money", description="d", min=1, currencies=("USD", "EUR", "ILS"))
ANY_MONEY = Slot(type="money", description="d")
NAME = Slot(type="text", description="d")
PETS = Slot(type="boolean", description="d")


def _money(amount: Any, currency: str | None, operator: str = "<=") -> dict[str, Any]:
    return {"amount": amount, "currency": currency, "operator": operator}


@pytest.mark.parametrize(
    ("slot", "written", "kept"),
    [
        (ADULTS, 3, 3),
        (ADULTS, "3", 3),
        (ADULTS, 3.0, 3),
        (ADULTS, "3 adults", 3),
        (PRICE, "1,200.50", 1200.5),
        (PRICE, "1.200,50", 1200.5),
        (PRICE, "1,200", 1200),
        (PRICE, "1 200", 1200),
        (PRICE, "0.5", 0.5),
        (PRICE, "0.1234", 0.1234),
        (DAY, "2026-12-05", "2026-12-05"),
        (DAY, "2026-12-05T15:00:00Z", "2026-12-05"),
        (BOARD, "bb", "BB"),
        (AGES, [5, "1"], [5, 1]),
        (AGES, 5, [5]),
        (WISHES, "price", ["price"]),
        (BUDGET, _money(900, "ILS"), _money(900, "ILS")),
        (BUDGET, {"amount": "1,200", "currency": "₪"}, _money(1200, "ILS")),
        (BUDGET, _money(200.5, "euros", "≈"), _money(200.5, "EUR", "~")),
        (BUDGET, "₪900", _money(900, "ILS")),
        (BUDGET, "900 NIS", _money(900, "ILS")),
        (BUDGET, _money("$150", None, "~"), _money(150, "USD", "~")),
        (ANY_MONEY, {"amount": 5, "currency": "chf"}, _money(5, "CHF")),
        (NAME, "  Ada ", "Ada"),
        (NAME, 7, "7"),
        (PETS, "yes", True),
        (PETS, False, False),
    ],
)
def test_a_value_is_kept_in_one_form(slot: Slot, written: Any, kept: Any) -> None:
    """Its form does not depend on how it was written, and reads as itself."""
    read = read_value(written, slot)

    assert read == kept
    assert type(read) is type(kept)
    assert read_value(read, slot) == kept


@pytest.mark.parametrize(
    ("slot", "written", "why"),
    [
        (ADULTS, "many", "not a number"),
        (ADULTS, 0, "between 1 and 20"),
        (ADULTS, 2.5, "whole number"),
        (ADULTS, True, "not a number"),
        (ADULTS, "2 or 3", "not a number"),
        (ADULTS, None, "not a number"),
        (ADULTS, [2], "not a number"),
        (DAY, "next weekend", "not a date"),
        (DAY, "2026-13-01", "not a date"),
        (BOARD, "half", "not one of RO, BB, HB"),
        (AGES, [5, 30], "between 0 and 17"),
        (AGES, [1] * 51, "51 values"),
        (BUDGET, {"amount": 900, "currency": "JPY"}, "not one of USD, EUR, ILS"),
        (BUDGET, {"amount": 900}, "not a currency"),
        (BUDGET, 900, "not a currency"),
        (BUDGET, {"amount": 900, "currency": "EUR", "operator": ">"}, "neither <= nor ~"),
        (NAME, "", "not a text"),
        (NAME, {"first": "Ada"}, "not a text"),
        (NAME, "x" * 501, "longer than 500"),
        (PETS, "perhaps", "neither true nor false"),
    ],
)
def test_an_invalid_value_is_refused_with_a_sentence(slot: Slot, written: Any, why: str) -> None:
    """The language model gets the sentence."""
    with pytest.raises(ValueError, match=why):
        read_value(written, slot)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "integer", "default": "many"},
        {"type": "integer", "choices": ("a",)},
        {"type": "choice"},
        {"type": "text", "counts": {"babies": (0, 1)}},
    ],
)
def test_a_slot_that_contradicts_itself_is_refused(fields: dict[str, Any]) -> None:
    """A profile with such a slot does not load."""
    with pytest.raises(ValueError, match="Slot"):
        Slot(description="d", **fields)


def test_slots_refer_to_slots_of_their_agent() -> None:
    """A slot replaces only slots of its agent, and its counts have names of their own."""
    replacing = Slot(type="text", description="d", replaces=("nothing",))
    counting = Slot(type="integers", description="d", counts={"adults": (18, 120)})

    with pytest.raises(ValueError, match="nothing"):
        check_slots({"a": replacing})
    with pytest.raises(ValueError, match="adults"):
        check_slots({"ages": counting, "adults": ADULTS})
