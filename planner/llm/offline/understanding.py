"""From what the user wrote to facts: slots with their values, and wants. Later messages win over earlier ones."""

import re
from dataclasses import dataclass, field
from typing import Any

from planner.llm.offline.rules import Domain, Manners, Slot

Facts = dict[str, Any]
"""Slot -> value, want -> True."""


@dataclass
class _Heard:
    """What a conversation has said so far, in one domain."""

    slots: dict[str, Any] = field(default_factory=dict)
    wants: set[str] = field(default_factory=set)


def understand(messages: list[str], domain: Domain, manners: Manners) -> Facts | None:
    """Return the facts that the last message stands for, None where the domain does not understand it."""
    heard = _Heard()
    understood = False
    for message in messages if domain.remembers else messages[-1:]:
        understood = _listen(message, heard, domain, manners)
    if not understood:
        return None
    wants = heard.wants or set(domain.wants)
    if domain.needs and not wants & set(domain.needs):
        return None
    return _with_defaults(heard.slots, domain) | dict.fromkeys(sorted(wants), True)


def _listen(message: str, heard: _Heard, domain: Domain, manners: Manners) -> bool:
    """Take in one message; tell whether it said anything of this domain."""
    found = {name: value for name, slot in domain.slots.items() if (value := _find(message, slot, manners)) is not None}
    wants = {name for name, pattern in domain.wants.items() if pattern.search(message)}
    if not (wants or heard.wants or found.keys() & domain.requires.keys()):
        return False  # a number or a date before the matter has come up belongs to something else
    for name in found:
        for obsolete in domain.slots[name].replaces:
            heard.slots.pop(obsolete, None)
    heard.slots |= found
    unwanted = {name for name in wants if _is_unwanted(message, domain.wants[name], manners)}
    wants -= unwanted
    if not manners.only.search(message):
        wants |= {part for want in wants for part in domain.whole.get(want, ())} - unwanted
    if wants:
        heard.wants = heard.wants | wants if manners.also.search(message) else wants
    heard.wants = (heard.wants or set(domain.wants)) - unwanted if unwanted else heard.wants
    # A domain that remembers understands "3 days" alone; in the others a value without a want says nothing.
    return bool(wants or unwanted or (found and domain.remembers))


def _is_unwanted(message: str, want: re.Pattern[str], manners: Manners) -> bool:
    return re.search(manners.without + want.pattern.removeprefix(r"\b"), message, re.IGNORECASE) is not None


def _find(message: str, slot: Slot, manners: Manners) -> Any:
    for pattern in slot.patterns:
        for match in pattern.finditer(message):
            text = next((group for group in match.groups() if group), "").strip()
            value = _number(text, slot, manners) if slot.type == "integer" else text.title() if slot.title else text
            if value not in (None, ""):
                return value
    return None


def _number(text: str, slot: Slot, manners: Manners) -> int | None:
    digits = text.replace(",", "")
    value = int(digits) if re.fullmatch("[0-9]{1,9}", digits) else manners.numbers.get(text.lower())
    return min(value, slot.max) if value is not None and slot.max is not None else value


def _with_defaults(slots: dict[str, Any], domain: Domain) -> Facts:
    facts = dict(slots)
    for name, slot in domain.slots.items():
        for default in slot.defaults:
            if name not in facts and (value := substituted(default, facts)) is not None:
                facts[name] = value
    return facts


def substituted(value: Any, facts: Facts) -> Any:
    """Return what `$slot` stands for, None where that is not known; anything else as it is."""
    return facts.get(value[1:]) if isinstance(value, str) and value.startswith("$") else value
