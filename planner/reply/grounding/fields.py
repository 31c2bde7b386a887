"""Read the names of a result's fields: they say whether a value is money, what it counts, and whether it is private."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from turnloom.planner.reply.grounding.labels import stems
from turnloom.planner.reply.grounding.lexicon import currency_codes, words

Basis = Literal["night", "total"]
"""What an amount is for: one night, or all of the stay."""
_PART = re.compile(r"[^a-zà-ÿא-ת0-9]+")
_LONGEST_NAME = 40
_OF_PERSONS = frozenset(
    {"name", "names", "phone", "email", "id", "list", "info", "details", "data", "first", "last", "address"}
)
"""Words beside that of a person in the name of a field."""
_SHORTEST_CURRENCY = 3
_THOUSAND = 1000
_LAST_YEAR = 2100


@dataclass(frozen=True, slots=True)
class FieldName:
    """The facts about a value that follow from its field's name."""

    currencies: frozenset[str]
    is_currency: bool
    is_money: bool
    is_count: bool
    is_private: bool
    is_public: bool
    """Whether it has a contact that anybody may see, such as a hotline, or is a place of business, such as a clinic."""
    is_person: bool
    """Whether it is about a person, such as a guest, whose contacts are private also within a place of business."""
    is_business: bool
    """Whether only a place of business has it, such as opening hours."""
    is_minor: bool
    """Whether its amounts are in hundredths of a currency's unit."""
    is_percent: bool
    is_document: bool
    is_said: bool
    """Whether it repeats what the user has asked for, such as a budget."""
    is_name: bool
    """Whether it names the thing that its object describes."""
    is_identity: bool
    """Whether it says whom its object is about."""
    is_contact: bool
    """Whether its value belongs to one person alone, as an address of e-mail does."""
    is_reference: bool
    """Whether it refers to a record, such as an order."""
    is_plain: bool
    """Whether it is a number that is no amount, such as a year or a rating."""
    is_year: bool
    """Whether only the word "year" says that it is no amount: 850 in `used_this_year` may be one."""
    is_thousandth: bool
    """Whether its numbers are in a thousandth of another unit, such as grams."""
    basis: Basis | None
    units: tuple[str, ...]
    """The units of `words.yaml` that it counts."""
    minutes: int
    """The minutes in one unit of a duration; 0 if it is none."""
    is_place: bool
    """Whether it is a part of an address that many people share."""
    is_sum: bool
    """Whether it names a sum and does not say of what."""

    def is_titled(self, value: str) -> bool:
        """Return whether a value is the title of a document, and not the number of somebody's."""
        return self.is_document and not any(sign.isdigit() for sign in value)

    def of_value(self, value: Any, *, is_minor: bool = False) -> "FieldName":
        """Return the facts about a field with this value: seats are whole, "34.50" that is available is money.

        So are 184250 that are available where amounts are in hundredths (`is_minor`).
        """
        has_decimals = isinstance(value, str | float) and "." in str(value).removesuffix(".0")
        is_amount = has_decimals or (is_minor and isinstance(value, int) and value >= _THOUSAND)
        is_amount = is_amount and self.units == ("left",)
        is_amount = is_amount or (self.is_year and isinstance(value, int | float) and not 1900 <= value <= _LAST_YEAR)
        return replace(self, units=(), is_count=False, is_plain=False) if is_amount else self

    def within(self, outer: "FieldName") -> "FieldName":
        """Return the facts about a field in an object that a field of another name has, such as `seats.economy`."""
        if not outer.units or self.is_plain or (self.is_money and not (self.is_sum and outer.is_plain)):
            return self
        return replace(self, units=outer.units, is_count=outer.is_count, is_plain=outer.is_plain, is_money=False)


def is_of_field(path: str, names: Iterable[str]) -> bool:
    """Return whether a word of the last field's name of a path is one of some names."""
    return not set(names).isdisjoint(parts_of(path.rpartition(".")[2]))


@lru_cache(maxsize=2048)
def parts_of(key: str) -> tuple[str, ...]:
    """Return the words in the name of a field, in lower case."""
    return tuple(_PART.split(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()))


@lru_cache(maxsize=2048)
def field_name(key: str) -> FieldName:
    """Return the facts that follow from the name of a field."""
    lexicon = words()
    parts = set(parts_of(key))

    def has(kind: str) -> bool:
        return not parts.isdisjoint(lexicon[kind])

    currencies = frozenset[str]().union(*(_codes_in_name(part) for part in parts))
    units = tuple(unit for unit, read in lexicon["units"].items() if not parts.isdisjoint(read["fields"]))
    minutes = next((n for part, n in lexicon["duration_fields"].items() if part in parts), 0)
    is_contact, is_minor = has("contact_fields"), not parts.isdisjoint(lexicon["coins"])
    basis: Basis | None = "night" if has("night_fields") else "total" if has("total_fields") else None
    return FieldName(
        currencies,
        is_currency=has("currency_fields"),
        is_money=bool(currencies) or is_minor or _is_named_like_money(parts),
        is_count=has("count_fields"),
        is_private=key.lower() in lexicon["private_fields"],
        is_public=has("public_fields") or (has("emergency_fields") and not has("emergency_contacts")),
        is_person=bool(parts - _OF_PERSONS) and parts - _OF_PERSONS <= set(lexicon["person_fields"]),
        is_business=has("business_fields"),
        is_minor=is_minor,
        is_year=parts.intersection(lexicon["plain_fields"]) == {"year"} and not (units or minutes),
        is_thousandth=has("thousandth_fields"),
        is_percent=has("percent_fields"),
        is_document=key.lower() == "document",
        is_said=parts <= {*lexicon["said_fields"], "amount", "max", "min", "price"} and has("said_fields"),
        is_name=has("name_fields"),
        is_identity=is_contact or has("identity_fields"),
        is_contact=is_contact,
        is_reference=has("reference_fields") and not has("shared_fields"),
        is_plain=bool(units or minutes) or has("percent_fields") or has("plain_fields"),
        basis=basis,
        units=units,
        minutes=minutes,
        is_place=has("place_fields"),
        is_sum=parts <= set(lexicon["total_fields"]),
    )


def _is_named_like_money(parts: set[str]) -> bool:
    """Return whether words of a name say that it is money. In `max_per_order`, "per" does not."""
    lexicon = words()
    found = parts.intersection(lexicon["money_fields"])
    is_count = found == {"per"} and not parts.isdisjoint(lexicon["bounds"])
    return (bool(found) and not is_count) or any(part.endswith(_money_ends()) for part in parts)


def _codes_in_name(part: str) -> frozenset[str]:
    """Return the currencies that a part of a field's name stands for: `usd`, `yen`, `pence`."""
    coins: dict[str, str] = words()["coins"]
    is_word = len(part) >= _SHORTEST_CURRENCY
    return frozenset(coins[part].split()) if part in coins else currency_codes(part) if is_word else frozenset()


def codes_of(values: Iterable[Any]) -> frozenset[str]:
    """Return those of some values that are codes of currencies."""
    known = _all_codes()
    return frozenset(value for value in values if isinstance(value, str) and value in known)


def counts_in_hundredths(value: Any) -> bool:
    """Return whether a result says somewhere that its amounts are in cents: `"amounts": "pence"`, `"exponent": 2`."""
    if isinstance(value, list):
        return any(counts_in_hundredths(inner) for inner in value)
    if not isinstance(value, dict):
        return False
    return any(
        counts_in_hundredths(inner) if isinstance(inner, dict | list) else _says_hundredths(key, inner)
        for key, inner in value.items()
    )


def _says_hundredths(key: str, value: str | float | None) -> bool:
    """Return whether a field names the unit of amounts: `"amounts_in": "cents"`, `"decimalPlaces": 2`."""
    units, said = words()["minor_units"], str(value).lower()
    kind = "fields" if said in units["values"] else "decimals" if said == "2" else None
    return kind is not None and not set(units[kind]).isdisjoint((*parts_of(key), key.lower()))


def lower_codes_of(fields: dict[str, Any]) -> frozenset[str]:
    """Return the currencies that an object names in lower case, as interfaces that count in hundredths do."""
    codes = (value for key, value in fields.items() if isinstance(value, str) and field_name(key).is_currency)
    return codes_of(code.upper() for code in codes if code.islower())


def name_in(fields: dict[str, Any]) -> str:
    """Return the words by which an object of a list is named: its names, or else its short texts."""
    texts = (value for value in fields.values() if isinstance(value, str) and len(value) < _LONGEST_NAME)
    return " ".join(names_in(fields) or texts)


def names_in(fields: dict[str, Any]) -> list[str]:
    """Return the names of an object, such as those of a flight and its airline."""
    return [value for key, value in fields.items() if isinstance(value, str) and field_name(key).is_name]


def route_in(fields: dict[str, Any]) -> tuple[str, str] | None:
    """Return from where an object leads, and where to; None if it does not say both."""
    for names in words()["route_fields"]:
        match [fields.get(name) for name in names]:
            case [str() as origin, str() as destination]:
                return origin, destination
    return None


def stems_in(fields: dict[str, Any], deep: int = 1) -> frozenset[str]:
    """Return the stems of the words in the short texts of an object, and of the objects in it."""
    texts = (stems(value) for value in fields.values() if isinstance(value, str) and len(value) < _LONGEST_NAME)
    inner = (stems_in(value, deep - 1) for value in fields.values() if isinstance(value, dict) and deep)
    return frozenset[str]().union(*texts, *inner)


def counted(name: FieldName, value: Decimal) -> tuple[tuple[object, ...], ...]:
    """Return the keys of a number whose field says what it counts."""
    keys: list[tuple[object, ...]] = [("count", unit, value) for unit in name.units]
    if name.is_thousandth:
        keys.append(("number", value / _THOUSAND))
    if name.minutes:
        keys.append(("duration", value * name.minutes))
    if name.is_percent:
        keys += [("percent", value), *([("percent", value * 100)] if 0 < value < 1 else [])]
    return tuple(keys)


@lru_cache
def _all_codes() -> frozenset[str]:
    return frozenset(words()["codes"].split())


@lru_cache
def _money_ends() -> tuple[str, ...]:
    return tuple(words()["money_ends"])
