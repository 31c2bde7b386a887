"""Read the figures of a text, all kinds, in the order in which one kind must not be taken for another."""

from functools import lru_cache

from planner.grounding.amounts import find_amounts, find_amounts_in_words
from planner.grounding.contacts import find_documents, find_identifiers, find_links, find_phones
from planner.grounding.days import find_days, find_times
from planner.grounding.figures import Figure, Scanner, find

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
    """Return every figure of a text that needs a source, in its order."""
    return find(text, _SCANNERS)


@lru_cache(maxsize=256)
def figures_of_many(text: str) -> tuple[Figure, ...]:
    """Return the figures of a text that is read again and again, such as a persona."""
    return tuple(figures(text))


def prepare() -> None:
    """Load the words and compile the patterns: the first text of a process should not wait for them."""
    figures("Fri 5 May 2026: 1 euro")
