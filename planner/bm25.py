"""BM25: how well texts match a goal, from the words that they share with it.

    match(text) = sum of idf(w) * tf * (K + 1) / (tf + K) over the goal's words w in the text,
                  divided by the sum of idf(w) over those in any text; at most 1
    idf(w)      = ln(1 + (N - df + 0.5) / (df + 0.5))

This is BM25 (Robertson and Zaragoza, 2009) without its correction for length, relative to a text that has each of the
goal's words once.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Set
from typing import TypeVar

_K = 1.2

Key = TypeVar("Key", bound=Hashable)


def matches(texts: Mapping[Key, Counter[str]], goal: Set[str]) -> dict[Key, float]:
    """Return how well each text matches the words of a goal, from 0 to 1. A text is given as its counted words."""
    frequency = Counter(one for counted in texts.values() for one in counted.keys() & goal)
    weight = {one: math.log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for one, count in frequency.items()}
    whole = sum(weight[one] for one in sorted(weight)) or 1.0
    found = {}
    for key, counted in texts.items():
        said = sorted(counted.keys() & weight.keys())
        parts = [weight[one] * counted[one] * (_K + 1) / (counted[one] + _K) for one in said]
        found[key] = min(1.0, sum(parts) / whole)
    return found
