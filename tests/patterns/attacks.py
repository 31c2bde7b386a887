"""Make texts that are hard for a pattern: its own words repeated, almost matched and joined with each other.

In: a pattern.  Out: pieces of texts.  An attack is a head, a repeated piece, and a tail that spoils the match.
"""

import itertools
import re
import signal
import time
from collections.abc import Callable, Iterator
from re import _constants as op
from re import _parser
from types import FrameType
from typing import Any, NamedTuple

_SPOILERS = ("", "\0", "!", "1", "x")
_MOST_WORDS = 12
_CATEGORIES = {
    op.CATEGORY_DIGIT: "1",
    op.CATEGORY_SPACE: " ",
    op.CATEGORY_WORD: "a",
    op.CATEGORY_NOT_DIGIT: "a",
    op.CATEGORY_NOT_SPACE: "a",
    op.CATEGORY_NOT_WORD: "-",
}


class Attack(NamedTuple):
    """A recipe for a text of any length."""

    head: str
    piece: str
    tail: str

    def text(self, length: int) -> str:
        """Return the text with this length."""
        middle = length - len(self.head) - len(self.tail)
        return self.head + (self.piece * (middle // len(self.piece) + 1))[:middle] + self.tail


class TooLong(Exception):
    """The error that the processor time is used up."""


def attacks(pattern: re.Pattern[Any]) -> list[Attack]:
    """Return the attacks that the pattern's own text suggests."""
    source = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    tree = _parser.parse(source, pattern.flags & ~re.DEBUG)
    wholes = list(dict.fromkeys(itertools.islice(_examples(list(tree)), 4)))
    repeated = [piece for _, piece in _repeats(list(tree), "")]
    words = list(dict.fromkeys([*repeated, *wholes, *_words(list(tree))]))
    spread = words[:: max(1, len(words) // _MOST_WORDS)]
    found = [Attack(head, piece, tail) for head, piece in _repeats(list(tree), "") for tail in _SPOILERS]
    found += [Attack("", whole[:end], tail) for whole in wholes for end in (len(whole), -1) for tail in _SPOILERS]
    found += [Attack("", word + joint, tail) for word in spread for joint in ("", " ", "-", "\n") for tail in ("", "1")]
    return list(dict.fromkeys(attack for attack in found if attack.piece))


def cpu_s(work: Callable[[], object], at_most_s: float) -> float:
    """Return the processor seconds that work takes.

    Raises:
        TooLong: the work took more than allowed and was interrupted.
    """
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, at_most_s)
    start = time.process_time()
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - start


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise TooLong


def _examples(nodes: list[Any]) -> Iterator[str]:
    """Yield texts that a sequence of nodes matches, except for look-arounds."""
    if not nodes:
        yield ""
        return
    for first in itertools.islice(_one(nodes[0]), 3):
        for rest in itertools.islice(_examples(nodes[1:]), 2):
            yield first + rest


def _one(node: Any) -> Iterator[str]:
    kind, value = node
    if kind in _EXAMPLES:
        yield from _EXAMPLES[kind](value)
    elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        least, _, body = value
        yield from (each * max(1, least) for each in _examples(list(body)))
        if not least:
            yield ""
    else:
        yield ""


def _of_each(branches: Any) -> Iterator[str]:
    for branch in branches[1]:
        yield from itertools.islice(_examples(list(branch)), 1)


def _members(values: list[Any]) -> Iterator[str]:
    if values[0][0] is op.NEGATE:
        yield from (sign for sign in "a1 -" if re.match(r"[^\W]", sign) or len(values) < 4)
        return
    for kind, value in values:
        if kind is op.LITERAL:
            yield chr(value)
        elif kind is op.RANGE:
            yield chr(value[0])
        elif kind is op.CATEGORY:
            yield _CATEGORIES[value]


_EXAMPLES: dict[Any, Callable[[Any], Iterator[str]]] = {
    op.LITERAL: lambda value: iter(chr(value)),
    op.NOT_LITERAL: lambda _: iter("a"),
    op.ANY: lambda _: iter("a"),
    op.IN: _members,
    op.BRANCH: _of_each,
    op.SUBPATTERN: lambda value: _examples(list(value[3])),
    op.ATOMIC_GROUP: lambda value: _examples(list(value)),
}


def _repeats(nodes: list[Any], head: str) -> Iterator[tuple[str, str]]:
    """Yield, for each part that may repeat, an example of the text before it, and of the part."""
    for place, (kind, value) in enumerate(nodes):
        before = head + next(_examples(nodes[:place]))
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            _, most, body = value
            if most > 1:
                yield from ((before, each) for each in itertools.islice(_examples(list(body)), 4))
            yield from _repeats(list(body), before)
        elif kind is op.SUBPATTERN:
            yield from _repeats(list(value[3]), before)
        elif kind is op.ATOMIC_GROUP:
            yield from _repeats(list(value), before)
        elif kind is op.BRANCH:
            for branch in value[1]:
                yield from _repeats(list(branch), before)


def _words(nodes: list[Any]) -> Iterator[str]:
    """Yield the alternatives of a pattern, its lexicon."""
    for kind, value in nodes:
        if kind is op.BRANCH:
            for branch in value[1]:
                yield from itertools.islice(_examples(list(branch)), 2)
                yield from _words(list(branch))
        elif kind is op.SUBPATTERN:
            yield from _words(list(value[3]))
        elif kind is op.ATOMIC_GROUP:
            yield from _words(list(value))
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            yield from _words(list(value[2]))
        elif kind is op.IN:
            yield from _members(value)
