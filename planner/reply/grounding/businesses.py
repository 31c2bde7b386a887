"""Places of business: the objects and the texts whose contacts anybody may see."""

from functools import lru_cache
from typing import Any

from turnloom.planner.reply.grounding.fields import field_name, parts_of
from turnloom.planner.reply.grounding.lexicon import spoken, words

_MOST_PEOPLE = 100


def is_business(fields: dict[str, Any]) -> bool:
    """Return whether an object describes a place of business, and not a person.

    Beside a contact that is for callers, a number of people is no person.
    """
    found = [(field_name(key), value) for key, value in fields.items()]
    is_for_callers = any(map(_is_for_callers, fields))
    is_place = any(
        "star" in name.units or (name.is_business and not isinstance(value, int | float)) for name, value in found
    )
    is_person = any(name.is_person and not (is_for_callers and _is_headcount(value)) for name, value in found)
    is_any = is_for_callers or is_place or any(map(_names_business, fields))
    return is_any and not is_person and not any(map(_names_person, fields))


def is_of_service(fields: dict[str, Any], *, is_done: bool) -> bool:
    """Return whether the contacts of a whole result are those of the service that gave it.

    It offers or charges something, and neither a name, an address nor the number of a record stands beside them. What a
    service has done for the user (`is_done`), such as a booking, has numbers of its own, and says where to go.
    """
    others = {key: value for key, value in fields.items() if set(parts_of(key)).isdisjoint(words()["phone_fields"])}
    if is_done:
        return not any(_is_of_person(key, value) for key, value in others.items())
    names = [field_name(key) for key in others]
    is_record = any(name.is_person or name.is_identity or name.is_name or name.is_reference for name in names)
    offers = any(isinstance(value, list) for value in others.values()) or any(name.is_money for name in names)
    return offers and not (is_record or any(name.is_private for name in names))


def is_of_business(text: str) -> bool:
    """Return whether a text speaks of a place of business, so that its contacts are public."""
    return spoken(words()["business_words"]).search(text) is not None


@lru_cache
def kinds() -> frozenset[str]:
    """Return the words for kinds of places of business, and of those who work for the public."""
    return frozenset((*words()["names_of_business"], *words()["public_fields"]))


@lru_cache(maxsize=2048)
def _is_for_callers(key: str) -> bool:
    """Return whether a field has the contact by which anybody may reach a business, such as `booking_phone`."""
    parts, known = set(parts_of(key)), words()["for_callers"]
    return len(parts) > 1 and not any(parts.isdisjoint(known[kind]) for kind in ("purposes", "means"))


@lru_cache(maxsize=2048)
def _names_business(key: str) -> bool:
    """Return whether only a place of business, or who works for the public, has a field: `dentist_name`, `rating`."""
    parts = set(parts_of(key))
    return not parts.isdisjoint(words()["rated_fields"]) or ("name" in parts and not parts.isdisjoint(kinds()))


@lru_cache(maxsize=2048)
def _names_person(key: str) -> bool:
    """Return whether a field has a part of a person's name: `first_name`, `contact_name`, `apellidos`."""
    parts, lexicon = set(parts_of(key)), words()
    is_part = "name" in parts and not parts.isdisjoint(lexicon["parts_of_names"])
    return is_part or not parts.isdisjoint(lexicon["names_of_persons"])


def _is_of_person(key: str, value: Any) -> bool:
    """Return whether a field says who somebody is, or how to reach them. An address alone may be where to go."""
    name = field_name(key)
    is_somebody = name.is_person and not _is_headcount(value)
    return is_somebody or name.is_identity or _names_person(key) or (name.is_private and key != "address")


def _is_headcount(value: Any) -> bool:
    """Return whether a value tells how many people there are, and not who they are. A larger number may be an id."""
    return isinstance(value, int) and value < _MOST_PEOPLE
