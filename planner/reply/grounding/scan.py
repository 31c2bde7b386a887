"""Read the figures of all kinds in a text. The order of the scanners keeps one kind from being taken for another."""

from functools import lru_cache

from turnloom.planner.reply.grounding.amounts import find_amounts, find_amounts_in_words
from turnloom.planner.reply.grounding.contacts import find_documents, find_identifiers, find_links, find_phones
from turnloom.planner.reply.grounding.days import find_days, find_times
from turnloom.planner.reply.grounding.figures import Figure, Scanner, find

_SCANNERS: tuple[Scanner, ...] = (
    find_links,
    find_days,
    find_documents,
    find_times,
    find_identifiers,
    find_phones,
    find_amounts,
    find_amounts_in_words,
)


def figures(text: str) -> list[Figure]:
    """Return every figure of a text that needs a source, in the order of the text."""
    return find(text, _SCANNERS)


@lru_cache(maxsize=256)
def figures_of_many(text: str) -> tuple[Figure, ...]:
    """Return the figures of a text that is read repeatedly, such as a persona. The result is cached."""
    return tuple(figures(text))


def prepare() -> None:
    """Load the words and compile the patterns, so that the first text of a process does not wait for them."""
    figures("Fri 5 May 2026: 1 euro")
