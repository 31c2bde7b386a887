"""Price units: what an amount is for, by the words right behind it, such as "per car, each way"."""

import re
from functools import lru_cache

from turnloom.planner.reply.grounding.lexicon import spoken, words

LONGEST = 40
"""Most characters behind an amount that are read."""
_BEFORE_PARTY = ("the", "for", "für", "pour", "vous", "los", "las", "voor", "jullie", "per")
_NUMBER = "".join(rf"(?<!{word} )" for word in _BEFORE_PARTY) + r"\d|\d\d"
_END = re.compile(
    rf"[;:.!?()\n\u060c\u061b\u061f](?:\s|$)|[\u3001\u3002\uff0c\uff1b]|,\s(?=(?:\w+ ){{1,2}}\d)|{_NUMBER}"
    r"|[$\u20ac\u00a3\u20aa\u20b9]"
)
"""The end of what is said of an amount: that of the clause, or the next number that is not how many pay it."""


@lru_cache(maxsize=4096)
def units_in(behind: str) -> dict[str, str]:
    """Return what an amount is for, by kind, such as who pays it: `{"who": "person", "way": "one"}`."""
    said = _own(behind)
    found: dict[str, str] = {}
    for kind, units in words()["price_units"].items():
        matches = [(match.start(), unit) for unit, spelt in units.items() if (match := spoken(spelt).search(said))]
        if matches:
            found[kind] = min(matches)[1]
    return found


def are_unlike(one: str, other: str) -> bool:
    """Return whether two amounts are for different things, by the words right behind each of them."""
    known, said = units_in(other), units_in(one)
    if "who" in said and "who" not in known and known and known.get("way") != "both":
        return True  # "per trip", or "a night", is for everybody
    if known.get("who") == "person" and "who" not in said and spoken(words()["for_all"]).search(_own(one)):
        return True
    return any(known.get(kind, unit) != unit for kind, unit in said.items())


def _own(behind: str) -> str:
    """Return the words behind an amount that say something of it."""
    return _END.split(behind[:LONGEST], maxsplit=1)[0]
