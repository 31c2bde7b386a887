"""Split a text into messages without cutting what must be read as one: a price, a date, a link, a row of a table.

A text is cut between paragraphs, else lines, else sentences, else words. A space near a number is no place to cut:
"900 ILS", "5 de diciembre de 2026" and "2 nights" stay whole, in any language. Linear in the text.
"""

import re
from collections.abc import Iterator

_LINK = re.compile(r"<https?://[^<>]*>")
"""A link with a label, as Slack writes it. A bare link contains no space."""
_DIGIT = re.compile(r"\d")
_ENDS = ".!?…。؟"
_NEAR = 40
"""How many characters around a space are looked at."""


def split(text: str, limit: int) -> Iterator[str]:
    """Yield a text in parts of at most `limit` UTF-16 units."""
    while units(text[: limit + 1]) > limit:
        end = _end(text, limit)
        yield text[:end].rstrip()
        text = text[end:].lstrip()
    if text:
        yield text


def units(text: str) -> int:
    """Return the length of a text in UTF-16 units, as the channels count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _end(text: str, limit: int) -> int:
    """Return where to cut: the length of the next part."""
    room = _fitting(text, limit)
    if (place := text.rfind("\n\n", 1, room + 2)) > room // 2:  # an earlier one would leave a short message
        return place
    if (place := text.rfind("\n", 1, room + 1)) > 0:
        return place
    shown = _LINK.sub(lambda link: link[0].replace(" ", "_"), text[: room + _NEAR])
    spaces = [found.start() for found in re.finditer(" ", shown[1 : room + 1])]
    places = [place + 1 for place in spaces]
    apart = [place for place in places if not _is_near_number(shown, place)]
    sentences = [place for place in apart if shown[place - 1] in _ENDS and place > room // 2]
    return next((found[-1] for found in (sentences, apart, places) if found), room)


def _is_near_number(text: str, place: int) -> bool:
    """Whether a number is among the two words before or after a space; after a sentence, whether it is the next."""
    before, after = text[max(0, place - _NEAR) : place].split()[-2:], text[place : place + _NEAR].split()[:2]
    if before and before[-1][-1] in _ENDS and not before[-1].rstrip(_ENDS).isdigit():  # German writes "5. Mai"
        before, after = [], after[:1]
    return any(_DIGIT.search(word) for word in (*before, *after))


def _fitting(text: str, limit: int) -> int:
    """Return how many leading characters fit."""
    room = min(len(text), limit)
    while (over := units(text[:room]) - limit) > 0:
        room -= (over + 1) // 2  # a character has two units at most
    return room
