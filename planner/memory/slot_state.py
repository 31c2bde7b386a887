"""Settle slots: merge what a message says into the state of its conversation, and show the state.

In: a plan's `slots` and `forget`, and the state so far.  Out: the new state.  Pure.
A state holds only values from messages and results. Defaults and counts are added when it is shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from turnloom.models.contracts.plan import Fault
from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.memory.slots import Slot, Slots, read_value

Schema = dict[str, Any]
State = Mapping[str, Any]
"""Slot -> value."""


def read_slots(data: Mapping[str, Any], slots: Slots) -> tuple[dict[str, Any], list[Fault]]:
    """Return the normalised values of a plan's `slots`, and the faults in its `slots` and `forget`.

    A null value means that the message did not mention the slot. Both fields are ignored if the agent has no slots.
    """
    said, forget = data.get("slots") or {}, data.get("forget") or []
    if not slots or not isinstance(said, Mapping) or not isinstance(forget, list):
        return {}, []  # validation reports a wrong type as a fault of the plan's shape
    values: dict[str, Any] = {}
    faults = [_unknown(name, slots, "forget") for name in forget if name not in slots]
    for name, value in said.items():
        if name not in slots:
            faults.append(_unknown(name, slots, "slots"))
        elif value is not None:
            try:
                values[name] = read_value(value, slots[name])
            except ValueError as error:
                faults.append(_fault(f"slots.{name}", f"slots.{name}: {error}"))
    return values, faults


def merged(state: State, said: State, forget: Iterable[str], slots: Slots) -> dict[str, Any]:
    """Return the state after a message: with the values that it gives, without those that it takes back or replaces."""
    obsolete = {other for name in said for other in slots[name].replaces}
    gone = (obsolete | set(forget)) - said.keys()
    return {name: value for name, value in state.items() if name not in gone} | dict(said)


def settled(state: State, steps: Sequence[StepResult], slots: Slots) -> dict[str, Any]:
    """Return the state with the slots that results settle. A slot is settled if all results of the turn agree."""
    found = {name: list(_found(slot, steps)) for name, slot in slots.items() if slot.taken_from}
    agreed = {name: values[0] for name, values in found.items() if values and all(one == values[0] for one in values)}
    return {**state, **agreed}


def shown(state: State, slots: Slots) -> dict[str, Any]:
    """Return a state as prompts and readers see it: with defaults and counts, in the order of the profile.

    The default replaces a value that is not valid for the slot, such as one that another agent settled under the same
    name with another type.
    """
    values: dict[str, Any] = {}
    for name, slot in slots.items():
        value = _still_valid(state.get(name), slot)
        if value is not None:
            values[name] = value
        for count, (least, most) in slot.counts.items() if value is not None else ():
            values[count] = sum(least <= number <= most for number in value)
    return values


def slot_schemas(slots: Slots) -> dict[str, Schema]:
    """Return the strict schema of each slot's value."""
    return {name: _schema(slot) for name, slot in slots.items()}


def slots_schema(slots: Slots) -> Schema:
    """Return the strict schemas of a plan's `slots` and `forget`, by field; empty if the agent has no slots."""
    if not slots:
        return {}
    properties = {name: _nullable(schema) for name, schema in slot_schemas(slots).items()}
    said = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    names = {"type": "array", "items": {"type": "string", "enum": list(slots)}}
    return {
        "slots": said,
        "forget": _nullable(names),
    }


def _found(slot: Slot, steps: Sequence[StepResult]) -> Iterator[Any]:
    for step in steps:
        field = slot.taken_from.get(step.tool)
        if field and step.status == "succeeded" and isinstance(step.result, Mapping):
            value = _still_valid(step.result.get(field), slot)
            if value is not None:
                yield value


def _still_valid(value: Any, slot: Slot) -> Any:
    if value is None:
        value = slot.default
    try:
        return None if value is None else read_value(value, slot)
    except ValueError:
        return slot.default


def _schema(slot: Slot) -> Schema:
    limits = {"minimum": slot.min, "maximum": slot.max}
    bounds = {name: _whole(limit) for name, limit in limits.items() if limit is not None}
    shapes: dict[str, Schema] = {
        "text": {"type": "string"},
        "integer": {"type": "integer"} | bounds,
        "number": {"type": "number"} | bounds,
        "date": {"type": "string", "format": "date"},
        "boolean": {"type": "boolean"},
        "choice": {"type": "string", "enum": list(slot.choices)},
        "integers": {"type": "array", "items": {"type": "integer"} | bounds},
        "texts": {"type": "array", "items": {"type": "string"}},
        "money": _money_schema(slot, bounds),
    }
    return shapes[slot.type] | {"description": slot.description}


def _money_schema(slot: Slot, bounds: Schema) -> Schema:
    currency: Schema = {"type": "string"} | (
        {"enum": list(slot.currencies)} if slot.currencies else {"pattern": "^[A-Z]{3}$"}
    )
    properties: Schema = {
        "amount": {"type": "number"} | bounds,
        "currency": currency,
        "operator": {"type": "string", "enum": ["<=", "~"]},
    }
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _whole(limit: float) -> int | float:
    return int(limit) if float(limit).is_integer() else limit


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _unknown(name: object, slots: Slots, field: str) -> Fault:
    return _fault(field, f"{field}: unknown slot {str(name)[:80]!r}; known slots: {', '.join(slots)}")


def _fault(path: str, message: str) -> Fault:
    return Fault(step=None, code="bad_slot", message=message, path=path)
