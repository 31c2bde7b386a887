"""Faults of a call's arguments: what the tool's input model refuses, and references that are written as text.

What the input model says about a reference is ignored: the value is not there yet. A part of a union that would take
the argument with its references filled in takes it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from turnloom.models.contracts.plan import Fault, Reference, Step, find_references, is_reference, parse_reference
from turnloom.planner.plan.references import Schema, schema_at
from turnloom.tools.registry import Registry, Tool

Place = tuple[str | int, ...]


class _Error(NamedTuple):
    """An error of pydantic, and the rest of its location."""

    rest: Place
    kind: str
    message: str


_MARKED = re.compile(r"\$\{([^{}]{1,300})\}|\{\{([^{}]{1,300})\}\}")
"""How other systems write that a value is to be filled in."""
_OF_SEVERAL = ("value_error", "assertion_error", "union_tag_")
"""Types of faults that a validator finds in several fields at once, of which some may be references."""


def faults_of_arguments(step: Step, place: str, tool: Tool, args: dict[str, Any]) -> Iterator[Fault]:
    """Check the literal arguments with the tool's input model."""
    try:
        tool.input.model_validate(args)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        errors = [_Error(one["loc"], one["type"], one["msg"]) for one in found]
        for where, message in dict.fromkeys(_standing(errors, args)):
            path = ".".join([place, *map(str, where)])
            text = f"step {step.id!r} ({tool.name}): {path}: {message}"
            yield Fault(step=step.id, code="bad_argument", message=text, path=f"{step.id}.{path}")


def faults_of_references_as_text(
    step: Step, place: str, args: dict[str, Any], by_id: Mapping[str, Step], tools: Registry
) -> Iterator[Fault]:
    """Report texts that are meant as references, such as `${a.b}` and `{{a.b}}`: nobody fills them in."""
    for path, text in _texts(args):
        reference = _meant(text, by_id, tools)
        if reference is not None:
            where = ".".join([step.id, place, *map(str, path)])
            right = f'write {{"$from": "{reference}"}}, as the whole value and not as a text'
            message = f"{where}: {text[:100]!r} is not filled in; {right}"
            yield Fault(step=step.id, code="bad_reference", message=message, path=where)


def _standing(errors: Iterable[_Error], value: Any, done: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yield the place and the message of each error that filling in the references cannot mend.

    A location of pydantic names fields of the value, and between them the parts of unions that were tried.
    """
    if is_reference(value):
        return
    fields: dict[str | int, list[_Error]] = defaultdict(list)
    parts: dict[str | int, list[_Error]] = defaultdict(list)
    for error in errors:
        if not error.rest:
            if not (error.kind.startswith(_OF_SEVERAL) and any(find_references(value))):
                yield done, error.message
        elif error.kind == "missing" and len(error.rest) == 1:
            yield (*done, *error.rest), error.message
        else:
            groups = fields if _has(value, error.rest[0]) else parts
            groups[error.rest[0]].append(error._replace(rest=error.rest[1:]))
    for name, inner in fields.items():
        yield from _standing(inner, value[name], (*done, name))
    tried = [list(_standing(inner, value, done)) for inner in parts.values()]
    if all(tried):
        yield from (error for left in tried for error in left)


def _has(value: Any, name: str | int) -> bool:
    if isinstance(value, dict):
        return name in value
    return isinstance(value, list) and isinstance(name, int) and name < len(value)


def _texts(value: Any, path: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yield each text of an argument with its place."""
    if isinstance(value, str):
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        if name != "$from":
            yield from _texts(inner, (*path, name))


def _meant(text: str, by_id: Mapping[str, Step], tools: Registry) -> Reference | None:
    """Return the reference that a text means; None if it means itself."""
    for match in _MARKED.finditer(text):
        reference = _read(match[1] or match[2])
        if reference and (reference.step in by_id or (reference.path and match[0] == text.strip())):
            return reference
    reference = _read(text)
    if reference is None or reference.step not in by_id or not reference.path:
        return None
    return reference if text.startswith("$") or _is_field(reference, by_id[reference.step], tools) else None


def _read(text: str) -> Reference | None:
    return parse_reference({"$from": text.strip().removeprefix("$").removeprefix(".")})


def _is_field(reference: Reference, step: Step, tools: Registry) -> bool:
    """Return whether a step's result declares a value at this place."""
    tool = tools.tools.get(step.tool)
    found: Schema | None = schema_at(tool.output_schema, reference.path) if tool else None
    return found is not None and all(found["anyOf"])
