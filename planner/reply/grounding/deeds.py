"""Deeds: whether what a clause says to be done is what a call has done, and on the day that the clause names."""

from turnloom.planner.reply.grounding.context import Context
from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.lexicon import assertion_words, spoken, words
from turnloom.planner.reply.grounding.places import EvidencePlace, Places
from turnloom.planner.reply.grounding.said_deeds import ANY, ANY_OF_THEM


def is_done(claim: Figure, context: Context) -> bool:
    """Return whether a call has done what a text says to be done, or, for a deed without a name, anything."""
    calls = _calls(claim.keys, context.evidence.places)
    return bool(calls) and not _is_second(claim, context) and not _is_of_other_day(claim, calls, context)


def is_undone(claim: Figure, context: Context) -> bool:
    """Return whether no call of this turn has done what a text says not to be done, or the text says both."""
    deed = claim.keys[0][1]
    is_done_too = len(spoken(assertion_words()["deeds"][deed]).findall(context.sentence.text)) > 1  # of two meetings
    return is_done_too or all(place.turn is not None for place in context.evidence.places.of((("deed", deed),)))


def _calls(keys: tuple[Key, ...], places: Places) -> list[EvidencePlace]:
    """Return the calls that may have done a deed."""
    done = places.of((*keys, ("deed", ANY)))
    if ("deed", ANY_OF_THEM) not in keys:
        return done
    return [*done, *(place for key, found in places.by_key.items() if key[0] == "deed" for place in found)]


def _is_second(claim: Figure, context: Context) -> bool:
    """Return whether a text says that something was done too, as in "I also booked a table", where one thing was.

    One call may do several things, such as confirm a meeting and send invitations, if the tool or its result says so.
    """
    start, end = context.sentence.clause(claim.start)
    if not spoken(words()["also"]).search(context.sentence.whole, start, end):
        return False
    deeds = {key: found for key, found in context.evidence.places.by_key.items() if key[0] == "deed"}
    calls = {(place.turn, place.step) for found in deeds.values() for place in found}
    named = deeds.keys() - {("deed", ANY)}
    return len(calls) == 1 and (len(named) < 2 or named.isdisjoint(claim.keys))


def _is_of_other_day(claim: Figure, calls: list[EvidencePlace], context: Context) -> bool:
    """Return whether the clause names a day that other results have, and those of the calls have others only."""
    start, end = context.sentence.clause(claim.start)
    places, made = context.evidence.places, {(call.turn, call.step) for call in calls}
    days = [one for one in (*context.sentence.figures, *context.weekdays) if one.kind in ("date", "weekday")]
    said = [places.of(day.keys) for day in days if start <= day.start < end]
    own = any(
        (place.turn, place.step) in made for key, found in places.by_key.items() if key[0] == "date" for place in found
    )
    return own and any(found and not any((place.turn, place.step) in made for place in found) for found in said)
