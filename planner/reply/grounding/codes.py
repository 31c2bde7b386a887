"""Short codes: of a room, of a meeting, of a network. They must stand in the evidence to the letter.

Longer ones are identifiers (`contacts.py`).
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from turnloom.planner.reply.grounding.contacts import named_by
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.source_texts import SourceTexts

_SIGN = r"[A-Za-z0-9]"
_MIXED = re.compile(
    rf"(?<![\w@/.#=&?-])(?!\d{{1,2}}h\d)(?:[a-z]{{3,12}}\d{{2,4}}|[A-Z]{{3,8}}-\d{{1,4}}-[A-Z]{{2,8}}|(?=\d?[a-z]+\d|\d[a-z]\d)(?:{_SIGN}){{4}})"
    r"(?![\w@/=&-]|[.,:]\w)"
)
"""A word with digits that is no number with its unit: wlan48, SPRING-10-OFF, 7f2b."""
_IS = "is|ist|lautet|es|est|è|é|:"


def unknown_codes(text: str, known: SourceTexts) -> Iterator[Figure]:
    """Yield the codes in a text that the evidence does not have."""
    for pattern, group in ((_named(), "code"), (_MIXED, 0)):
        for match in pattern.finditer(text):
            if not known.has(match[group]):
                yield Figure("identifier", match.start(group), match.end(group), ())


@lru_cache
def _named() -> re.Pattern[str]:
    """Return the pattern of a code behind a word that says that it is one."""
    names, joints = named_by("code_names")
    return re.compile(
        rf"(?i:(?<![^\W\d_])(?:{names})(?:\s?(?:(?:{joints})\s?){{0,3}}|(?:\s[^\W\d_]+){{1,3}}\s(?:{_IS}))):?\s[\"'*`]{{0,2}}"
        rf"(?P<code>[A-Z][A-Z0-9]{{2,7}}|(?={_SIGN}*\d)(?={_SIGN}*[A-Za-z]){_SIGN}{{3,12}})(?![\w@-]|[.:]\w)"
    )
