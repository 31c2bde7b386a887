"""Own records: the objects of results that are about the user, by what the user has said of itself.

In: the words of the user, and the objects of results.  Out: whether an object is the user's own record. It is if it has
two things that the user has said, such as a name and a postcode, or one that only the user has, such as an address of
e-mail, said in the first person or known of the user. What an own record refers to, such as its orders, is own too.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from turnloom.planner.reply.grounding.counts import runs
from turnloom.planner.reply.grounding.fields import FieldName, field_name
from turnloom.planner.reply.grounding.figures import folded
from turnloom.planner.reply.grounding.lexicon import spoken, words

_BEFORE = 60
"""Characters before a value in which the first person is sought."""
_SHORTEST = 4
_SHORTEST_NAME = 2
_ENOUGH = 2


class PrivateValues:
    """The values of results about other people."""

    def __init__(self) -> None:
        self._values: dict[str, None] = {}

    def keep(self, value: str) -> set[Decimal]:
        """Keep a value; returns the numbers in it."""
        if len(value) > 2:
            self._values[folded(value)[0].strip()] = None
        return runs(value)

    def found_in(self, plain: str, said: Iterable[str]) -> Iterator[str]:
        """Yield those that a folded text has, unless the user has said them."""
        heard = " ".join(said)
        return (value for value in self._values if value in plain and value not in heard)


class OwnRecords:
    """The identity of the user, by which objects of results are known as the user's."""

    def __init__(self) -> None:
        self.said: list[str] = []
        """What the user has said and is known of the user, folded."""
        self._known: set[str] = set()
        """Texts that nobody else has: facts known of the user, and the references of own records."""

    def hear(self, said: str) -> None:
        """Learn what the user has said, or a fact that is known of the user."""
        self.said.append(folded(said)[0])

    def know(self, fact: str) -> None:
        """Learn a fact that is known of the user."""
        if len(fact) >= _SHORTEST and not fact.isdigit():
            self._known.add(folded(fact)[0].strip())

    def is_own(self, fields: dict[str, Any]) -> bool:
        """Return whether an object is about the user, and learn what else it refers to."""
        found = list(_identities(fields))
        is_known = any(text in self._known for text, name in found if name.is_reference or name.is_contact)
        # All parts of a name are one thing.
        said = {"" if name.is_name else text for text, name in found if self._is_said(text)}
        is_first = any(self._is_mine(text) for text, name in found if name.is_contact)
        is_own = is_known or is_first or len(said) >= _ENOUGH
        if is_own:
            self._known.update(_references(fields))
        return is_own

    def _is_said(self, text: str) -> bool:
        return any(_place(text, said) >= 0 for said in self.said)

    def _is_mine(self, text: str) -> bool:
        """Return whether the user has said a text of itself, or as its whole answer."""
        first = spoken(words()["first_person"])
        for said in self.said:
            place = _place(text, said)
            if place >= 0 and (first.search(said, max(0, place - _BEFORE), place) or len(said) <= len(text) + 9):
                return True
        return False


def _place(text: str, said: str) -> int:
    """Return where a text stands in another as whole words; -1 if it does not."""
    place = said.find(text)
    while place >= 0 and not _is_apart(
        said[max(0, place - 1) : place], said[place + len(text) : place + len(text) + 2]
    ):
        place = said.find(text, place + 1)
    return place


def _is_apart(before: str, after: str) -> bool:
    """Return whether the signs around a text are no part of a longer word or address."""
    is_end = not after or not (_is_inner(after[0]) or (after[0] == "." and after[1:].isalnum()))
    return is_end and not (_is_inner(before) or before == ".")


def _is_inner(sign: str) -> bool:
    return sign.isalnum() or sign in tuple("_@-")


def _identities(fields: dict[str, Any]) -> Iterator[tuple[str, FieldName]]:
    """Yield the texts by which an object and the objects in it say whom they are about."""
    for key, value in fields.items():
        name = field_name(key)
        if isinstance(value, dict):
            yield from _identities(value)
        elif isinstance(value, str) and len(value) >= _SHORTEST_NAME and (name.is_identity or name.is_reference):
            yield folded(value)[0].strip(), name


def _references(fields: dict[str, Any]) -> Iterator[str]:
    """Yield the texts by which an object refers to others, such as the numbers of its orders."""
    for key, value in fields.items():
        if not field_name(key).is_reference:
            continue
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and len(text) > _SHORTEST and any(char.isdigit() for char in text):
                yield folded(text)[0].strip()
