"""Evidence: what a reply may say, and where each piece of it comes from.

In: the results of steps, and what the user has said.  Out: the place of a figure, by any of its keys. The first place
of a key counts. Values about other people are not evidence. They are kept, so that a text can be searched for them.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from turnloom.planner.reply.grounding.contacts import host_of
from turnloom.planner.reply.grounding.days import implied
from turnloom.planner.reply.grounding.figures import PERSONAL, Key, folded, visible
from turnloom.planner.reply.grounding.lexicon import words
from turnloom.planner.reply.grounding.scan import figures, figures_of_many

_READ_AT_MOST = 200_000
"""Characters of text that are searched. Text beyond that is not evidence, so that a huge result costs no more."""
_LONGEST_TEXT = 100_000
"""Characters that are searched of a single text, from its beginning."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_SPOKEN = re.compile(r"\d|@|:/|\.\w|[^\0-\u024f]|&")
"""A text that does not match this holds no figure worth finding in a source."""


@dataclass(frozen=True, slots=True)
class EvidencePlace:
    """The place where a piece of evidence was found."""

    step: str
    """The step's id; `message` for what the user said; `agent` for what the agent's makers wrote."""
    path: str
    turn: str | None = None
    """The step's turn if it is an earlier one; None for this turn."""
    age_s: int = 0
    """Seconds since the value was found out."""
    page: str | None = None
    """The host of the page that says it: empty if the host is unknown, None if the value is not from a page."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """The facts about a value that follow from its place in a result."""

    currencies: frozenset[str] = frozenset()
    is_money: bool = False
    is_private: bool = False
    is_public: bool = False
    page: str | None = None
    """As in `EvidencePlace`."""


@dataclass(frozen=True, slots=True)
class ResultOrigin:
    """The source of a whole result, and its special fields."""

    step: str
    turn: str | None = None
    age_s: int = 0
    public: frozenset[str] = frozenset()
    """Fields with contacts that anybody may see."""
    redact: frozenset[str] = frozenset()
    """Fields that nobody may see."""
    outside: frozenset[str] = frozenset()
    """Fields with text that strangers have written."""


class Evidence:
    """The evidence of a turn, by the keys of figures."""

    def __init__(self, now: datetime) -> None:
        """Take `now` in the user's time zone. Its date may always be said. A day without a year is the next one."""
        self._now = now
        self._places: dict[Key, EvidencePlace] = {}
        self._private: dict[str, None] = {}
        self._said: list[str] = []
        self._left = _READ_AT_MOST
        self._origin = _SAID
        self._put(("date", now.date()), "now", _Scope())

    def add_result(self, result: Any, origin: ResultOrigin, path: str = "") -> None:
        """Add a tool's result, or the part of it that has this path."""
        self._origin = origin
        self._walk(result, path, _Scope())

    def add_said(self, said: Any, path: str) -> None:
        """Add what the user said, or what is known of the user."""
        self._said += (folded(text)[0] for text in _texts(said))
        self._origin = _SAID
        self._walk(said, path, _Scope(is_public=True))

    def add_authored(self, text: str, path: str) -> None:
        """Add a text of the agent's makers: its persona, or a template's own words."""
        self._origin = _AUTHORED
        for figure in figures_of_many(visible(text)[0]):
            for key in figure.keys:
                self._put(key, path, _Scope())

    def place(self, keys: tuple[Key, ...]) -> EvidencePlace | None:
        """Return the place of a figure with these keys, if there is one. A place on a page comes last."""
        known = [self._places[key] for key in keys if key in self._places]
        return min(known, key=lambda place: place.page is not None, default=None)

    def private_in(self, plain: str) -> Iterator[str]:
        """Yield the values about other people that a folded text has, unless the user said them."""
        said = " ".join(self._said)
        return (value for value in self._private if value in plain and value not in said)

    def _walk(self, value: Any, path: str, scope: _Scope) -> None:
        match value:
            case dict():
                self._walk_fields(value, path, scope)
            case list():
                found = _codes(value)
                scope = replace(scope, currencies=found, is_money=True) if found else scope
                for number, inner in enumerate(value):
                    self._walk(inner, f"{path}[{number}]", scope)
            case bool() | None:
                pass
            case _ if scope.is_private and not scope.is_public:
                self._keep_private(str(value))
            case int() | float():
                self._number(Decimal(str(value)), path, scope)
            case str():
                self._text(value, path, scope)

    def _walk_fields(self, fields: dict[str, Any], path: str, scope: _Scope) -> None:
        """Walk an object. The currency of an amount is in a field beside it, in its name, or above."""
        names = {key: _name(key) for key in fields}
        beside = _codes(fields[key] for key, name in names.items() if name.is_currency)
        is_any = bool(beside) and not any(name.is_money for name in names.values())
        page = self._page(fields)
        for key, inner in fields.items():
            name = names[key]
            inside = _Scope(
                currencies=name.currencies or beside or scope.currencies,
                is_money=(name.is_money or is_any or scope.is_money) and not name.is_count,
                is_private=scope.is_private or name.is_private or key in self._origin.redact,
                is_public=scope.is_public or key in self._origin.public,
                page=page if key in self._origin.outside else scope.page,
            )
            there = f"{path}.{key}" if path else key
            self._text(key, there, inside)
            self._walk(inner, there, inside)

    def _page(self, fields: dict[str, Any]) -> str:
        """Return the host of the page that an object describes. The host may be named in a reply."""
        host = host_of(fields.get("url"))
        if host and not self._origin.outside.isdisjoint(fields):
            self._put(("link", host), "url", _Scope())
        return host

    def _number(self, value: Decimal, path: str, scope: _Scope) -> None:
        self._put(("number", abs(value)), path, scope)
        if scope.is_money:
            for code in sorted(scope.currencies):
                self._put(("money", abs(value), code), path, scope)
            self._put(("money", abs(value), None), path, scope)

    def _text(self, text: str, path: str, scope: _Scope) -> None:
        text = _beginning(text, min(self._left, _LONGEST_TEXT))
        if not _SPOKEN.search(text):
            return
        self._left -= len(text)
        if _NUMBER.fullmatch(text):
            self._number(Decimal(text), path, scope)
        elif day := _day(text):
            self._put(("date", day), path, scope)
        else:
            self._figures(text, path, scope)

    def _figures(self, text: str, path: str, scope: _Scope) -> None:
        if moment := _moment(text):
            local = moment.astimezone(self._now.tzinfo)
            self._put(("date", local.date()), path, scope)
            self._put(("time", local.hour, local.minute), path, scope)
        for figure in figures(visible(text)[0]):
            if figure.kind == "link" and scope.page is not None:
                continue  # the links of a page are not evidence
            if scope.is_public or figure.kind not in PERSONAL:
                for key in figure.keys:
                    self._put(key, path, scope)

    def _put(self, key: Key, path: str, scope: _Scope) -> None:
        origin = self._origin
        for implication in (key, *self._implied(key, scope)):
            known = self._places.get(implication)
            if known is None or (known.page is not None and scope.page is None):
                self._places[implication] = EvidencePlace(origin.step, path, origin.turn, origin.age_s, scope.page)

    def _implied(self, key: Key, scope: _Scope) -> tuple[Key, ...]:
        match key:
            case ("date", date() as day):
                return implied(day)
            case ("day", int() as month, int() as number) | ("weekday", int(), int() as month, int() as number):
                coming = _next(month, number, self._now.date())
                return implied(coming) if coming else ()
            case ("money", value, str()):
                # A price from a page does not support a bare number, which a text could say without the page.
                return ("money", value, None), *((("number", value),) if scope.page is None else ())
            case ("percent", value):
                return (("number", value),)
        return ()

    def _keep_private(self, value: str) -> None:
        if len(value) > 2:
            self._private[folded(value)[0].strip()] = None


_SAID = ResultOrigin("message")
_AUTHORED = ResultOrigin("agent")


@dataclass(frozen=True, slots=True)
class _Name:
    """The facts about a value that follow from its field's name."""

    currencies: frozenset[str]
    is_currency: bool
    is_money: bool
    is_count: bool
    is_private: bool


@lru_cache(maxsize=2048)
def _name(key: str) -> _Name:
    lexicon = words()
    parts = set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower().split("_"))
    currencies = _codes(part.upper() for part in parts)
    return _Name(
        currencies,
        is_currency="currency" in parts,
        is_money=bool(currencies) or not parts.isdisjoint(lexicon["money_fields"]),
        is_count=not parts.isdisjoint(lexicon["count_fields"]),
        is_private=key.lower() in lexicon["private_fields"],
    )


@lru_cache
def _all_codes() -> frozenset[str]:
    return frozenset(words()["codes"].split())


def _codes(values: Iterable[Any]) -> frozenset[str]:
    known = _all_codes()
    return frozenset(value for value in values if isinstance(value, str) and value in known)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
    elif value is not None:
        yield str(value)


def _beginning(text: str, length: int) -> str:
    """Return the part of a text that is read, in whole words, because half a number is another number."""
    if len(text) <= length:
        return text
    kept = text[:length].rstrip() if text[length - 1 : length].isspace() else text[:length].rsplit(None, 1)[0]
    return kept if len(kept) < length else ""


def _day(text: str) -> date | None:
    """Return the day that an ISO date names; None for any other text."""
    if not (len(text) == 10 and text[4] == text[7] == "-"):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _moment(text: str) -> datetime | None:
    """Return the moment that an ISO date and time with a time zone names; None for any other text."""
    if not (16 < len(text) < 40 and text[4] == "-"):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _next(month: int, day: int, today: date) -> date | None:
    """Return the next such day from today on; None if neither this year nor the next has one."""
    for year in (today.year, today.year + 1):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found >= today:
            return found
    return None
