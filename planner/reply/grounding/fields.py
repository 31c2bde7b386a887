"""Read the names of a result's fields: they say whether a value is money, what it counts, and whether it is private."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from turnloom.planner.reply.grounding.lexicon import words

Basis = Literal["night", "total"]
"""What an amount is for: one night, or all of the stay."""
_LAST_NAME = re.compile(r"([^.\[\]]+)(?:\[\d+\])*$")


@dataclass(frozen=True, slots=True)
class FieldName:
    """The facts about a value that follow from its field's name."""

    currencies: frozenset[str]
    is_currency: bool
    is_money: bool
    is_count: bool
    is_private: bool
    is_percent: bool
    is_said: bool
    """Whether it repeats what the user has asked for, such as a budget."""
    is_name: bool
    """Whether it names the thing that its object describes."""
    basis: Basis | None
    units: tuple[str, ...]
    """The units of `words.yaml` that it counts."""
    minutes: int
    """The minutes in one unit of a duration; 0 if it is none."""


@lru_cache(maxsize=2048)
def field_name(key: str) -> FieldName:
    """Return the facts that follow from the name of a field."""
    lexicon = words()
    parts = set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower().split("_"))

    def has(kind: str) -> bool:
        return not parts.isdisjoint(lexicon[kind])

    currencies = codes_of(part.upper() for part in parts)
    basis: Basis | None = "night" if has("night_fields") else "total" if has("total_fields") else None
    return FieldName(
        currencies,
        is_currency="currency" in parts,
        is_money=bool(currencies) or has("money_fields"),
        is_count=has("count_fields"),
        is_private=key.lower() in lexicon["private_fields"],
        is_percent=has("percent_fields"),
        is_said=has("said_fields"),
        is_name=has("name_fields"),
        basis=basis,
        units=tuple(unit for unit, read in lexicon["units"].items() if not parts.isdisjoint(read["fields"])),
        minutes=next((n for part, n in lexicon["duration_fields"].items() if part in parts), 0),
    )


def basis_of(path: str) -> Basis | None:
    """Return what the amount at a path is for, if its field's name says so."""
    last = _LAST_NAME.search(path)
    return field_name(last[1]).basis if last else None


def codes_of(values: Iterable[Any]) -> frozenset[str]:
    """Return those of some values that are codes of currencies."""
    known = _all_codes()
    return frozenset(value for value in values if isinstance(value, str) and value in known)


def name_in(fields: dict[str, Any]) -> str:
    """Return the words by which an object of a list is named."""
    return " ".join(str(value) for key, value in fields.items() if field_name(key).is_name and isinstance(value, str))


def counted(name: FieldName, value: Decimal) -> tuple[tuple[object, ...], ...]:
    """Return the keys of a number whose field says what it counts."""
    keys: list[tuple[object, ...]] = [("count", unit, value) for unit in name.units]
    if name.minutes:
        keys.append(("duration", value * name.minutes))
    if name.is_percent:
        keys += [("percent", value), *([("percent", value * 100)] if 0 < value < 1 else [])]
    return tuple(keys)


@lru_cache
def _all_codes() -> frozenset[str]:
    return frozenset(words()["codes"].split())
