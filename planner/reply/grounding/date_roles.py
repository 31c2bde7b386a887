"""Roles of dates: a day on which one travels out or back, arrives, leaves, or by which one must choose.

"You fly home on Sunday" needs a flight of that day that leads back, not just any date of the results.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta

from turnloom.planner.reply.grounding.context import Context
from turnloom.planner.reply.grounding.days import implied
from turnloom.planner.reply.grounding.fields import parts_of
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import spoken, words
from turnloom.planner.reply.grounding.mentions import is_in
from turnloom.planner.reply.grounding.places import Element, Places

_BREAK = re.compile(r"[,;:(]\s|\u3001")
"""What may not stand between the words for a role and the date that has it."""
_NUMBER = re.compile(r"\d")
"""Nor may this, if it is a night: "from 22 to 23 December"."""
_MOST_DAYS = 60
"""Most days before the last one to choose that a text may ask for an answer by."""
_NEAR = 48
"""Most characters between the words for a role and the date that has it."""
_BESIDE = 2
"""Most characters between a date and the words for its role right behind it, as German has them: "am 3. anreisen"."""


def out_of_role(context: Context, relative: Iterable[Figure]) -> Iterator[Figure]:
    """Yield the days of a sentence that the words before them give a role that only other days of the results have.

    `relative`: its words for days such as "tomorrow".
    """
    sentence = context.sentence
    dates = (one for one in sentence.figures if one.kind == "date")
    ordered = sorted((*dates, *context.weekdays, *relative), key=lambda day: day.start)
    if not ordered or sentence.is_question:
        return
    said = sorted(
        (match.start(), match.end(), role)
        for role, pattern in words()["date_roles"].items()
        for match in spoken(pattern).finditer(sentence.whole, sentence.start, sentence.end)
    )
    known = _known(context.evidence.places, context.evidence.now.date()) if said else {}
    found = [one for one in said if known.get(one[2])]
    for number, (start, end, role) in enumerate(found):
        stop = min(end + _NEAR, found[number + 1][1] if number + 1 < len(found) else sentence.end)
        day = next((one for one in ordered if end <= one.start < stop and one.keys), None)
        between = sentence.whole[end : day.start] if day else ""
        if day is None or _BREAK.search(between) or (role == "night" and _NUMBER.search(between)):
            continue
        right_before = [one for one in ordered if one.end <= start <= one.end + _BESIDE]
        if not any(_is_one_of(one, known[role]) for one in (day, *right_before)):
            yield day


def _is_one_of(figure: Figure, days: Iterable[date]) -> bool:
    return any(not set(figure.keys).isdisjoint(implied(day)) for day in days)


def _known(places: Places, today: date) -> Mapping[str, set[date]]:
    """Return the days of the results that have each role."""
    dates = [(key[1], place) for key, found in places.by_key.items() if key[0] == "date" for place in found]
    days = [(day, place) for day, place in dates if isinstance(day, date) and not place.is_said]
    fields: dict[str, set[date]] = {}
    for day, place in days:
        parts = parts_of(place.path.rpartition(".")[2])
        last = {*parts, "_".join(parts)}
        for role, names in words()["date_role_fields"].items():
            if not last.isdisjoint(names):
                fields.setdefault(role, set()).add(day)
    there, back = _legs(places)
    out = {day for day, place in days if is_in(place, there)}
    home = {day for day, place in days if is_in(place, back)}
    nights = {day - timedelta(days=1) for day in fields.get("leave", ())} if not out else set()
    of_stay = {} if out else {"arrive": fields.get("arrive", set()), "leave": fields.get("leave", set())}
    expire = fields.get("expire", set())
    left = (max(expire) - today).days + 1 if expire else 0
    decide = {today + timedelta(days=days) for days in range(min(left, _MOST_DAYS))}
    return {"out": out if home else set(), "back": home, "expire": expire, "decide": decide, "night": nights, **of_stay}


def _legs(places: Places) -> tuple[frozenset[Element], frozenset[Element]]:
    """Return the legs that lead to the place of a whole result, and those that lead back from it."""
    first = next(iter(places.routes.values()), None)
    there, back = (
        frozenset(leg for leg, route in places.routes.items() if first and route == wanted)
        for wanted in (first, first and first[::-1])
    )
    return (there, back) if back else (frozenset(), frozenset())
