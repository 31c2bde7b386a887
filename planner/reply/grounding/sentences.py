"""The sentences of a text, and what the words around a figure say of it."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal

from turnloom.planner.reply.grounding.counts import small_numbers
from turnloom.planner.reply.grounding.fields import Basis
from turnloom.planner.reply.grounding.figures import Figure, without
from turnloom.planner.reply.grounding.lexicon import spoken, words

CLOSING = "\"'\u2019\u201d)]»"
_AFTER_DIGIT = (
    r"(?:(?<=[,.:]\d\d)|(?<=\d{3})|(?<=[$€£₪]\d)|(?<=[$€£₪]\d\d))\.(?=\s+[^\W\d_a-zà-ÿ])"  # "costs $1,200. It"
    r"|(?<=\d)(?<!^\d)(?<!^\d\d)\.(?=\s+(?:The|This|That|It|I|We|You|Would|Shall|If|There|Please|Which|And|But|Das|Die|Der"
    r"|Es|Ich|Wir|Sie|Möchten|Soll|El|La|Los|Las|Le|Les|Je|Nous|Vous|Il)\b)"
)
SENTENCE_END = re.compile(
    rf"(?:(?<![\d\s])(?<!\b\w)\.|(?<=°[CF])\.|[!?…]|{_AFTER_DIGIT})[{re.escape(CLOSING)}]*\s+|[。\uff01\uff1f]\s*|\n+",
    re.MULTILINE,
)
"""The end of a sentence. A full stop after a space or a single letter does not count, as in initials. Nor does one
after a digit, as in dates, unless the digits are an amount's, or a common word begins behind it."""
_LONGEST = 500
_LARGEST_COUNT = 10_000
_BEFORE = 28
_AFTER = 36
_CLOSE_AFTER = 16
_CLAUSE_END = re.compile(r"[,;:.!?()\n\u060c\u061b\u061f](?:\s|$)|[\u3001\u3002\uff0c\uff1b]| - | \u2013 ")
_CALCULATIONS = ("sums", "differences", "shares")
_SIGN = re.compile(r"\s=\s|(?<![\w.,])[\d.,]{1,12} ?[x\u00d7*+÷] ?[^\s\w]?\d")
_ITEM = re.compile(r"^(?P<indent> {0,4})(?:(?P<mark>[-*\u2022\u30fb])|\d{1,2}[.)]) ?(?=\S)", re.MULTILINE)
Direction = Literal["near", "up", "down"]


@dataclass(frozen=True)
class Sentence:
    """A sentence of a text."""

    whole: str
    start: int
    end: int
    figures: tuple[Figure, ...]
    """Its figures that need a source."""
    heading: tuple[int, int] | None = None
    """The place of the first line of its table, if it is a line of one."""
    counts_before: frozenset[Decimal] = frozenset()
    """The small numbers in the sentences before it."""
    _said: dict[str, bool] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Its words."""
        return self.whole[self.start : self.end]

    @property
    def is_question(self) -> bool:
        """Whether it asks. A question offers; it states nothing."""
        return self.text.rstrip(CLOSING + " \n").endswith(("?", "؟", "\uff1f"))

    def says(self, name: str) -> bool:
        """Return whether it has words of a kind in `words.yaml`."""
        if name not in self._said:
            spans = [(self.start, self.end), *([self.heading] if self.heading else [])]
            self._said[name] = any(spoken(words()[name]).search(self.whole, *span) for span in spans)
        return self._said[name]

    @property
    def calculates(self) -> bool:
        """Whether it has a word or a sign of a calculation."""
        return any(self.says(kind) for kind in _CALCULATIONS) or self.has_sign

    @property
    def has_sign(self) -> bool:
        """Whether it has a sign of a calculation."""
        return _SIGN.search(self.text) is not None

    def says_beside(self, name: str, figure: Figure) -> bool:
        """Return whether such words are close to a figure."""
        start, end = max(self.start, figure.start - _BEFORE), min(self.end, figure.end + _CLOSE_AFTER)
        return spoken(words()[name]).search(self.whole, start, end) is not None

    def says_before(self, name: str, figure: Figure) -> bool:
        """Return whether such words stand before an amount, with no other one between."""
        others = [other.end for other in self.figures if other.kind == figure.kind and other.end <= figure.start]
        return spoken(words()[name]).search(self.whole, max(others, default=self.start), figure.start) is not None

    def begins_with(self, name: str) -> bool:
        """Return whether such words stand before all its figures, and so are of all of them: "Per night, ..."."""
        end = min((figure.start for figure in self.figures), default=self.end)
        return spoken(words()[name]).search(self.whole, self.start, min(end, self.start + _BEFORE)) is not None

    def says_in_clause(self, name: str, figure: Figure) -> bool:
        """Return whether such words are close to a figure, with no end of a clause between."""
        before = self.whole[max(self.start, figure.start - _BEFORE) : figure.start]
        after = self.whole[figure.end : min(self.end, figure.end + _CLOSE_AFTER)]
        pattern = spoken(words()[name])
        return any(pattern.search(part) for part in (_CLAUSE_END.split(before)[-1], _up_to_clause(after)))

    def is_scale(self, figure: Figure) -> bool:
        """Return whether a figure is the end of the scale of the one before it, as in "76 out of 100"."""
        return _scale().search(self.whole, self.start, figure.start) is not None

    def is_limit(self, figure: Figure) -> bool:
        """Return whether the words before a figure compare something with it, such as "over the 90"."""
        return _limits().search(self.whole, max(self.start, figure.start - _BEFORE), figure.start) is not None

    @property
    def is_item(self) -> bool:
        """Whether it is an item of a list."""
        return _ITEM.match(self.text) is not None

    def lists(self) -> set[int]:
        """Return how many items the whole text lists in lines of their own: with the same indent and mark."""
        return set(Counter(match.groups() for match in _ITEM.finditer(self.whole)).values())

    def period(self, figure: Figure) -> str | None:
        """Return the time that an amount is said to be for by the words right behind it, such as "a month"."""
        after = _up_to_clause(self.whole[figure.end : min(self.end, figure.end + _BEFORE)])
        found = [
            (match.start(), period)
            for period, read in words()["periods_of_price"].items()
            if (match := spoken(f"(?:{words()['per']})(?:{read['words']})").search(after))
        ]
        return min(found)[1] if found else None

    def is_for_all(self, figure: Figure) -> bool:
        """Return whether the words right behind an amount say that it is what all pay together."""
        return self._goes_on_with(words()["for_all"], figure)

    def is_for_one(self, figure: Figure) -> bool:
        """Return whether the words right behind an amount say that it is what each one pays, also for a night."""
        night, one = words()["basis"]["night"], words()["for_one"]
        return self._goes_on_with(rf"(?:(?:{night}),? )?(?:{one})", figure)

    def is_from_today(self, figure: Figure) -> bool:
        """Return whether the words right beside a number of days say that they lead from today."""
        before = self.whole[max(self.start, figure.start - _BEFORE) : figure.start]
        is_before = spoken(rf"(?:{words()['from_today_before']})\s?$").search(before) is not None
        return is_before or self._goes_on_with(words()["leading_from_today"], figure)

    def is_nightly(self, figure: Figure) -> bool:
        """Return whether the words right behind an amount say that it is for a night."""
        return self._goes_on_with(words()["basis"]["night"], figure)

    def _goes_on_with(self, pattern: str, figure: Figure) -> bool:
        after = _up_to_clause(self.whole[figure.end : min(self.end, figure.end + _AFTER)])
        return spoken(pattern).match(after.lstrip()) is not None

    @cached_property
    def without_figures(self) -> str:
        """Its words without its dates, times, links and amounts."""
        apart = [figure for figure in self.figures if figure.kind != "number"]
        shifted = [replace(one, start=one.start - self.start, end=one.end - self.start) for one in apart]
        return without(self.text, shifted)

    def counts(self) -> set[Decimal]:
        """Return the small numbers in it that are no part of a date, a time or a link, and its whole larger ones."""
        larger = {key[1] for one in self.figures for key in one.keys if one.kind == "number" and key[0] == "number"}
        small = small_numbers(self.without_figures)
        return small | {value for value in larger if isinstance(value, Decimal) and value < _LARGEST_COUNT}

    def clause(self, start: int) -> tuple[int, int]:
        """Return the place of the clause that a place of it is in."""
        ends = self._clause_ends
        behind = bisect_right(ends, start)
        return ends[behind - 1] if behind else self.start, ends[behind] if behind < len(ends) else self.end

    def clauses(self) -> Iterator[tuple[int, int]]:
        """Yield the places of its clauses."""
        for start, end in pairwise([self.start, *self._clause_ends, self.end]):
            if end > start:
                yield start, end

    @cached_property
    def _clause_ends(self) -> list[int]:
        return [match.end() for match in _clauses().finditer(self.whole, self.start, self.end)]

    def percents(self) -> set[Decimal]:
        """Return the percentages in it, and those that words such as "half" stand for."""
        keys = [key for figure in self.figures if figure.kind == "percent" for key in figure.keys]
        shares = (Decimal(100) / part for word, part in words()["fractions"].items() if spoken(word).search(self.text))
        return {key[1] for key in keys if isinstance(key[1], Decimal)} | set(shares)

    def parts(self) -> Iterator[tuple[Decimal, Decimal]]:
        """Yield the numbers of which one is said to be a part of the other, such as 19 of 25."""
        for match in _parts().finditer(self.text):
            part, whole = (Decimal(match[name].replace(",", ".")) for name in ("part", "whole"))
            if 0 < part < whole:
                yield part, whole

    def rounding(self, figure: Figure) -> Direction | None:
        """Return how a figure is said to be rounded; None if it is not."""
        before = self.whole[max(self.start, figure.start - _BEFORE) : figure.start]
        for direction, pattern in _hedges().items():
            if pattern.search(before):
                return direction
        after = self.whole[figure.end : min(self.end, figure.end + _BEFORE)].lstrip()
        return "near" if spoken(words()["hedges_after"]).match(after) else None

    def basis(self, figure: Figure) -> Basis | None:
        """Return what an amount is said to be for, by the words behind it or else before it."""
        money = [other for other in self.figures if other.kind == "money"]
        stop = min((other.start for other in money if other.start >= figure.end), default=self.end)
        begin = max((other.end for other in money if other.end <= figure.start), default=self.start)
        after = _up_to_clause(self.whole[figure.end : min(stop, figure.end + _AFTER)])
        before = self.whole[max(begin, figure.start - _BEFORE) : figure.start]
        return _basis_in(after) or _basis_in(_CLAUSE_END.split(before)[-1])


def sentences(text: str, figures: list[Figure]) -> Iterator[Sentence]:
    """Yield the sentences of a text with their figures."""
    start = place = 0
    heading: tuple[int, int] | None = None
    counted = frozenset[Decimal]()
    for end in _ends(text):
        first = place
        while place < len(figures) and figures[place].start < end:
            place += 1
        if end > start:
            is_row = text.startswith("|", start)
            yield Sentence(text, start, end, tuple(figures[first:place]), heading if is_row else None, counted)
            counted |= small_numbers(text[start:end])
            heading = (heading or (start, end)) if is_row else None
        start = end


def _ends(text: str) -> Iterator[int]:
    """Yield where sentences end. One that is too long is cut at a blank, so that each costs little to look at."""
    start = 0
    for end in [*(match.end() for match in SENTENCE_END.finditer(text)), len(text)]:
        while end - start > _LONGEST:
            blank = text.rfind(" ", start, start + _LONGEST)
            start = blank + 1 if blank > start else start + _LONGEST
            yield start
        start = end
        yield end


def _up_to_clause(text: str) -> str:
    return _CLAUSE_END.split(text, maxsplit=1)[0]


def _basis_in(text: str) -> Basis | None:
    kinds: tuple[Basis, ...] = ("night", "total")
    found = [(match.start(), kind) for kind in kinds if (match := spoken(words()["basis"][kind]).search(text))]
    return min(found)[1] if found else None


@lru_cache
def _hedges() -> dict[Direction, re.Pattern[str]]:
    # Longer words come first: "a little under" is not "under", and "just over" is not "over".
    return {
        direction: re.compile(
            rf"(?-i:(?<![^\W\d_\u2e80-\uffef]))(?:{words()['hedges'][direction]})\s?(?:(?:the|a|de|die|a|of|to|auf|po)\s)?[^\w\s]{{0,2}}$",
            re.IGNORECASE,
        )
        for direction in ("up", "down", "near")
    }


@lru_cache
def _limits() -> re.Pattern[str]:
    lexicon = words()
    return re.compile(
        rf"(?<![^\W\d_])(?:(?:{lexicon['limits']})(?: (?:{lexicon['limit_joints']})){{0,3}}|{lexicon['part_of']}) ?$",
        re.IGNORECASE,
    )


@lru_cache
def _parts() -> re.Pattern[str]:
    of, number = words()["part_joints"], r"\d{1,6}(?:[.,]\d{1,2})?"
    return re.compile(rf"(?<![\d.,])(?P<part>{number}) ?(?:{of}) ?(?P<whole>{number})(?![\d.,]\d)", re.IGNORECASE)


@lru_cache
def _scale() -> re.Pattern[str]:
    return re.compile(rf"\d(?: [^\W\d_]+){{0,3}} ?(?:{words()['part_joints']}) ?$", re.IGNORECASE)


@lru_cache
def _clauses() -> re.Pattern[str]:
    return re.compile(
        rf"[,;:().\u060c\u061b](?=\s)|[\u3001\uff0c\uff1b]|(?<![^\W\d_])(?:{words()['clause_joints']})(?![^\W\d_])",
        re.IGNORECASE,
    )
