"""No text from outside takes long to search: each of our patterns, with the code around it, takes linear time."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.patterns.attacks import Attack, TooLong, attacks, cpu_s
from tests.patterns.census import Found, Unread, held, modules, patterns
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.llm.offline.rules import Rules, load_rules

SHORT = {
    "turnloom.planner.reply.grounding.amounts:_patterns.before": "it meets the 24 characters before a number",
    "turnloom.planner.reply.grounding.amounts:_patterns.price_before": "it meets the 24 characters before a number",
    "turnloom.planner.reply.grounding.days:_WORD_BEFORE": "it meets the 24 characters before a date",
}
"""Patterns that are only used on a short text."""
PUT_TOGETHER = {
    "turnloom.tools.packs.hotel.terms:_index",
    "turnloom.planner.reply.grounding.lexicon:currency_codes",
    "turnloom.planner.reply.grounding.amounts:_scale",
    "turnloom.planner.reply.grounding.times:_beside_hours",
    "turnloom.planner.reply.grounding.times:_beside_twelve",
    "turnloom.planner.reply.grounding.lexicon:spoken",
    "turnloom.planner.draft.planning_prompt:_described",
    "turnloom.planner.llm.offline.rules:_compiled",
    "turnloom.planner.llm.offline.rules:pattern",
    "turnloom.planner.llm.offline.intent:_is_unwanted",
}
"""Patterns made while the code runs. Those of rules are searched below, the others through their functions."""
PLACES = (
    ("turnloom.models.", "turnloom.tools.", "turnloom.workers.", "turnloom.web."),
    ("turnloom.planner.",),
    ("rules.",),
    ("without.",),
)
FIRST, LONG, LONGER = 1_000, 4_000, 16_000
AT_MOST_S = 0.2
"""The limit of processor time for a text that is not the longest, against hanging."""
NOTHING_S = 0.01
STEEPEST = 8.0
"""How many times as long four times the text may take. Linear searches take four times, quadratic ones sixteen."""


def _everything() -> Iterator[Found | Unread]:
    for module in modules():
        yield from patterns(module)
    rules = load_rules(ROOT / "prompts" / "offline")
    for path, pattern in held(rules, "rules"):
        yield Found(path, pattern, is_anchored=False)
    yield from _unwanted(rules)


def _unwanted(rules: Rules) -> Iterator[Found]:
    for domain in rules.domains:
        for want, pattern in domain.wants.items():
            without = rules.manners.without + pattern.pattern.removeprefix(r"\b")
            yield Found(f"without.{domain.name}.{want}", re.compile(without, re.IGNORECASE), is_anchored=False)


@pytest.fixture(scope="module")
def census() -> list[Found | Unread]:
    """Return every pattern of ours."""
    return list(_everything())


def search(found: Found, attack: Attack, length: int, at_most_s: float = AT_MOST_S) -> float:
    """Return the processor seconds of a search, or infinity if it was stopped."""
    text: Any = attack.text(length)
    pattern: re.Pattern[Any] = found.pattern
    if isinstance(pattern.pattern, bytes):
        text = text.encode()

    def work() -> None:
        if found.is_anchored:
            pattern.match(text)
            pattern.fullmatch(text)
        else:
            for _ in pattern.finditer(text):
                pass

    try:
        return cpu_s(work, at_most_s)
    except TooLong:
        return float("inf")


def steepness(found: Found) -> tuple[float, Attack | None]:
    """Return how much longer four times the worst text takes: infinity beyond the bound, 0 if nothing takes long."""
    first: list[tuple[float, Attack]] = []
    for attack in attacks(found.pattern):
        first.append((search(found, attack, FIRST), attack))
        if first[-1][0] == float("inf"):
            return first[-1]
    steepest: tuple[float, Attack | None] = (0.0, None)
    # The others would not take long at full length either, even in quadratic time: `ratio` would say 0.
    slow = [(took, attack) for took, attack in first if took * (LONGER / FIRST) ** 2 >= NOTHING_S]
    for _, attack in sorted(slow, reverse=True)[:6]:
        steepest = max(steepest, (ratio(found, attack), attack), key=lambda each: each[0])
        if steepest[0] >= STEEPEST:
            break
    return steepest


def ratio(found: Found, attack: Attack) -> float:
    """Return the least ratio of several measurements for four times the text, or 0 if the time is negligible."""
    least = float("inf")
    for _ in range(4):
        long = max(search(found, attack, LONG), NOTHING_S / 4)
        if long > AT_MOST_S:
            break
        longer = search(found, attack, LONGER, 2 * STEEPEST * long)
        if longer < NOTHING_S:
            return 0.0
        least = min(least, longer / long)
        if least < STEEPEST:
            break
    return least


@pytest.mark.parametrize("places", PLACES, ids=[places[0].rstrip(".:") for places in PLACES])
def test_patterns_take_linear_time(places: tuple[str, ...], census: list[Found | Unread], subtests: Any) -> None:
    """Four times as much of the worst text that a pattern's own words make takes about four times as long."""
    for found in census:
        if isinstance(found, Found) and found.name.startswith(places) and found.name not in SHORT:
            with subtests.test(msg=found.name):
                steepest, attack = steepness(found)

                assert steepest < STEEPEST, attack


def test_the_census_is_whole(census: list[Found | Unread]) -> None:
    """Every pattern is searched, by itself or through the function that makes it."""
    names = {found.name for found in census}

    assert {found.name for found in census if isinstance(found, Unread)} == PUT_TOGETHER
    assert names >= SHORT.keys()
    assert [name for name in names if not name.startswith(sum(PLACES, ()))] == []
    assert len(census) > 150


@pytest.mark.parametrize(
    "source",
    [
        r"\b(?:(?:cent|cents?)[\s-]+)+euro",
        r"(?:one|two|hundred)(?:[\s-]+(?:one|two|hundred))*[\s-]+euro",
        r"(a+)+b",
        r"(?:\w+\s?)*:",
        r"\s*;",
        r"<(b|i)>.*?</\1>",
    ],
)
def test_a_steep_pattern_is_found(source: str) -> None:
    """The attacks reveal a pattern that takes quadratic or exponential time."""
    steepest, _ = steepness(Found("new", re.compile(source, re.DOTALL), is_anchored=False))

    assert steepest >= STEEPEST
