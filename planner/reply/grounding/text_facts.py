"""Facts of texts: which of the things that a longer text names a number of it is said of.

"The Duin is 21 square metres, the Vuur 27": a text of a result binds each number to a name, as a reply does.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.mentions import elements_of, mentions
from turnloom.planner.reply.grounding.places import Element, Places
from turnloom.planner.reply.grounding.scan import read_text
from turnloom.planner.reply.grounding.sentences import sentences

_BARE = re.compile(r"(?<![\d.,:/#-])\d{1,4}(?![\d:/%]|[.,]\d)")
_SHORTEST = 20
"""Characters of a text that is no name."""


class TextFact(NamedTuple):
    """A number of a text, and what it is said of."""

    form: Key
    """Its key without the value, such as `("count", "area")`."""
    value: Decimal
    elements: frozenset[Element]


def facts_in(text: str, places: Places) -> Iterator[TextFact]:
    """Yield the counts that a text tells of the things that it names."""
    if len(text) < _SHORTEST or not _BARE.search(text):
        return
    read = read_text(text)
    for sentence in sentences(read.plain, list(read.figures)):
        named = mentions(sentence, places)
        inside = [one for one in read.claims if one.kind == "count" and sentence.start <= one.start < sentence.end]
        for series in _series(inside, sentence.whole, sentence.end, sentence.figures) if named else ():
            among = replace(sentence, figures=tuple(series))
            for one in series:
                value = one.keys[0][-1]
                if isinstance(value, Decimal):
                    yield TextFact(one.keys[0][:-1], value, elements_of(one, among, named))


def _series(claims: Iterable[Figure], text: str, end: int, figures: Sequence[Figure]) -> Iterator[list[Figure]]:
    """Yield the counts of each form, with the numbers behind them that have no unit: "21 m², the loft 38"."""
    by_form: dict[Key, list[Figure]] = {}
    for claim in sorted(claims, key=lambda one: one.start):
        by_form.setdefault(claim.keys[0][:-1], []).append(claim)
    for form, found in by_form.items():
        taken = [*found, *figures]
        bare = (
            Figure("count", match.start(), match.end(), ((*form, Decimal(match[0])),))
            for match in _BARE.finditer(text, found[0].end, end)
            if not any(one.start < match.end() and match.start() < one.end for one in taken)
        )
        yield sorted([*found, *(bare if len(by_form) == 1 else ())], key=lambda one: one.start)
