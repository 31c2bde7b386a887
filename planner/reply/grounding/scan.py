"""Read the figures of all kinds in a text. The order of the scanners keeps one kind from being taken for another."""

from functools import lru_cache

from turnloom.planner.reply.grounding.amounts import find_amounts
from turnloom.planner.reply.grounding.assertions import find_assertions
from turnloom.planner.reply.grounding.contacts import find_documents, find_identifiers, find_links, find_phones
from turnloom.planner.reply.grounding.counts import find_counts, find_durations
from turnloom.planner.reply.grounding.days import find_days, find_weekdays
from turnloom.planner.reply.grounding.figures import Figure, Scanner, find, without
from turnloom.planner.reply.grounding.times import find_times

_SCANNERS: tuple[Scanner, ...] = (
    find_links,
    find_days,
    find_documents,
    find_times,
    find_identifiers,
    find_phones,
    find_amounts,
)
_CLAIMS: tuple[Scanner, ...] = (find_durations, find_counts, find_weekdays)


def figures(text: str) -> list[Figure]:
    """Return every figure of a text that needs a source, in the order of the text."""
    return find(text, _SCANNERS)


def claims(text: str, found: list[Figure]) -> list[Figure]:
    """Return what may not contradict a source: counts, durations, weekdays, policies and deeds."""
    counted = find(without(text, [figure for figure in found if figure.kind != "number"]), _CLAIMS)
    return [*counted, *find_assertions(text)]


@lru_cache(maxsize=256)
def figures_of_many(text: str) -> tuple[Figure, ...]:
    """Return the figures of a text that is read repeatedly, such as a persona. The result is cached."""
    return tuple(figures(text))


@lru_cache(maxsize=256)
def claims_of_many(text: str) -> tuple[Figure, ...]:
    """Return the claims of a text that is read repeatedly. The result is cached."""
    return tuple(claims(text, list(figures_of_many(text))))


def prepare() -> None:
    """Load the words and compile the patterns, so that the first text of a process does not wait for them."""
    figures("Fri 5 May 2026: 1 euro")
