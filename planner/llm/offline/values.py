"""Values of a rule's arguments, filled in from the facts."""

import re
from collections.abc import Mapping
from typing import Any

Facts = dict[str, Any]
"""Slot -> value, want -> True."""


def value_of(value: Any, facts: Facts, written: Mapping[str, list[str]]) -> Any:
    """Return the value that an entry of `Skeleton.args` stands for, None if unknown. `written`: the steps so far."""
    if isinstance(value, list):
        return next((found for one in value if (found := value_of(one, facts, written)) is not None), None)
    if not isinstance(value, dict):
        return substituted(value, facts)
    if "$each" in value:
        return [{"$from": name} for name in written.get(value["$each"], [])]
    if "$from" in value:
        reference = value["$from"].format_map(facts)
        return {"$from": reference} if reference.split(".")[0] in written else None
    items = value["$list"] if "$list" in value else value.values()
    found = [value_of(item, facts, written) for item in items]
    if None in found:
        return None
    return found if "$list" in value else dict(zip(value, found, strict=True))


def substituted(value: Any, facts: Facts) -> Any:
    """Return the value of `$slot` or `$slot[0].field`, None if unknown. In another text, `{slot}` is filled in."""
    if not isinstance(value, str):
        return value
    if not value.startswith("$"):
        return value.format_map(facts)
    found: Any = facts
    for part in re.findall(r"\w+", value.format_map(facts)):
        found = _inside(found, part)
    return found


def _inside(value: Any, part: str) -> Any:
    if isinstance(value, list):
        return value[int(part)] if part.isdecimal() and int(part) < len(value) else None
    return value.get(part) if isinstance(value, Mapping) else None
