"""Evidence: what a reply may say, and where each piece of it comes from.

In: the results of steps, and what the user has said.  Out: the places of a figure, by any of its keys. Values about
other people are not evidence. They are kept, so that a text can be searched for them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from turnloom.planner.reply.grounding import price_units
from turnloom.planner.reply.grounding.assertions import discount_in, stated_by, truth_of
from turnloom.planner.reply.grounding.businesses import is_business, is_of_business, is_of_service
from turnloom.planner.reply.grounding.contacts import code_key, host_of, is_code, is_personal
from turnloom.planner.reply.grounding.counts import fractions
from turnloom.planner.reply.grounding.days import iso_day, iso_moment, iso_month
from turnloom.planner.reply.grounding.documents import beginning, opened
from turnloom.planner.reply.grounding.element_names import strings
from turnloom.planner.reply.grounding.exchange import rates_in
from turnloom.planner.reply.grounding.fields import (
    codes_of,
    counted,
    counts_in_hundredths,
    field_name,
    lower_codes_of,
    stems_in,
)
from turnloom.planner.reply.grounding.figures import Figure, Key, bare
from turnloom.planner.reply.grounding.flags import Flag, flag_of
from turnloom.planner.reply.grounding.implications import implied_by
from turnloom.planner.reply.grounding.labels import beside, labels_of, stems
from turnloom.planner.reply.grounding.lexicon import weekdays
from turnloom.planner.reply.grounding.numerals import number_of
from turnloom.planner.reply.grounding.objects import are_records, sizes_of_groups, told_by
from turnloom.planner.reply.grounding.places import UNSTATED, EvidencePlace, Places, ResultOrigin
from turnloom.planner.reply.grounding.records import OwnRecords, PrivateValues
from turnloom.planner.reply.grounding.scan import SourceText, keys_of_many, read_text
from turnloom.planner.reply.grounding.scopes import FieldScope
from turnloom.planner.reply.grounding.source_texts import SourceTexts
from turnloom.planner.reply.grounding.times import pointed_times
from turnloom.planner.reply.grounding.unpriced import UnpricedNumbers
from turnloom.planner.reply.grounding.zones import apart, keys_in, on_clocks, zones_in

_READ_AT_MOST = 200_000
"""Characters of text that are searched. Text beyond that is not evidence, so that a huge result costs no more."""
_LONGEST_TEXT = 100_000
"""Characters that are searched of a single text, from its beginning."""
_CENTS, _MOST_ZONES, _MOST_FLAGS = 100, 4, 200
_LONGEST_PHRASE = 60
"""Most characters of a text that speaks of one thing."""
_UNIT = re.compile(r"_(\d{1,3}(?:min|h)\b)")
"""A length of time in a field's name, such as `lesson_45min`."""
_SPOKEN = re.compile(r"\d|@|:/|\.\w|[^\0-\u024f]|&| ")
"""A text that does not match this holds no figure worth finding in a source."""


class Evidence:
    """The evidence of a turn, by the keys of figures."""

    def __init__(self, now: datetime) -> None:
        """Take `now` in the user's time zone. Its date may always be said. A day without a year is the next one."""
        self.places = Places()
        self.now = now
        self.private = PrivateValues()
        self.own = OwnRecords()
        self.texts = SourceTexts()
        self._left = _READ_AT_MOST
        self._origin = _SAID
        self._unpriced = UnpricedNumbers()
        self.flags: list[Flag] = []
        self.said_stems: set[str] = set()
        """The stems of the words that the user has said."""
        self.zones: list[ZoneInfo] = []
        self.clocks_apart: set[Decimal] = set()
        """Minutes that the clocks of some place are apart from the user's, as the user says."""
        self._put(("date", now.date()), "now", FieldScope())

    def add_result(self, result: Any, origin: ResultOrigin, path: str = "") -> None:
        """Add a tool's result, or the part of it that has this path."""
        self._origin, self._unpriced = origin, UnpricedNumbers()
        result = opened(result)
        about = frozenset(labels_of(origin.step))
        self.zones = list(dict.fromkeys((*self.zones, *zones_in(result))))[:_MOST_ZONES]
        for rate in rates_in(result, path):
            self.places.exchange.append((rate, EvidencePlace(origin.step, rate.path, origin.turn, origin.age_s)))
        for key in (*(("deed", deed) for deed in origin.deeds), *apart(self.now, self.zones)):
            self._put(key, path, FieldScope())
        self._walk(result, path, FieldScope(is_minor=counts_in_hundredths(result), about=about))
        self._unpriced.settle(self.places)

    def add_asked(self, args: Any, origin: ResultOrigin) -> None:
        """Add the days that a tool was asked about by its arguments. Its result need not repeat them."""
        if days := {name: value for name, value in args.items() if isinstance(value, str) and iso_day(value)}:
            self.add_result(days, replace(origin, deeds=frozenset()), "args")

    def add_said(self, said: Any, path: str) -> None:
        """Add what the user said, or what is known of the user."""
        self._origin, scope = _SAID, FieldScope(is_public=True, is_said=True)
        for text in strings(said):
            self.own.hear(text)
            self.said_stems |= stems(text)
            if path == "user":
                self.own.know(text)
            read = read_text(text[:_LONGEST_TEXT])
            small = read.numbers_apart
            self.places.said_counts |= small | read.spans(self.now.date())
            for value in small:  # a limit of "60 at most" may be compared with a price
                self.places.add_operand(value, UNSTATED, EvidencePlace(_SAID.step, path, is_said=True))
            self.clocks_apart |= read.clocks_apart
            for key in read.moments(self.now.date()):
                self._put(key, path, scope)
        self._walk(said, path, scope)

    def add_authored(self, text: str, path: str) -> None:
        """Add a text of the agent's makers or of a person in its place: its persona, or a template's own words."""
        self._origin = _AUTHORED
        self.texts.add(text, is_result=False)
        for key in keys_of_many(text):
            self._put(key, path, FieldScope())

    def _walk(self, value: Any, path: str, scope: FieldScope) -> None:
        match value:
            case dict():
                self._walk_fields(value, path, scope)
            case list():
                self._walk_list(value, path, scope)
            case bool() | None:
                pass
            case _ if scope.is_private and not scope.is_public and scope.hides(value):
                self.places.small |= self.private.keep(str(value))
            case int() | float():
                self._number(Decimal(str(value)), path, scope)
            case str():
                self.texts.add(value, is_result=not scope.is_said)
                self._text(value, path, scope)
                if rows := getattr(value, "rows", None):
                    self._walk_list(rows, path, scope)

    def _walk_list(self, values: list[Any], path: str, scope: FieldScope) -> None:
        found = codes_of(values)
        scope = replace(scope, currencies=found, is_money=True) if found else scope
        within = scope.changed(name=field_name(""), labels=())
        for number, inner in enumerate(values):
            self._walk(inner, f"{path}[{number}]", within if isinstance(inner, dict) else scope)
        self._listed(dict(enumerate(values)), path, scope)

    def _listed(self, values: Mapping[Any, Any], path: str, scope: FieldScope) -> None:
        """Learn how many things a result lists, and by which words they are told apart."""
        if not scope.is_said:
            self.places.small.add(Decimal(len(values)))
            counts = (("count", "item", Decimal(size)) for size in (len(values), *sizes_of_groups(values.values())))
            for key in (*counts, *(("listed", label, Decimal(len(values))) for label in scope.labels)):
                self._put(key, path, scope)
        if not scope.is_private:
            self.places.name_elements((self._origin.step, self._origin.turn, path), values)

    def _walk_fields(self, fields: dict[str, Any], path: str, scope: FieldScope) -> None:
        """Walk an object. The currency of an amount is in a field beside it, in its name, or above."""
        is_own = not scope.is_redacted and (scope.is_own or self.own.is_own(fields))
        is_public = scope.is_public or (is_business(fields) and not scope.is_redacted)
        about = scope.about if scope.is_said else scope.about | stems_in(fields)
        scope = scope.changed(is_own=is_own, is_public=is_public, about=about)
        beside = codes_of(fields.values())
        if not beside and (beside := lower_codes_of(fields)):
            scope = replace(scope, is_minor=True)
        has_money = any(field_name(key).is_money for key in fields)
        page, outside = self._page(fields), self._origin.outside
        for told in told_by(fields):
            self._put(told, path, FieldScope())
            self.places.small |= {told[-1]} if isinstance(told[-1], Decimal) else set()
        is_listed = are_records(fields)
        self.places.learn((self._origin.step, self._origin.turn, path), fields)
        is_open = not path and is_of_service(fields, is_done=bool(self._origin.deeds))
        for key, inner in fields.items():
            inside = scope.inside(key, beside, self._origin.public, self._origin.redact)
            inside = inside.of_value(inner, is_any=bool(beside) and not has_money, has_money=has_money)
            is_said = inside.is_said and (scope.is_said or self.places.are_said(inner))
            labels = labels_of(key) if is_listed else inside.labels
            inside = inside.changed(is_said=is_said, labels=labels, page=page if key in outside else scope.page)
            if is_open and not (inside.is_redacted or isinstance(inner, dict | list)):
                inside = inside.changed(is_public=True)
            there = f"{path}[{key}]" if is_listed else f"{path}.{key}" if path else key
            self._text(_UNIT.sub(r" \1", key), there, inside)
            self._flag(key, inner, there, inside)
            self._walk(inner, there, inside)
        if is_listed:
            self._listed(fields, path, scope)

    def _flag(self, key: str, value: Any, path: str, scope: FieldScope) -> None:
        """Read a policy in a field's name, such as `pets_allowed`, or what the tool says that the value means."""
        meaning = self._origin.says[key].get(str(value)) if key in self._origin.says else None
        truth, is_word = truth_of(value), isinstance(value, str)
        if truth is not None and not scope.is_said and len(self.flags) < _MOST_FLAGS:
            self.flags.append(flag_of(key, scope.labels, scope.place(self._origin, path), is_so=truth, is_word=is_word))
        if meaning is not None:
            self._claims(meaning, path, scope)
        for known in stated_by(key, value, is_policy=meaning is None):
            self._put(known, path, scope)

    def _claims(self, text: str, path: str, scope: FieldScope) -> None:
        for claim in read_text(text).claims:
            for key in claim.keys:
                self._put(key, path, scope)

    def _page(self, fields: dict[str, Any]) -> str:
        """Return the host of the page that an object describes. The host may be named in a reply."""
        host = host_of(fields.get("url"))
        if host and not self._origin.outside.isdisjoint(fields):
            self._put(("link", host), "url", FieldScope())
        return host

    def _number(self, value: Decimal, path: str, scope: FieldScope) -> None:
        value = scope.in_units(abs(value))
        name = scope.name
        for key in (("number", value), *counted(name, value), *(("field", label, value) for label in scope.labels)):
            self._put(key, path, scope)
        self.places.small |= set() if scope.is_said else {value, Decimal(round(value))}
        place = scope.place(self._origin, path)
        amounts = (value, *((value / _CENTS,) if scope.is_minor and not scope.is_money else ()))
        is_amount = scope.is_money or not (name.is_count or name.is_plain)
        if is_amount and not scope.currencies:
            self._unpriced.add(value, place, is_money=None if scope.is_beside_money else scope.is_money)
        if scope.is_money or (is_amount and scope.currencies):
            for amount in amounts:
                for code in (None, *sorted(scope.currencies)):
                    self._put(("money", amount, code), path, scope)
        for code in scope.operand_codes():
            for amount in amounts[: None if code else 1]:
                self.places.add_operand(amount, code, place)

    def _text(self, text: str, path: str, scope: FieldScope) -> None:
        self._unpriced.codes |= codes_of([text])
        text = beginning(text, min(self._left, _LONGEST_TEXT))
        for key in (*((code_key(text),) if is_code(text) else ()), *discount_in(text)):
            self._put(key, path, scope)
        if text.lower() in weekdays():
            self._claims(text, path, scope)
        if not _SPOKEN.search(text):
            return
        self._left -= len(text)
        read = read_text(text)
        self.places.small |= set() if scope.is_said else read.small
        if (number := number_of(text)) is not None:
            self._number(number, path, scope)
        elif day := iso_day(text):
            self._put(("date", day), path, scope)
        elif month := iso_month(text):
            self._put(("month", *month), path, scope)
        else:
            moment = iso_moment(text)
            self.places.moments |= {moment} if moment and not scope.is_said else set()
            for key in keys_in(moment, [self.now.tzinfo, *self.zones]) if moment else ():
                self._put(key, path, scope)
            self._figures(read, on_clocks(read.figures, text, path) if moment else read.figures, path, scope)

    def _figures(self, read: SourceText, found: Sequence[Figure], path: str, scope: FieldScope) -> None:
        plain = read.plain
        scope = scope.changed(is_prose=len(plain) > _LONGEST_PHRASE)
        is_public = scope.is_public or (not scope.is_private and is_of_business(plain))
        for key in (*(key for claim in read.claims for key in claim.keys), *fractions(plain), *pointed_times(plain)):
            self._put(key, path, scope)
        for value in read.bare if scope.is_prose and not scope.is_said else ():
            self._put(("bare", value), path, scope)
        self.places.learn_text(self._origin.step, path, plain, found, is_long=scope.is_prose)
        for figure in found:
            behind = plain[figure.end : figure.end + price_units.LONGEST] if figure.kind == "money" else ""
            near = scope.changed(about=scope.about | stems(beside(plain, figure.start, figure.end)), behind=behind)
            is_link_of_page = figure.kind == "link" and scope.page is not None  # it is no evidence
            if not is_link_of_page and (is_public or not is_personal(figure)):
                for key in (*figure.keys, *bare(figure)):
                    self._put(key, path, near)
                for key in figure.keys:
                    self._add_operand(key, path, near)

    def _add_operand(self, key: Key, path: str, scope: FieldScope) -> None:
        match key:
            case ("money", Decimal() as value, str() as code):
                self._unpriced.codes.add(code)
                self.places.add_operand(value, code, scope.place(self._origin, path))
            case ("money", Decimal() as value, None):  # a price in words, such as "total price is 305"
                self._unpriced.add(value, scope.place(self._origin, path), is_money=True)
            case ("number", Decimal() as value):
                self._unpriced.add(value, scope.place(self._origin, path), is_money=False)
                self.places.add_operand(value, UNSTATED if scope.is_said else None, scope.place(self._origin, path))

    def _put(self, key: Key, path: str, scope: FieldScope) -> None:
        place = scope.place(self._origin, path)
        if key[0] == "deed" and (scope.is_said or not self._origin.deeds):
            key = ("stated", *key[1:])  # a call that only reads tells what is done, and has not done it
        for implication in (key, *implied_by(key, self.now.date(), is_on_page=scope.page is not None)):
            self.places.put(implication, place)


_SAID = ResultOrigin("message")
_AUTHORED = ResultOrigin("agent")
