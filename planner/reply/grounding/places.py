"""The places of evidence, by the keys of figures: where a value stands, and beside which names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Any

from turnloom.planner.reply.grounding.element_names import spoken_strings, with_key, words_of_names
from turnloom.planner.reply.grounding.fields import name_in, names_in, route_in
from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.lexicon import words
from turnloom.planner.reply.grounding.said_deeds import ANY
from turnloom.planner.reply.grounding.skies import Sky, sky_of
from turnloom.planner.reply.grounding.text_segments import Payer, Segment, pairs_in, payers_in, segments_in

_LONGEST_LIST = 60
"""Most elements of a list that are told apart by their names."""
_MOST_PLACES = 40
"""Most places that are kept of one value."""
_INDEX = re.compile(r"\[[^\[\]]+\](?=[^\[\]]*$)")
_SHORTEST_NAME, _LONGEST_NAME = 5, 40
_MOST_WHOLE_NAMES = 300
EAST_ASIAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af].*[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A name in scripts that put no blanks between words: it is found within a longer run."""
UNSTATED = "?"
"""The currency of an amount whose whole result names none."""


@dataclass(frozen=True, slots=True)
class EvidencePlace:
    """The place where a piece of evidence was found."""

    step: str
    """The step's id; `message` for what the user said; `agent` for what its makers, or a person in its place, wrote."""
    path: str
    turn: str | None = None
    """The step's turn if it is an earlier one; None for this turn."""
    age_s: int = 0
    """Seconds since the value was found out."""
    page: str | None = None
    """The host of the page that says it: empty if the host is unknown, None if the value is not from a page."""
    is_said: bool = False
    """Whether only the user has said it, here or in an argument that the result repeats."""
    about: frozenset[str] = field(default=frozenset(), compare=False)
    """The stems of the words around it: in the names of its fields, in the texts of its object, beside it in a text."""
    behind: str = field(default="", compare=False)
    """The text right behind it, if it is an amount within a text."""
    is_prose: bool = field(default=False, compare=False)
    """Whether it stands in a longer text, which may speak of several things."""

    @property
    def rank(self) -> int:
        """How little it counts beside other places of the same value."""
        return 2 if self.page is not None else 1 if self.is_said or self.is_authored else 0

    @property
    def is_authored(self) -> bool:
        """Whether the agent's makers wrote it, or a person in its place."""
        return self.step == "agent"


@dataclass(frozen=True, slots=True)
class ResultOrigin:
    """The source of a whole result, and its special fields."""

    step: str
    turn: str | None = None
    age_s: int = 0
    public: frozenset[str] = frozenset()
    """Fields with contacts that anybody may see."""
    redact: frozenset[str] = frozenset()
    """Fields that nobody may see."""
    outside: frozenset[str] = frozenset()
    """Fields with text that strangers have written."""
    says: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Field -> value -> what it means in words."""
    deeds: frozenset[str] = frozenset({ANY})
    """What the call has done, in the words of `assertions.yaml`."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A value that arithmetic may start from."""

    value: Decimal
    code: str | None
    """Its currency; `UNSTATED` if none is given; None for a number that is not money."""
    place: EvidencePlace

    @property
    def field(self) -> str:
        """The name of the field that it is the value of."""
        return _INDEX.sub("", self.place.path).rpartition(".")[2]

    @property
    def column(self) -> str:
        """The field that it is a value of, in whichever element of a list."""
        return f"{self.place.step}/{self.place.turn}/{_INDEX.sub('[]', self.place.path)}"


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """The amount in another currency that one unit of a currency is worth."""

    of: str
    to: str
    rate: Decimal
    path: str


Element = tuple[str, str | None, str]
"""An object in a list: step, turn and path."""


def list_of(element: Element) -> Element:
    """Return the place of the list that an element is in."""
    step, turn, path = element
    return step, turn, path.rpartition("[")[0]


@dataclass(slots=True)
class Places:
    """Everything that evidence holds, by key."""

    by_key: dict[Key, list[EvidencePlace]] = field(default_factory=dict)
    operands: dict[tuple[Decimal, str | None, str], Operand] = field(default_factory=dict)
    """The values that arithmetic may start from, by value, currency and column."""
    currencies: set[str] = field(default_factory=set)
    """The currencies of amounts."""
    column_sums: dict[str, Decimal] = field(default_factory=dict)
    """The sums of the different numbers without a currency that the elements of a list have, by column."""
    named: dict[str, set[Element]] = field(default_factory=dict)
    """Word of a name -> the elements that have it, if not all of their list do."""
    whole_names: dict[str, set[Element]] = field(default_factory=dict)
    """Name of several words, in lower case -> the elements that have it."""

    alone: dict[Element, frozenset[str]] = field(default_factory=dict)
    """Object with names that is no element of a list, such as the option of an offer -> its names, in lower case."""
    routes: dict[Element, tuple[str, str]] = field(default_factory=dict)
    """Object of a list -> from where it leads, and where to."""
    skies: dict[Element, Sky] = field(default_factory=dict)
    """Object of a list with a day -> its weather."""
    everywhere: set[str] = field(default_factory=set)
    """Words for places that whole results are about, such as a destination: they name no single element."""
    segments: dict[tuple[str, str, str], list[Segment]] = field(default_factory=dict)
    """Step and path of a longer text, and kind -> its figures of this kind, and the stems of the words of each."""
    payers: dict[tuple[str, str], dict[Decimal, Payer]] = field(default_factory=dict)
    """Step and path of a longer text -> its amounts that an adult or a child pays."""
    compared: set[frozenset[Decimal]] = field(default_factory=set)
    """Pairs of numbers that follow each other in a longer text, such as those of two years."""
    moments: set[datetime] = field(default_factory=set)
    """The moments with a time zone that results have."""
    lists: dict[Element, set[Element]] = field(default_factory=dict)
    """List of several objects -> its elements."""
    exchange: list[tuple[ExchangeRate, EvidencePlace]] = field(default_factory=list)
    """The exchange rates of results."""
    small: set[Decimal] = field(default_factory=set)
    """Every number of up to three digits that stands in a result, and the lengths of lists."""
    said_counts: set[Decimal] = field(default_factory=set)
    """Small numbers that the user has said."""

    def put(self, key: Key, place: EvidencePlace) -> None:
        """Add a place. One that only the user has said comes behind those of results, and one on a page comes last."""
        known = self.by_key.setdefault(key, [])
        if len(known) >= _MOST_PLACES or place in known:
            return
        at, rank = len(known), place.rank
        while at and known[at - 1].rank > rank:
            at -= 1
        known.insert(at, place)

    def of(self, keys: tuple[Key, ...]) -> list[EvidencePlace]:
        """Return the places that have any of some keys, those that are not on a page first."""
        found = [place for key in keys for place in self.by_key.get(key, ())]
        return sorted(found, key=lambda place: place.rank)

    def are_said(self, value: Any) -> bool:
        """Return whether the user may have said a value. A limit that the user has not named is a fact."""
        if not isinstance(value, int | float):
            return True
        number = Decimal(str(value))
        return any(place.is_said for place in self.of((("money", number, None), ("number", number))))

    def add_operand(self, value: Decimal, code: str | None, place: EvidencePlace) -> None:
        """Let arithmetic start from a value."""
        if not value:
            return  # what is computed with nothing is no calculation
        operand = Operand(value, code, place)
        key = (value, code, operand.column)
        if key in self.operands:
            return
        self.operands[key] = operand
        if code is not None and code != UNSTATED:
            self.currencies.add(code)
        if code in (None, UNSTATED) and "[" in place.path:
            self.column_sums[operand.column] = self.column_sums.get(operand.column, Decimal()) + value

    def values(self, form: str, unit: str | None = None) -> set[Decimal]:
        """Return the known values of a form, such as those of the counts of nights."""
        return {
            key[-1]
            for key in self.by_key
            if key[0] == form and (unit is None or key[1] == unit) and isinstance(key[-1], Decimal)
        }

    def nights(self) -> set[Decimal]:
        """Return the nights of stays: those of whole results if any says so, and not of single things in a list."""
        known = {key: places for key, places in self.by_key.items() if key[:2] == ("count", "night")}
        whole = [key for key, places in known.items() if any("[" not in place.path for place in places)]
        return {value for key in whole or known if isinstance(value := key[-1], Decimal)}

    def beside(self, element: Element) -> set[Element]:
        """Return the other elements of an element's list."""
        return self.lists.get(list_of(element), set()) - {element}

    def learn(self, at: Element, fields: dict[str, Any]) -> None:
        """Learn the names of an object that is no element of a list, and the places that a whole result is about."""
        path = at[2]
        if "[" not in path:
            known = (value for key, value in fields.items() if key in words()["whole_places"])
            spelt = (value for value in known if isinstance(value, str))
            self.everywhere.update(word.lower() for value in spelt for word in value.split())
        if path.endswith("]") and (route := route_in(fields)):
            self.routes[at] = route
        if path.endswith("]") and (sky := sky_of(fields)):
            self.skies[at] = sky
        if path and not path.endswith("]") and (names := names_in(fields)):
            self.alone[at] = frozenset(map(str.lower, names))

    def learn_text(self, step: str, path: str, text: str, figures: Sequence[Figure], *, is_long: bool) -> None:
        """Learn who pays the amounts of a text; of a longer one, which follow each other, and the words of each."""
        if payers := payers_in(text, figures):
            self.payers[step, path] = payers
        if not is_long:
            return
        self.compared |= pairs_in(text, figures)
        for kind, inside in segments_in(text, figures):
            self.segments[step, path, kind] = inside

    def is_of_other(self, place: EvidencePlace, elements: frozenset[Element]) -> bool:
        """Return whether a place is in an object with the name of another element beside some, and not of them."""
        names = self.alone.get((place.step, place.turn, place.path.rpartition(".")[0]), frozenset())
        having = frozenset(one for name in names for one in self.whole_names.get(name, ()))
        lists = set(map(list_of, elements))
        others = {one for one in having if list_of(one) in lists}
        return bool(others) and others.isdisjoint(elements)

    def name_elements(self, parent: Element, values: Mapping[Any, Any]) -> None:
        """Learn by which words the objects of a list, which has a place of its own, can be told apart.

        `values` are by number, or by the keys that tell them apart, which are names then.

        A word of a name counts for every element that has it anywhere, so that it never excludes one that it fits.
        """
        step, turn, path = parent
        objects = ((key, inner) for key, inner in islice(values.items(), _LONGEST_LIST) if isinstance(inner, dict))
        elements: dict[Element, Any] = {(step, turn, f"{path}[{key}]"): with_key(key, inner) for key, inner in objects}
        if len(elements) < 2:
            return
        self.lists[parent] = set(elements)
        names = {element: name_in(inner) for element, inner in elements.items()}
        for element, name in names.items():
            for whole in {name, *names_in(elements[element])}:
                is_of_words = len(whole) >= _SHORTEST_NAME and " " in whole.strip()
                is_whole = len(whole) <= _LONGEST_NAME and (is_of_words or EAST_ASIAN.search(whole) is not None)
                if is_whole and len(self.whole_names) < _MOST_WHOLE_NAMES:
                    self.whole_names.setdefault(whole.lower().strip(), set()).add(element)
        texts = {element: set(words_of_names(spoken_strings(inside))) for element, inside in elements.items()}
        for word in {word for name in names.values() for word in words_of_names(name)}:
            having = {element for element, inside in texts.items() if word in inside}
            if 0 < len(having) < len(elements):
                self.named.setdefault(word, set()).update(having)
