"""Objects of a result: what one tells beyond its values, and whether its fields are records that keys tell apart."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from turnloom.planner.reply.grounding.fields import parts_of
from turnloom.planner.reply.grounding.figures import Key
from turnloom.planner.reply.grounding.labels import labels_of
from turnloom.planner.reply.grounding.lexicon import words
from turnloom.planner.reply.grounding.moments import keys_between

_FEWEST_SHARED = 2
_OF_PATHS = frozenset(".[]")


def told_by(fields: Mapping[str, Any]) -> Iterator[Key]:
    """Yield the keys that follow from several values of an object: the nights of a stay, the places that are left."""
    yield from keys_between(fields)
    yield from _left(fields)


def are_records(fields: Mapping[str, Any]) -> bool:
    """Return whether the values of an object are things of one kind, told apart by its keys: `{"basic": {…}, …}`."""
    inner = list(fields.values())
    if len(inner) < 2 or not all(isinstance(value, dict) for value in inner):
        return False
    shared = set.intersection(*(set(value) for value in inner))
    is_alike = len(shared) >= _FEWEST_SHARED and len(shared) * 2 >= max(len(value) for value in inner)
    return is_alike and _OF_PATHS.isdisjoint("".join(fields))


def sizes_of_groups(values: Iterable[Any]) -> set[int]:
    """Return how many things of a list have one text, or an empty list, in one field: the flights of one airline."""
    groups: Counter[tuple[str, str]] = Counter()
    for fields in (value for value in values if isinstance(value, dict)):
        groups.update((key, str(value)) for key, value in fields.items() if isinstance(value, str) or value == [])
    return {size for size in groups.values() if size >= _FEWEST_SHARED}


def _left(fields: Mapping[str, Any]) -> Iterator[Key]:
    """Yield what is left of a whole, such as the capacity of a course, where an object has the part that is taken."""
    numbers = {
        key: Decimal(str(value))
        for key, value in fields.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    lexicon = words()["of_capacity"]
    taken = [value for key, value in numbers.items() if not set(lexicon["taken"]).isdisjoint(parts_of(key))]
    wholes = [key for key in numbers if not set(lexicon["whole"]).isdisjoint(parts_of(key))]
    for whole in wholes if len(taken) == 1 else ():
        left = numbers[whole] - taken[0]
        if left >= 0:
            yield from (
                ("count", "left", left),
                ("number", left),
                *(("field", label, left) for label in labels_of(whole)),
            )
