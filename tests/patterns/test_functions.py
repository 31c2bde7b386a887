"""Functions that read a text from outside take time in proportion to its length, whatever the text."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from typing import Any

import pytest

from tests.patterns.attacks import TooLong, cpu_s
from tests.planner.reply.grounding.replies import NOW, evidence
from turnloom.models.errors import InvalidPlan
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.knowledge.graph import word
from turnloom.planner.knowledge.values import meaning
from turnloom.planner.llm.json_object import read_object
from turnloom.planner.llm.offline.intent import understand
from turnloom.planner.llm.offline.rules import load_rules
from turnloom.planner.memory.slots import Slot, read_value
from turnloom.planner.reply.grounding import Evidence, ResultOrigin, check
from turnloom.planner.reply.grounding.scan import figures
from turnloom.planner.reply.sentence_stream import Sentences
from turnloom.planner.words import words_in
from turnloom.tools.packs.dates.stays import read_stays
from turnloom.tools.packs.hotel.terms import find_terms
from turnloom.tools.packs.research.comparison import Quoted, _stands_in
from turnloom.tools.packs.research.markdown import first_heading, split

KNOWN = evidence()
RULES = load_rules(ROOT / "prompts" / "offline")
PIECES = [
    *("one ", "one-", "cent ", "cents ", "מאה ", "אלף ", "one hundred ", "costs one ", "prices: ", "a a "),
    *("x", "1", "1,", "1 ", "12-", "a.", "a@", "a-1", "+1 ", "de ", "5 De", "1/", "(", "](", "<a href=", "//", "e.g."),
    *("ILS ", "https://", "a.b/", "\u0661", "①", "&#49;", "&", "_", "*", "`", "dni1", "passport-", "May 1 ", "1 and "),
    *("1000 EUR ", "054-1234567 ", "\u200b", "from ", "for two nights ", " / ", "# ", "#", " ", "\n", '."', "!", "!)"),
    *("{", '{"', '{"a":', "{'", ", }", '\\"', ",", ",\n", '{"a":1,}'),
    *("when is ", "echo ", "plan ", "can i ", "budget of ", "%", "½", "evil.", "。"),
]


def _held_back(text: str) -> None:
    private = Evidence(NOW)
    private.add_result({"guest_name": text, "note": [text[:40]] * 40}, ResultOrigin("s"))
    check(text, private)


def _as_evidence(text: str) -> None:
    Evidence(NOW).add_result({"url": "https://a.example.com/b", "text": text, text[:40]: 1}, ResultOrigin("s"))


def _spoken(text: str) -> None:
    sentences = Sentences(Evidence(NOW), lambda _: None)  # what the check itself takes is that of "reply"
    for start in range(0, len(text), 6):
        sentences(text[start : start + 6])
    sentences.finish()


def _understood(text: str) -> None:
    for domain in RULES.domains:
        understand([text], domain, RULES.manners, {}, ())


def _as_slot(text: str) -> None:
    for kind in ("money", "number", "integer", "date", "text"):
        try:
            read_value(text, Slot.model_validate({"type": kind}))
        except ValueError:
            continue


def _as_plan(text: str) -> None:
    for begin in ("", '{"', '{"a": "', '{"a": '):
        with suppress(InvalidPlan):
            read_object(begin + text)


READERS: dict[str, Callable[[str], Any]] = {
    "reply": lambda text: check(text, KNOWN),
    "private": _held_back,
    "sentences": _spoken,
    "offline": _understood,
    "slots": _as_slot,
    "dates": lambda text: read_stays(text[:200], date(2026, 11, 20)),
    "terms": lambda text: find_terms(text, "boards", "beds", "amenities", "topics"),
    "passages": lambda text: (split(text), first_heading(text)),
    "quotes": lambda text: _stands_in(Quoted(document="d", text=text + "b"), text[:1000]),
    "values": lambda text: meaning(text[:1000]),
    "names": word,
    "words": lambda text: list(words_in(text)),
    "plans": _as_plan,
}
TAILS = ("", "1", "\0x")
LONG, PAGE = 10_000, 20_000
AT_MOST_S = 5.0
"""The limit of processor time, against hanging. Linear functions take hundredths of it."""
SHARE = 0.1
"""The part of the length at which each piece is read first."""
AT_MOST_LONGER = 25
"""How many times as long a text of full length may take. Linear work takes ten times as long, quadratic work 100."""
SLOWEST = 3
NOISE_S = 0.05
"""Processor time that says nothing about the work."""
TRIES = 3
"""A busy neighbour makes single measurements longer. The shortest of several counts."""


def take_long(read: Callable[[str], Any], pieces: dict[str, str], length: int) -> None:
    """Read texts of repeated pieces, with their tails: all of them shorter, and the slowest in their full length.

    Raises:
        TooLong: one takes more than linear time would.
    """

    def spent(piece: str, share: float) -> float:
        text = piece * int(length * share / len(piece)) + pieces[piece]
        return cpu_s(lambda: read(text), AT_MOST_S)

    took = {piece: spent(piece, SHARE) for piece in pieces}
    for piece in sorted(pieces, key=lambda each: took[each])[-SLOWEST:]:
        part = min(took[piece], *(spent(piece, SHARE) for _ in range(TRIES - 1)))
        whole = spent(piece, 1)
        for _ in range(TRIES - 1):
            if whole > AT_MOST_LONGER * part + NOISE_S:
                whole = min(whole, spent(piece, 1))
        if whole > AT_MOST_LONGER * part + NOISE_S:
            raise TooLong(f"{piece!r} takes {part:.2f} s at {SHARE} of the length, {whole:.2f} s at all of it")


@pytest.mark.parametrize("reader", READERS)
def test_no_text_takes_long(reader: str) -> None:
    """Ten thousand characters are read at once, even if they repeat, join or almost match the words sought."""
    tails = {piece: TAILS[place % len(TAILS)] for place, piece in enumerate(PIECES)}

    take_long(lambda text: READERS[reader]("a " + text), tails, LONG)


@pytest.mark.parametrize("every_second", [0, 1])
def test_no_page_takes_long(every_second: int) -> None:
    """A page of twenty thousand characters, which may become evidence, is read at once too."""
    take_long(_as_evidence, dict.fromkeys(PIECES[every_second::2], ""), PAGE)


def test_quadratic_work_takes_long() -> None:
    """A function that compares each character with each other is found."""
    with pytest.raises(TooLong, match="of the length"):
        take_long(lambda text: sum(one == other for one in text for other in text), {"ab": ""}, 2_000)


@pytest.mark.parametrize("text", ["one " * 1999 + "1", "cent " * 400 + "1", "מאה " * 1900 + "1", "one hundred " * 600])
def test_a_row_of_numerals_takes_no_longer_than_another(text: str) -> None:
    """Numerals are read about as fast as other words of their length."""
    plain = "and " * (len(text) // 4)
    took = min(cpu_s(lambda: figures(text), AT_MOST_S) for _ in range(3))
    other = min(cpu_s(lambda: figures(plain), AT_MOST_S) for _ in range(3))

    assert took < 50 * other + 0.01
