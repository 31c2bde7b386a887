"""Slots: typed values that the messages of a conversation may settle. An agent's profile lists its slots.

Values are read as a language model or a person may write them, and kept in one form. Numbers may come as text, and
currencies as symbols or words. The kept form is a number and an ISO 4217 code.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from turnloom.models.contracts.base import Contract

SlotType = Literal["text", "integer", "number", "date", "boolean", "choice", "integers", "texts", "money"]

MAX_TEXT = 500
MAX_ITEMS = 50

_CURRENCIES = {
    "₪": "ILS",
    "nis": "ILS",
    "shekel": "ILS",
    "shekels": "ILS",
    "ש״ח": "ILS",
    'ש"ח': "ILS",
    "$": "USD",
    "us$": "USD",
    "dollar": "USD",
    "dollars": "USD",
    "€": "EUR",
    "euro": "EUR",
    "euros": "EUR",
    "£": "GBP",
    "pound": "GBP",
    "pounds": "GBP",
    "¥": "JPY",
    "yen": "JPY",
}
_OPERATORS = {"<=": "<=", "<": "<=", "≤": "<=", "~": "~", "≈": "~", "=": "~"}
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
_AMOUNT = re.compile(r"\d[\d.,\s' ]*")
_LONGEST_AMOUNT = 30
_CENTS = re.compile(r"[.,](\d{1,2}|\d{4,})$")


class Slot(Contract):
    """A typed value that messages of a conversation may settle."""

    type: SlotType
    description: str = Field(min_length=1)
    """The description for the language model."""
    default: Any = None
    """The value while none has been given."""
    min: float | None = None
    """Least number. It also bounds each number of a list, and the amount of `money`."""
    max: float | None = None
    choices: tuple[str, ...] = ()
    """The values of a `choice`."""
    currencies: tuple[str, ...] = ()
    """ISO 4217 codes that `money` may have; if empty, any code."""
    replaces: tuple[str, ...] = ()
    """Slots that a new value of this one makes obsolete."""
    counts: Mapping[str, tuple[int, int]] = Field(default_factory=dict)
    """For `integers`: names of further values. Each value counts the numbers within its two bounds, both included."""
    taken_from: Mapping[str, str] = Field(default_factory=dict)
    """Tools whose results settle this slot, each with the field of its result that holds the value."""

    @model_validator(mode="after")
    def is_consistent(self) -> Self:
        """Refuse a default that is not a value of this slot, and choices or counts that its type does not take."""
        if bool(self.choices) != (self.type == "choice") or (self.counts and self.type != "integers"):
            raise ValueError("`choices` belong to the type `choice`, `counts` to `integers`")
        if self.default is not None:
            read_value(self.default, self)
        return self


Slots = Mapping[str, Slot]
"""Slot name -> slot."""


def check_slots(slots: Slots) -> None:
    """Check that slots fit together.

    Raises:
        ValueError: a slot replaces an unknown slot, or counts under the name of another slot.
    """
    for name, slot in slots.items():
        missing = [other for other in slot.replaces if other not in slots]
        taken = [count for count in slot.counts if count in slots]
        if missing or taken:
            raise ValueError(f"slot {name}: `replaces` has unknown slots {missing}, or `counts` has the slots {taken}")


def read_value(value: Any, slot: Slot) -> Any:
    """Return a value of a slot in the form that is kept.

    Raises:
        ValueError: it is not a value of this slot; the message is a sentence about it.
    """
    return _READERS[slot.type](value, slot)


def _text(value: Any, _slot: Slot) -> str:
    if not isinstance(value, str | int | float) or isinstance(value, bool) or not str(value).strip():
        raise ValueError(f"{_quoted(value)} is not a text")
    text = str(value).strip()
    if len(text) > MAX_TEXT:
        raise ValueError(f"a text of {len(text)} characters is longer than {MAX_TEXT}")
    return text


def _number(value: Any, slot: Slot) -> int | float:
    if isinstance(value, str):
        value = _amount(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"{_quoted(value)} is not a number")  # noqa: TRY004 - the value is wrong, not our call
    if (slot.min is not None and value < slot.min) or (slot.max is not None and value > slot.max):
        raise ValueError(f"{value} is not between {_limit(slot.min)} and {_limit(slot.max)}")
    return int(value) if float(value).is_integer() else value


def _integer(value: Any, slot: Slot) -> int:
    number = _number(value, slot)
    if isinstance(number, float):
        raise ValueError(f"{number} is not a whole number")  # noqa: TRY004 - as above
    return number


def _date(value: Any, _slot: Slot) -> str:
    try:
        return date.fromisoformat(str(value).strip()[:10]).isoformat()
    except ValueError:
        raise ValueError(f"{_quoted(value)} is not a date such as 2026-12-31") from None


def _boolean(value: Any, _slot: Slot) -> bool:
    truth = value if isinstance(value, bool) else _TRUTHS.get(str(value).strip().lower())
    if truth is None:
        raise ValueError(f"{_quoted(value)} is neither true nor false")
    return truth


def _choice(value: Any, slot: Slot) -> str:
    known = {choice.lower(): choice for choice in slot.choices}
    found = known.get(str(value).strip().lower())
    if found is None:
        raise ValueError(f"{_quoted(value)} is not one of {', '.join(slot.choices)}")
    return found


def _list(read: Callable[[Any, Slot], Any]) -> Callable[[Any, Slot], list[Any]]:
    def read_list(value: Any, slot: Slot) -> list[Any]:
        items = value if isinstance(value, list) else [value]
        if len(items) > MAX_ITEMS:
            raise ValueError(f"{len(items)} values are more than {MAX_ITEMS}")
        return [read(item, slot) for item in items]

    return read_list


def _money(value: Any, slot: Slot) -> dict[str, Any]:
    """Read `{amount, currency, operator}`, or a text such as "₪900"."""
    given = value if isinstance(value, Mapping) else {"amount": value, "currency": _currency_in(value)}
    amount = _number(given.get("amount"), slot)
    currency = _currency(given.get("currency") or _currency_in(given.get("amount")))
    if slot.currencies and currency not in slot.currencies:
        raise ValueError(f"{currency} is not one of {', '.join(slot.currencies)}")
    operator = _OPERATORS.get(str(given.get("operator") or "<=").strip())
    if operator is None:
        raise ValueError(f"{_quoted(given.get('operator'))} is neither <= nor ~")
    return {"amount": amount, "currency": currency, "operator": operator}


def _currency(value: Any) -> str:
    text = str(value or "").strip()
    code = _CURRENCIES.get(text.lower(), text.upper())
    if not re.fullmatch("[A-Z]{3}", code):
        raise ValueError(f"{_quoted(value)} is not a currency; write its ISO 4217 code, such as EUR")
    return code


def _currency_in(value: Any) -> str | None:
    """Return the rest of a text without its amount, which is the currency if it has one."""
    return _AMOUNT.sub("", value).strip() if isinstance(value, str) else None


def _amount(text: str) -> int | float:
    """Read a number with grouped digits. Three digits after the last separator are a group, any others decimals."""
    found = _AMOUNT.findall(text)
    if len(found) != 1:
        raise ValueError(f"{_quoted(text)} is not a number")
    if len(found[0]) > _LONGEST_AMOUNT:
        raise ValueError(f"{_quoted(text)} has too many digits")
    digits = re.sub(r"[\s' ]", "", found[0]).rstrip(".,")
    cents = _CENTS.search(digits)
    whole = re.sub("[.,]", "", digits[: cents.start()] if cents else digits)
    sign = -1 if text.strip().startswith("-") else 1
    return sign * (float(f"{whole}.{cents[1]}") if cents else int(whole))


def _quoted(value: Any) -> str:
    return repr(value)[:80]


def _limit(limit: float | None) -> str:
    return "any" if limit is None else f"{limit:g}"


_READERS: dict[SlotType, Callable[[Any, Slot], Any]] = {
    "text": _text,
    "integer": _integer,
    "number": _number,
    "date": _date,
    "boolean": _boolean,
    "choice": _choice,
    "integers": _list(_integer),
    "texts": _list(_text),
    "money": _money,
}
