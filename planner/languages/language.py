"""A language of replies: its locale, and its words for the English texts of the templates."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from babel import Locale, UnknownLocaleError
from babel.core import parse_locale

Category = Literal["zero", "one", "two", "few", "many", "other"]
"""A plural category of Unicode's CLDR."""

Words = str | Mapping[Category, str]
"""A translation. One that depends on a number has a text for each of the language's plural categories."""

PLACEHOLDER = re.compile(r"\{([a-z_]{1,32})\}")
"""`{name}`: where a value goes in a text."""

_ISOLATE, _END = "\u2068", "\u2069"
_RIGHT_TO_LEFT = "\u200f"
_NO_COUNTRY = {"en": "en_GB"}
"""Locales for languages without a country. British dates cannot be misread: day before month, and 24 hours."""


@dataclass(frozen=True, eq=False)
class Language:
    """A language of replies."""

    locale: Locale
    messages: Mapping[str, Words] = field(default_factory=dict)
    """English text -> translation. A text without one stays English."""

    @property
    def is_right_to_left(self) -> bool:
        """Whether the language is written from right to left."""
        return self.locale.text_direction == "rtl"

    def text(self, english: str) -> str:
        """Return the translation of a text."""
        found = self.messages.get(english, english)
        return found if isinstance(found, str) else found["other"]

    def counted(self, one: str, many: str, n: float) -> str:
        """Return the translation of a text that depends on a number. `many` is its name in the catalogue."""
        found = self.messages.get(many)
        if isinstance(found, Mapping):
            category = cast("Category", self.locale.plural_form(abs(n)))
            return found.get(category) or found["other"]
        return found or (one if n == 1 else many)

    def fill(self, text: str, values: Mapping[str, str]) -> str:
        """Put values into the places of a text. A place without a value stays as it is.

        In a text from right to left, a value with letters from left to right keeps its own direction.
        """
        return PLACEHOLDER.sub(lambda place: self._placed(values.get(place[1], place[0])), text)

    def directed(self, text: str) -> str:
        """Mark each line that starts from the other side, such as a name, so that it is shown from right to left."""
        if not self.is_right_to_left:
            return text
        return "\n".join(map(_directed_line, text.split("\n")))

    def _placed(self, value: str) -> str:
        if self.is_right_to_left and any(unicodedata.bidirectional(char) == "L" for char in value):
            return f"{_ISOLATE}{value}{_END}"
        return value


def _directed_line(line: str) -> str:
    """Return a line with the mark, if it needs one. It stands behind the sign of a list, which Markdown wants first."""
    if not _starts_from_left(line):
        return line
    head, space, rest = line.partition(" ")
    if space and (head == "-" or head.removesuffix(".").isdigit()):
        return f"{head} {_RIGHT_TO_LEFT}{rest}"
    return f"{_RIGHT_TO_LEFT}{line}"


def _starts_from_left(line: str) -> bool:
    strong = (kind for char in line if (kind := unicodedata.bidirectional(char)) in ("L", "R", "AL", "FSI"))
    return next(strong, None) in ("L", "FSI")


def locale_of(tag: str) -> Locale | None:
    """Return the locale of a tag such as `de-AT` or `he_IL`, without what is not known of it; None if nothing is."""
    try:
        language, country, *_ = parse_locale(tag.replace("-", "_"))
    except ValueError:
        language, country = re.split("[-_]", tag)[0].lower(), None
    for name in (f"{language}_{country}" if country else _NO_COUNTRY.get(language, language), language):
        try:
            return Locale.parse(name)
        except (UnknownLocaleError, ValueError):
            continue
    return None


ENGLISH = Language(Locale.parse(_NO_COUNTRY["en"]))
