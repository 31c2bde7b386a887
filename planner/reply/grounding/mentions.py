"""Mentions: the names in a sentence, and which element of a list a figure is said of by them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from turnloom.planner.reply.grounding.assertions import goes_on
from turnloom.planner.reply.grounding.businesses import kinds
from turnloom.planner.reply.grounding.element_names import SHORTEST_WORD
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.labels import PREFIX
from turnloom.planner.reply.grounding.lexicon import either, spoken, words
from turnloom.planner.reply.grounding.places import EAST_ASIAN, Element, EvidencePlace, Places, list_of
from turnloom.planner.reply.grounding.sentences import Sentence

_WORD = re.compile(
    r"[A-Za-z\d]+(?=[\u3040-\u30ff\u3400-\u9fff])|[^\W_]+?(?<=[\u3040-\u30ff\u3400-\u9fff])(?=[A-Z]{2}\d)|[^\W_]+"
)
"""A word. A code begins and ends where Japanese goes on without a blank."""
_INNERMOST = re.compile(r"(?<=\])[^\]]*$")

COMMA = re.compile(r"[,;]\s")
_AMOUNTS = ("money", "number")
_BESIDE = 2
"""Most characters between two words of one name."""
_LONGEST_COMMON = 4
"""A lower-case word of at most this length is no name, such as "the" or "free"."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A word of a sentence that names some elements of lists."""

    start: int
    end: int
    elements: frozenset[Element]


def mentions(sentence: Sentence, places: Places) -> list[Mention]:
    """Return the names in a sentence, in order."""
    found: list[Mention] = []
    if not (places.named or places.whole_names):
        return found
    found.extend(
        replace(name, start=sentence.start + name.start, end=sentence.start + name.end)
        for name in _whole_names(sentence.text, places)
    )
    whole = [(mention.start, mention.end) for mention in found]
    for match in _WORD.finditer(sentence.whole, sentence.start, sentence.end):
        if any(start <= match.start() < end for start, end in whole):
            continue
        word = match[0] if len(match[0]) < SHORTEST_WORD else match[0].lower()
        elements = next((known for form in _forms(word) if (known := places.named.get(form))), None)
        is_noun = spoken(words()["no_nouns"]).match(sentence.whole, match.start()) is None
        if elements and not (is_noun and _names_nothing().isdisjoint(map(str.lower, _forms(word)))):
            continue
        # One may be called Grand Hotel, and still "a hotel" is any of them.
        is_common = match[0].islower() and (len(word) <= _LONGEST_COMMON or word in kinds())
        is_name = elements and not is_common and word not in _articles() and word.lower() not in places.everywhere
        if elements and is_name:
            found.append(Mention(match.start(), match.end(), frozenset(elements)))
    return sorted(found, key=lambda mention: mention.start)


def _whole_names(text: str, places: Places) -> Iterator[Mention]:
    """Yield the names of several words in a text, wherever they stand."""
    lower = text.lower()
    for name, having in places.whole_names.items():
        start = lower.find(name)
        while start >= 0:
            end = start + len(name)
            is_run = EAST_ASIAN.search(name) is not None
            if is_run or not (lower[start - 1 : start].isalnum() or lower[end : end + 1].isalnum()):
                yield Mention(start, end, frozenset(having))
            start = lower.find(name, end)


def outside_names(found: Sequence[Figure], text: str, places: Places) -> list[Figure]:
    """Return the figures but the times and days in words that belong to a name, such as "Midnight" Train."""
    names = list(_whole_names(text, places)) if any(_is_moment_in_words(one, text) for one in found) else []
    return [one for one in found if not (_is_moment_in_words(one, text) and _is_part(one, names))]


def _is_moment_in_words(figure: Figure, text: str) -> bool:
    is_moment = figure.kind in ("time", "date", "weekday")
    return is_moment and not any(sign.isdigit() for sign in text[figure.start : figure.end])


def _is_part(figure: Figure, names: Iterable[Mention]) -> bool:
    return any(name.start <= figure.start and figure.end <= name.end for name in names)


def of_columns(sentence: Sentence, places: Places) -> list[Mention]:
    """Return the names in the heading of a table at the cells of a row under it, if it names several columns."""
    if sentence.heading is None:
        return []
    heading = replace(sentence, start=sentence.heading[0], end=sentence.heading[1])
    cells, columns = _cells(sentence), _cells(heading)
    named = [
        (n, one)
        for one in mentions(heading, places)
        for n, (start, end) in enumerate(columns)
        if start <= one.start < end
    ]
    if len({n for n, _ in named}) < 2 or len(cells) != len(columns):
        return []
    return [replace(one, start=cells[n][0], end=cells[n][0]) for n, one in named]


def _cells(row: Sentence) -> list[tuple[int, int]]:
    """Return the places of the cells of a table's row."""
    bars = [row.start + place for place, sign in enumerate(row.text) if sign == "|"]
    return [(start + 1, end) for start, end in pairwise(bars)]


def lists_of(named: Iterable[Mention]) -> dict[Element, frozenset[Element]]:
    """Return the elements that are named, by their list."""
    found: dict[Element, frozenset[Element]] = {}
    for element in (element for mention in named for element in mention.elements):
        found[list_of(element)] = found.get(list_of(element), frozenset()) | {element}
    return found


def dated(days: Iterable[Figure], places: Places) -> list[Mention]:
    """Return the days among some that name elements of lists: what happens then."""
    return [Mention(day.start, day.end, having) for day in days if (having := _having(day, places))]


def _forms(word: str) -> tuple[str, ...]:
    """Return a word, and what is left of it without the letters that Hebrew and Arabic write in front."""
    prefix = PREFIX.match(word)
    return (word, *(word[length:] for length in range(1, len(prefix[0]) + 1))) if prefix else (word,)


@lru_cache
def _names_nothing() -> frozenset[str]:
    return frozenset(words()["name_nothing"])


@lru_cache
def _articles() -> frozenset[str]:
    return frozenset(words()["articles"])


def elements_of(figure: Figure, sentence: Sentence, named: list[Mention]) -> frozenset[Element]:
    """Return the elements that a figure is said of: those named before it, or else those named next."""
    listed = sentence.whole.rfind(": ", sentence.start, figure.start)
    if any(listed < mention.start < figure.start for mention in named if listed >= 0):
        named = [mention for mention in named if mention.start > listed]  # "950 in all: A for 400, and B for 550"
    kinds = _AMOUNTS if figure.kind in _AMOUNTS else (figure.kind,)  # "690 francs for the one and 470 for the other"
    others = [other for other in sentence.figures if other.kind in kinds and other.start > listed]
    first = min((other.start for other in others), default=figure.start)
    stop = min((other.start for other in others if other.start >= figure.end), default=sentence.end)
    if named and named[0].start < first:
        before = [mention for mention in named if mention.end <= figure.start]
        begin = max((other.end for other in others if other.end <= figure.start), default=sentence.start)
        if any(_against().fullmatch(sentence.whole, *gap) for gap in ((begin, figure.start), (figure.end, stop))):
            return frozenset().union(*_groups(before)[-2:])  # "A is 10 dearer than B: 272 against 262"
        between = [mention for mention in before if mention.start >= begin]
        is_against = _against_before().search(sentence.whole, begin, figure.start) is not None
        if is_against and not between:  # "A costs 842, against 915 for B"
            behind = _groups([mention for mention in named if figure.end <= mention.start < stop])
            if behind:
                return behind[0]
        return frozenset().union(*(_groups(between) or _groups(before)[-1:]))
    ends = [_next_statement(), *([COMMA] if goes_on(sentence.text) else [])]  # "It covers 580 km², the other one 536"
    stop = min([stop, *(joint.start() for end in ends if (joint := end.search(sentence.whole, figure.end, stop)))])
    after = [mention for mention in named if figure.end <= mention.start < stop]
    is_more = any(other.start >= figure.end for other in others)
    comma = COMMA.search(sentence.whole, figure.end, sentence.end) if is_more else None
    after = [mention for mention in after if not (comma and comma.start() < mention.start)]  # "12 a day, the sauna 9"
    own = [one for one in after if not _against_before().search(sentence.whole, figure.end, one.start)]
    return next(iter(_groups(own)), frozenset()) if own or after else _last_in_clause(figure, sentence, named)


def _last_in_clause(figure: Figure, sentence: Sentence, named: list[Mention]) -> frozenset[Element]:
    """Return the elements named last before a figure in its clause, where another one before it has no name there."""
    start, _ = sentence.clause(figure.start)
    inside = _groups([mention for mention in named if start <= mention.start and mention.end <= figure.start])
    return inside[-1] if inside else frozenset()


@lru_cache
def _against() -> re.Pattern[str]:
    return re.compile(rf"\s(?:{words()['against']})\s", re.IGNORECASE)


@lru_cache
def _against_before() -> re.Pattern[str]:
    return re.compile(rf"\s(?:{words()['against']})\s$", re.IGNORECASE)


def is_in_one_statement(figure: Figure, sentence: Sentence, named: list[Mention]) -> bool:
    """Return whether the last name before a figure stands in one statement with it: not in "A costs 90, and B 120"."""
    before = [mention.end for mention in named if mention.end <= figure.start]
    return not before or is_one_statement(sentence.whole, max(before), figure.start)


def is_one_statement(text: str, start: int, end: int) -> bool:
    """Return whether a part of a sentence is within one statement: not "120, and parking 50"."""
    return _next_statement().search(text, start, end) is None


def own_statement(figure: Figure, sentence: Sentence, named: list[Mention]) -> str:
    """Return the statement that a figure is in, if the last name before it stands in another one; or else nothing."""
    before = max((mention.end for mention in named if mention.end <= figure.start), default=sentence.start)
    begun = [joint.end() for joint in _next_statement().finditer(sentence.whole, before, figure.start)]
    after = _next_statement().search(sentence.whole, figure.end, sentence.end)
    return sentence.whole[begun[-1] : after.start() if after else sentence.end] if begun else ""


@lru_cache
def _next_statement() -> re.Pattern[str]:
    """Return the pattern of what separates a figure from a name that the next one is said of: "120, and parking 50"."""
    joints = either(map(re.escape, words()["list_joints"]))
    listed = rf"[,\u060c\u061b]\s(?:(?:{joints})\s|[\u05d5\u0648])|\u3001"
    return re.compile(rf";\s|,?\s(?:{words()['clause_joints']})\s|{listed}", re.IGNORECASE)


def elements_of_claim(claim: Figure, sentence: Sentence, named: list[Mention]) -> frozenset[Element]:
    """Return the elements that a policy is said of: those named in its clause, or else the last ones named before."""
    start, end = sentence.clause(claim.start)
    if spoken(words()["others"]).search(sentence.whole, start, end):
        return frozenset()  # it is said of what is not named
    inside = _groups([mention for mention in named if start <= mention.start < end])
    before = _groups([mention for mention in named if mention.end <= start])
    if not inside and sentence.whole[:start].rstrip(" ").endswith(";"):  # "; with a stop, B costs 90"
        start, end = sentence.clause(end)
        inside = _groups([mention for mention in named if start <= mention.start < end])
    return frozenset().union(*(inside or before))


def elements_of_price(claim: Figure, sentence: Sentence, places: Places) -> frozenset[Element]:
    """Return the elements that have the amount before a policy in its sentence, or else the one in its clause."""
    start, end = sentence.clause(claim.start)
    money = [figure for figure in sentence.figures if figure.kind == "money" and figure.start < end]
    before = [figure for figure in money if figure.end <= claim.start]
    inside = [figure for figure in money if figure.start >= start]
    if not money:
        return frozenset()
    is_before_price = bool(inside) and claim.start <= inside[0].start  # "refundable for 740"
    return _having((inside if is_before_price else before or money)[-1], places)


def offers_named(sentence: Sentence, named: list[Mention], places: Places) -> list[frozenset[Element]]:
    """Return the elements of each name of a sentence: of several with one name, those with the amount behind it."""
    found = []
    for place, mention in enumerate(named):
        stop = named[place + 1].start if place + 1 < len(named) else sentence.end
        amounts = [one for one in sentence.figures if one.kind == "money" and mention.end <= one.start < stop]
        priced = _having(amounts[0], places) & mention.elements if amounts else frozenset[Element]()
        found.append(priced or mention.elements)
    return found


def _having(figure: Figure, places: Places) -> frozenset[Element]:
    """Return the elements of lists that have a figure in a field of their own."""
    found = places.of(figure.keys)
    listed = (place for place in found if "[" in place.path and not place.is_prose)
    return frozenset((place.step, place.turn, _INNERMOST.sub("", place.path)) for place in listed)


def fits(place: EvidencePlace, elements: frozenset[Element]) -> bool:
    """Return whether a place is in one of some elements, or in none of their lists."""
    return not elements or is_in(place, elements) or not any(is_beside(place, element) for element in elements)


def is_in(place: EvidencePlace, elements: frozenset[Element]) -> bool:
    """Return whether a place is in one of some elements."""
    return any(
        (place.step, place.turn) == (step, turn) and f"{place.path}.".startswith((f"{path}.", f"{path}["))
        for step, turn, path in elements
    )


def is_beside(place: EvidencePlace, element: Element) -> bool:
    """Return whether a place is in the list of an element."""
    step, turn, path = element
    return (place.step, place.turn) == (step, turn) and place.path.startswith(f"{path.rpartition('[')[0]}[")


def _groups(found: list[Mention]) -> list[frozenset[Element]]:
    """Return the elements of each name: words side by side are one name."""
    groups: list[frozenset[Element]] = []
    end = -_BESIDE - 1
    for mention in found:
        shared = groups[-1] & mention.elements if groups and mention.start - end <= _BESIDE else frozenset()
        groups[len(groups) - bool(shared) :] = [shared or mention.elements]
        end = mention.end
    return groups
