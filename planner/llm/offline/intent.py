"""From the user's messages to facts: slots with their values, and wants. Later messages win over earlier ones."""

import calendar
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from turnloom.planner.llm.offline.rules import Domain, Manners, SlotRule
from turnloom.planner.llm.offline.values import Facts, substituted

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MOST_LINES = 20
"""How many lines of a message are searched one by one."""


@dataclass
class _Heard:
    """The facts of a conversation so far, in one domain."""

    slots: dict[str, Any] = field(default_factory=dict)
    wants: set[str] = field(default_factory=set)
    passing: set[str] = field(default_factory=set)
    """Wants of the last message that do not outlive it."""


def understand(
    messages: list[str], domain: Domain, manners: Manners, settled: Mapping[str, Any], slots: Collection[str]
) -> Facts | None:
    """Return the facts that the last message stands for; None if the domain does not understand it.

    For the names in `slots` only settled values count, whatever earlier messages said.
    """
    heard = _Heard()
    for message in messages[:-1] if domain.remembers else ():
        _listen(message, heard, domain, manners)
    again = {"again"} if heard.wants else set()
    heard.slots = {name: value for name, value in heard.slots.items() if name not in slots}
    heard.slots |= {name: value for name, value in settled.items() if name in domain.slots}
    if not messages or not _listen(messages[-1], heard, domain, manners):
        return None
    wants = heard.passing or heard.wants or domain.usual
    if domain.needs and not wants & set(domain.needs):
        return None
    return _with_defaults(heard.slots, domain) | dict.fromkeys(sorted(wants | again), True)


def _listen(message: str, heard: _Heard, domain: Domain, manners: Manners) -> bool:
    """Take in one message; return whether it said anything of this domain."""
    found = mentioned(message, domain, manners)
    wants = {name for name, pattern in domain.wants.items() if pattern.search(message)}
    if not (wants or heard.wants or (found | heard.slots).keys() & domain.requires.keys()):
        return False  # a number or a date before the subject has come up belongs to something else
    for name in found:
        for obsolete in domain.slots[name].replaces:
            heard.slots.pop(obsolete, None)
    heard.slots |= found
    heard.passing = wants & set(domain.passing)
    wants -= heard.passing
    if wants and any(name in heard.passing and slot in found for name, slot in domain.beside.items()):
        heard.passing |= wants
    unwanted = {name for name in wants if _is_unwanted(message, domain.wants[name], manners)}
    wants -= unwanted
    if not manners.only.search(message):
        wants |= {part for want in wants for part in domain.whole.get(want, ())} - unwanted
    if wants:
        heard.wants = heard.wants | wants if manners.also.search(message) else wants
    heard.wants = (heard.wants or domain.usual) - unwanted if unwanted else heard.wants
    # A domain that remembers understands "3 days" alone. In others a value without a want says nothing.
    return bool(wants or heard.passing or unwanted or (found and domain.remembers))


def mentioned(message: str, domain: Domain, manners: Manners) -> dict[str, Any]:
    """Return the slots to which a message gives a value."""
    texts = _said_last_first(message)
    values = {name: _find(texts, slot, manners) for name, slot in domain.slots.items()}
    return {name: value for name, value in values.items() if value is not None}


def _is_unwanted(message: str, want: re.Pattern[str], manners: Manners) -> bool:
    return re.search(manners.without + want.pattern.removeprefix(r"\b"), message, re.IGNORECASE) is not None


def _find(texts: Sequence[str], slot: SlotRule, manners: Manners) -> Any:
    """Return the value that a slot has in the first of these texts that gives one. The last of them is the message."""
    if slot.type == "texts":
        matches = (match for pattern in slot.patterns for match in pattern.finditer(texts[-1]))
        return " and ".join(dict.fromkeys(_read(match, slot, manners).lower() for match in matches)) or None
    for text in texts:
        for match in (match for pattern in slot.patterns for match in pattern.finditer(text)):
            value = _read(match, slot, manners)
            if value not in (None, "", []):
                return value
    return None


def _said_last_first(message: str) -> list[str]:
    """Return a message's last lines, which may be messages that were merged, from the end on; then all of it."""
    lines = message.splitlines()
    return [*lines[: -_MOST_LINES - 1 : -1], message] if len(lines) > 1 else [message]


def _read(match: re.Match[str], slot: SlotRule, manners: Manners) -> Any:
    text = next((group for group in match.groups() if group), "").strip()
    match slot.type:
        case "integer" if "month" in match.groupdict():
            return _nights(match)
        case "integer":
            return _number(text, slot, manners)
        case "integers":
            return [int(number) for number in re.findall("[0-9]{1,9}", text)]
        case "choice":
            return slot.values.get(text.lower())
        case "money":
            return _money(match.groupdict(), slot)
    return text.title() if slot.title else text


def _money(said: Mapping[str, str | None], slot: SlotRule) -> dict[str, Any]:
    currency = slot.values.get((said["currency"] or "").lower())
    operator = "~" if said.get("about") else "<="
    return {"amount": int((said["amount"] or "").replace(",", "")), "currency": currency, "operator": operator}


def _nights(match: re.Match[str]) -> int:
    """Return how many nights lie between two days, of one month or of two that follow each other."""
    name = match["month"][:3].lower()
    month = int(name) if name.isdecimal() else 1 + _MONTHS.index(name)
    days = calendar.monthrange(datetime.now(UTC).year, month)[1]
    nights = int(match["last"]) - int(match["first"])
    return nights if nights > 0 else nights + days


def _number(text: str, slot: SlotRule, manners: Manners) -> int | None:
    digits = text.replace(",", "")
    value = int(digits) if re.fullmatch("[0-9]{1,9}", digits) else manners.numbers.get(text.lower())
    return min(value, slot.max) if value is not None and slot.max is not None else value


def _with_defaults(slots: dict[str, Any], domain: Domain) -> Facts:
    facts = dict(slots)
    for name, slot in domain.slots.items():
        for default in slot.defaults:
            if name not in facts and (value := substituted(default, facts)) is not None:
                facts[name] = value
        for count, (least, most) in slot.counts.items() if name in facts else ():
            facts[count] = sum(least <= number <= most for number in facts[name])
    return facts
