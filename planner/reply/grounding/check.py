"""Check a text against its evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from turnloom.models.contracts.turn import Source
from turnloom.planner.reply.grounding.evidence import Evidence, EvidencePlace
from turnloom.planner.reply.grounding.figures import PERSONAL, Figure, folded, visible
from turnloom.planner.reply.grounding.scan import figures

STALE_S = 600
"""A price is stale after this many seconds."""

Reason = Literal["no_source", "personal", "page"]


@dataclass(frozen=True, slots=True)
class Violation:
    """A piece of a text that must not be said."""

    text: str
    kind: str
    reason: Reason
    """`no_source`: no evidence holds it. `personal`: it may belong to somebody else. `page`: only a web page says so,
    and the text does not name the page."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Grounding:
    """The result of a check."""

    sources: tuple[Source, ...]
    violations: tuple[Violation, ...]
    oldest_price_s: int = 0
    """Age of the oldest stale price in the text; 0 if no price is stale."""


def check(text: str, evidence: Evidence) -> Grounding:
    """Trace every figure of a text to its source. The same text and evidence give the same result."""
    text, places = visible(text)
    sources: dict[Source, None] = {}
    violations = _private_values(text, evidence)
    oldest_s = 0
    for figure in figures(text):
        place = evidence.place(figure.keys)
        if place is None:
            violations.append(_violation(figure, text))
            continue
        if figure.kind == "money" and place.page is not None and not (place.page and place.page in text.lower()):
            violations.append(Violation(figure.text(text), figure.kind, "page", figure.start, figure.end))
            continue
        is_stale = figure.kind == "money" and place.age_s > STALE_S
        oldest_s = max(oldest_s, place.age_s if is_stale else 0)
        sources[_source(figure.text(text), place, is_stale)] = None
    placed = [replace(found, start=places[found.start], end=places[found.end]) for found in violations]
    return Grounding(tuple(sources), tuple(sorted(placed, key=lambda found: found.start)), oldest_s)


def withhold(text: str, violations: Sequence[Violation]) -> str:
    """Replace each violation by an ellipsis."""
    kept, end = "", 0
    for violation in sorted(violations, key=lambda found: found.start):
        if violation.end > end:
            kept += f"{text[end : violation.start]}…" if violation.start >= end else ""
            end = violation.end
    return kept + text[end:]


def _source(text: str, place: EvidencePlace, is_stale: bool) -> Source:
    return Source(text=text, step=place.step, path=place.path, turn=place.turn, stale=is_stale)


def _violation(figure: Figure, text: str) -> Violation:
    reason: Reason = "personal" if figure.kind in PERSONAL else "no_source"
    return Violation(figure.text(text), figure.kind, reason, figure.start, figure.end)


def _private_values(text: str, evidence: Evidence) -> list[Violation]:
    """Find the values that results hold about other people, word for word."""
    plain, places = folded(text)
    found: list[Violation] = []
    for value in evidence.private_in(plain):
        end = 0
        while (start := plain.find(value, end)) >= 0:
            end = start + len(value)
            if not (_is_in_word(plain[start - 1 : start]) or _is_in_word(plain[end : end + 1])):
                first, last = places[start], places[end - 1] + 1
                found.append(Violation(text[first:last], "personal", "personal", first, last))
    return found


def _is_in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
