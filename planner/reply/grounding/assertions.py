"""Find what a text asserts beyond figures: policies with their polarity, and deeds that are said to be done.

The words are in `assertions.yaml`. A clause is read alone; one that names no topic goes on about the last one.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

from turnloom.planner.reply.grounding import lexicon
from turnloom.planner.reply.grounding.figures import Figure, Key, Kind
from turnloom.planner.reply.grounding.lexicon import answer, assertion_words, either, search, spoken
from turnloom.planner.reply.grounding.said_deeds import deeds_in, stated_deeds, undone_in, written

_LONGEST = 300
"""Most characters of a clause that are read."""
_LONGEST_START = 16
_LONGEST_STATUS = 60
"""Most characters of a text that may be a status, such as "cancelled"."""
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


def find_assertions(text: str) -> Iterator[Figure]:
    """Find policies, such as `("flag", "pets", "allowed", False)`, and deeds, such as `("deed", "booked")`."""
    topic = None
    in_condition = False
    for clause in _clauses().finditer(text):
        if clause[0].endswith("?"):
            continue
        words = clause[0][:_LONGEST]
        for begin, part in statements(words):
            is_of_another = spoken(assertion_words()["of_another"]).match(part.lstrip()) is not None
            is_same = not is_of_another and search(assertion_words()["goes_on"], part[:_LONGEST_START]) is not None
            topic = _topic(part) or (topic if is_same and not in_condition else None)
            is_of_all = search(assertion_words()["costs_next"], part[:_LONGEST_START]) is not None
            is_open = is_of_all or _is_condition(part)
            yield from _at(clause.start() + begin, "flag", _flags(part, None if is_open else topic))
        if spoken(assertion_words()["first_person_did"]).match(words.lstrip()):
            in_condition = False
        in_condition = in_condition or is_conditional(words)
        yield from _at(clause.start(), "deed", () if in_condition else (*deeds_in(words), *undone_in(words)))
        yield from _at(clause.start(), "discount", _discounts(words))
        in_condition = in_condition and clause[0].endswith(",")


def statements(clause: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of a clause that each have a verb, with their places: "it is big | and does not cost extra"."""
    cuts = {found.start() for found in _search_all(assertion_words()["next_verb"], clause)}
    cuts |= {found.start() for found in _denied_next().finditer(clause)}
    for start, end in pairwise([0, *sorted(cuts), len(clause)]):
        yield start, clause[start:end]


@lru_cache
def _denied_next() -> re.Pattern[str]:
    """Return the pattern of "but" before what is denied: "they can be exchanged, but are not refunded"."""
    said = assertion_words()
    return re.compile(
        rf"(?<![^\W\d_])(?:{said['contrasts']})\s(?=(?:\w+\s){{0,2}}(?:{said['negations']})(?![^\W\d_]))", re.IGNORECASE
    )


def _at(start: int, kind: Kind, found: Iterable[tuple[int, int, tuple[Key, ...]]]) -> Iterator[Figure]:
    return (Figure(kind, start + first, start + last, keys) for first, last, keys in found)


def stated_by(field: str, value: Any, *, is_policy: bool = True) -> tuple[Key, ...]:
    """Return the policies and deeds that a field states: `pets_allowed: false`, the status "cancelled", `paid_at`."""
    policy = assertion_words()["counted_policies"].get(field)
    if policy and isinstance(value, list | int):
        return (("flag", *policy, bool(value)),)
    name, truth = field.replace("_", " "), truth_of(value)
    status = value if isinstance(value, str) and len(value) < _LONGEST_STATUS else ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    policies = _stated_policies(name, status, truth) if is_policy and (truth is not None or status) else ()
    return (*policies, *(stated_deeds(name, status, is_number=is_number) if value else ()))


@lru_cache(maxsize=2048)
def _stated_policies(name: str, status: str, truth: bool | None) -> tuple[Key, ...]:
    found = list(_policies(name if truth is not None else f"{name} {status}"))
    if truth is not None and not found and (topic := _topic(name)):
        found = [("flag", topic, assertion_words()["topics"][topic]["denied"], True)]  # "pets": false
    return tuple((*kind, polarity == (truth is not False)) for *kind, polarity in found)


def truth_of(value: Any) -> bool | None:
    """Return what a value such as True or "no" says; None if it is neither."""
    return _TRUTHS.get(str(value).lower()) if isinstance(value, bool | str) else None


def _policies(text: str) -> Iterator[Key]:
    for clause in _clauses().findall(text):
        if not clause.endswith("?"):
            yield from (key for _, _, keys in _flags(clause, _topic(clause)) for key in keys)


def is_denied(clause: str) -> bool:
    """Return whether a clause has a word that denies. "At no charge" and "no cancellation fee" deny only a price."""
    return is_negated(clause) or search(assertion_words()["denying_parts"], _without_price(clause)) is not None


def is_negated(clause: str) -> bool:
    """Return whether a clause has a word such as "not" that is not of a price."""
    return search(assertion_words()["negations"], _without_price(clause)) is not None


def _without_price(clause: str) -> str:
    return spoken(assertion_words()["free_of"]).sub("", clause)


def discount_in(text: str) -> tuple[Key, ...]:
    """Return the key of a discount if a text, or the name of a field, has a word for one."""
    spelt = text.replace("_", " ")
    is_said = any(written(assertion_words()[kind]).search(spelt) for kind in ("discounts", "reductions"))
    return (("discount",),) if is_said else ()


def goes_on(sentence: str) -> bool:
    """Return whether a sentence begins like one about the last topic: "It costs", "Es kostet"."""
    return spoken(assertion_words()["goes_on"]).match(sentence.lstrip()) is not None


def is_of_price(clause: str, place: int) -> bool:
    """Return whether a place of a clause is in words that deny only a price, such as "no cancellation fee"."""
    return any(found.start() <= place < found.end() for found in _search_all(assertion_words()["free_of"], clause))


def is_conditional(clause: str) -> bool:
    """Return whether a clause is a condition."""
    return search(assertion_words()["subordinate"], clause) is not None


def _is_condition(part: str) -> bool:
    """Return whether a statement is a condition as a whole, such as "if breakfast is not included"."""
    opening = spoken(assertion_words()["subordinate"]).match(part.lstrip())
    return opening is not None or spoken(assertion_words()["conditions_behind"]).search(part) is not None


def _topic(text: str) -> str | None:
    found = [
        (match.start(), name)
        for name, about in assertion_words()["topics"].items()
        if (match := search(about["words"], text))
    ]
    return min(found)[1] if found else None


def _flags(text: str, topic: str | None) -> Iterator[tuple[int, int, tuple[Key, ...]]]:
    """Yield the policies of a clause."""
    if topic is None:
        return
    about = assertion_words()["topics"][topic]
    named, name = search(about["words"], text), about.get("same_as", topic)
    free = search(assertion_words()["free_of"], text)
    has_negation = is_negated(_without_others(text, topic))
    is_found = False
    for aspect, read in assertion_words()["aspects"].items():
        if topic not in read["topics"] or (aspect == "exists" and (named is None or is_found)):
            continue
        affirmed = (free if aspect == "free" else None) or search(read["affirms"], text)
        if affirmed and named is None and spoken(assertion_words()["modals"]).fullmatch(affirmed[0]):
            affirmed = None  # in "they can be transferred" it says nothing of the last topic
        # "The room costs 90 with breakfast" says nothing of what breakfast costs.
        is_beside = named is not None and search(assertion_words()["beside"], text[: named.start()]) is not None
        word = affirmed or spoken(read["denies"]).search(text, named.end() if named and aspect == "free" else 0)
        word = None if is_beside and aspect == "free" and affirmed is None else word
        if word is not None:
            is_found = True
            so = has_negation and is_negated(_without_others(up_to_joint(text, word.end()), topic))
            yield word.start(), word.end(), (("flag", name, aspect, (affirmed is not None) != so),)
        elif named and has_negation and about["denied"] == aspect and (aspect != "exists" or _lacks(text, named)):
            yield named.start(), named.end(), (("flag", name, aspect, False),)


def aspects_of_any() -> dict[str, dict[str, str]]:
    """Return the words that affirm or deny something of a thing that no list has, by what they say of it."""
    return assertion_words()["aspects_of_any"]  # type: ignore[no-any-return]


def is_so(clause: str, word: re.Match[str]) -> bool:
    """Return whether a clause says what a word of it says, and does not deny it."""
    return not (is_of_price(clause, word.start()) or is_negated(up_to_joint(clause, word.end())))


def up_to_joint(text: str, end: int) -> str:
    """Return a clause up to the "and" behind a place: what is denied there may be of something else."""
    joint = joint_of_words().search(text, end)
    return text[: joint.start()] if joint else text


@lru_cache
def joint_of_words() -> re.Pattern[str]:
    """Return the pattern of "and" or "but" between the parts of a clause."""
    joints = either([*map(re.escape, lexicon.words()["list_joints"]), assertion_words()["contrasts"]])
    return re.compile(rf"\s(?:{joints})\s", re.IGNORECASE)


def _discounts(text: str) -> Iterator[tuple[int, int, tuple[Key, ...]]]:
    """Yield the discount that a clause promises."""
    if not is_negated(text) and (found := search(assertion_words()["discounts"], text)):
        yield found.start(), found.end(), (("discount",),)


def _lacks(text: str, named: re.Match[str]) -> bool:
    """Return whether the word before a topic denies that there is any: "I could not reserve parking" does not."""
    return search(assertion_words()["lacks"], text[: named.start()]) is not None


def _without_others(text: str, topic: str) -> str:
    """Return a clause without what it denies of other topics, such as "the non-refundable rate"."""
    return _denied_others(topic).sub("", text)


@lru_cache
def _denied_others(topic: str) -> re.Pattern[str]:
    others = "|".join(about["words"] for name, about in assertion_words()["topics"].items() if name != topic)
    return spoken(rf"(?:{assertion_words()['denies_next']})[ -](?:{others})\w{{0,2}}")


def _search_all(words: str, text: str) -> Iterator[re.Match[str]]:
    return spoken(words).finditer(text)


@lru_cache
def _clauses() -> re.Pattern[str]:
    # "Pets allowed: no" is one clause.
    dash, ends = r" [\u2013\u2014]", r".;:!?,()\n\u3002\u3001\u060c\u061b\u061f"
    return re.compile(rf"(?:(?!{dash} )[^{ends}]|{answer()})+(?:{dash}(?= )|[{ends}])?", re.IGNORECASE)
