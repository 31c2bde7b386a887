"""Split a text into messages without cutting what must be read as one: a price, a date, a link, a row of a table.

A text is cut between paragraphs, else lines, else sentences, else words. A space near a number is no place to cut:
"900 ILS", "5 de diciembre de 2026" and "2 nights" stay whole, in any language. Where there are no spaces, as in
Chinese, it is cut after a mark, else outside of figures. Linear in the text.
"""

import re
from collections.abc import Iterator

_LINK = re.compile(r"<https?://[^<>]*>")
"""A link with a label, as Slack writes it. A bare link contains no space."""
_DIGIT = re.compile(r"\d")
_ENDS = ".!?…。؟"
_STOPS, _PAUSES = "。！？", "，、；："  # noqa: RUF001 - the marks of scripts that write no spaces
_FIGURE = re.compile(r"[\d.,:/%+\-$€£¥₪₹₩，．：元円年月日号時点分]")  # noqa: RUF001 - as Chinese and Japanese write them
"""What a figure is written with, and what stands right beside it."""
_JOINED = re.compile(r"[\u0300-\u036f\u200d\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]")
"""What belongs to the character before it."""
_ENTITY = re.compile(r"&(?:amp|lt|gt);")
_ENTITY_CHARS = 5
_NEAR = 40
"""How many characters around a place are looked at."""
_LINK_CHARS = 4_000
"""The longest link that is kept whole."""


def split(text: str, limit: int) -> Iterator[str]:
    """Yield a text in parts of at most `limit` UTF-16 units, none of which is blank."""
    text = text.strip()
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
    return _between_words(text, room) or _between_characters(text, room)


def _between_words(text: str, room: int) -> int | None:
    shown = _LINK.sub(lambda link: link[0].replace(" ", "_"), text[: room + _LINK_CHARS])
    places = [found.start() + 1 for found in re.finditer(" ", shown[1 : room + 1])]
    apart = [place for place in places if not _is_near_number(shown, place)]
    sentences = [place for place in apart if shown[place - 1] in _ENDS and place > room // 2]
    marks = [place for stops in (_STOPS, _PAUSES) if (place := _after_mark(shown, room, stops))]
    return next((found[-1] for found in (sentences, marks[:1], apart, places) if found), None)


def _after_mark(text: str, room: int, marks: str) -> int | None:
    """Return the place after the last of these marks in the second half that is no part of a figure."""
    found = (place for place in range(room, room // 2, -1) if text[place - 1] in marks)
    return next((place for place in found if not _is_joined(text, place)), None)


def _between_characters(text: str, room: int) -> int:
    """Return a place that is in no figure, entity or joined character; if none is near, where the room ends."""
    near = range(room, max(0, room - _NEAR), -1)
    return next((place for place in near if not _is_joined(text, place)), room)


def _is_joined(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place : place + 1]
    if _JOINED.match(after) or before == "\u200d" or (_FIGURE.match(before) and _FIGURE.match(after)):
        return True
    entity = text.rfind("&", max(0, place - _ENTITY_CHARS + 1), place)
    return entity >= 0 and (found := _ENTITY.match(text, entity)) is not None and found.end() > place


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
