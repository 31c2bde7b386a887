"""Random plans that fit their response schema, as a model in strict mode writes them that knows nothing of the world.

A value is any that its schema allows: words for a text, sometimes none, and a coming day for a date, each later than
the one before. An argument may be a reference to an earlier step, to a field of its result that is like the argument.
JSON text is that of a value that the tool's own schema allows. Ids are unique, and `needs` names earlier steps.
"""

import json
import re._constants as sre
import re._parser as sre_parse
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from random import Random
from typing import Any

from turnloom.tools.registry import Registry

Schema = dict[str, Any]
Kind = tuple[Any, ...]
"""The keywords that two schemas share if a value of one fits the other."""

_WORDS = "Rome Kyoto quiet double breakfast near the station 2 adults été 京都 Ünal A-7 wifi, pool; please".split()
_REFERENCE = "#/$defs/reference"
_JSON_TEXT = "#/$defs/json_text"
_OWN = {_REFERENCE, _JSON_TEXT}
_FORMATS = {
    "uuid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "time": "10:30:00",
    "duration": "PT2H",
    "email": "ada@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}


class PlanWriter:
    """Writes random plans for one response schema."""

    def __init__(self, schema: Schema, tools: Registry, seed: int, today: date) -> None:
        self._schema = schema
        self._tools = tools
        self._random = Random(seed)
        self._day = today
        self._steps: list[tuple[str, str]] = []
        """Id and tool of each step so far."""

    def plan(self) -> Schema:
        """Return a plan."""
        plan = {
            name: self._value(inner, self._schema)
            for name, inner in self._schema["properties"].items()
            if name != "steps"
        }
        steps = [self._step() for _ in range(self._random.randint(1, 5))]
        return plan | {"steps": [step for step in steps if step]}

    def _step(self) -> Schema | None:
        fields = self._resolved(self._schema["properties"]["steps"]["items"])["properties"]
        call = self._call(self._random.choice(self._branches(fields["call"])))
        if call is None:
            return None
        step = {name: self._value(inner, self._schema) for name, inner in fields.items() if name != "call"}
        step_id = f"{self._random.choice('abc')}{len(self._steps)}"
        needs = [earlier for earlier, _ in self._steps if self._random.random() < 0.2]
        self._steps.append((step_id, call["tool"]))
        return step | {"id": step_id, "call": call, "needs": needs}

    def _call(self, schema: Schema) -> Schema | None:
        """Return a call; None if it needs a result that no earlier step has."""
        tool = schema["properties"]["tool"]["const"]
        own = self._tools.get(tool).input_schema
        args = {}
        for name, inner in self._resolved(schema["properties"]["args"])["properties"].items():
            made = self._argument(inner, own["properties"][name], own)
            if made is None:
                return None
            args[name] = made[0]
        return {"tool": tool, "args": args} | self._beside(schema["properties"])

    def _beside(self, fields: Schema) -> Schema:
        """Return what a call holds beside tool and arguments."""
        makes = {"run_if": self._condition, "fallbacks": self._fallbacks}
        return {
            name: make(fields[name]) if self._random.random() < 0.3 else None
            for name, make in makes.items()
            if name in fields
        }

    def _fallbacks(self, schema: Schema) -> list[Schema]:
        offered = self._branches(self._resolved(self._branches(schema)[0]["items"]))
        drawn = [self._call(self._random.choice(offered)) for _ in range(self._random.randint(0, 2))]
        return [call for call in drawn if call is not None]

    def _condition(self, schema: Schema) -> Schema | None:
        """Return a condition on a field of an earlier result; None if there is none."""
        sources = [
            f"{step}{path}" for step, tool in self._steps for path, _ in _fields(self._tools.get(tool).output_schema)
        ]
        written = self._value(self._branches(schema)[0], self._schema)
        return {**written, "$from": self._random.choice(sources)} if sources else None

    def _argument(self, schema: Schema, declared: Schema, own: Schema) -> tuple[Any] | None:
        sources = self._sources(declared, own)
        if sources and self._random.random() < 0.3:
            return ({"$from": self._random.choice(sources)},)
        literals = [one for one in self._branches(schema) if not self._is_list_of_references(one)]
        literals = [one for one in literals if one.get("$ref") != _REFERENCE]
        if not literals:
            return ({"$from": self._random.choice(sources)},) if sources else None
        chosen = self._random.choice(literals)
        if chosen.get("$ref") == _JSON_TEXT:
            return (json.dumps(self._value(declared, own)),)
        return (self._value(chosen, self._schema),)

    def _sources(self, declared: Schema, own: Schema) -> list[str]:
        wanted = set(_kinds(declared, own))
        produced = ((step, self._tools.get(tool).output_schema) for step, tool in self._steps)
        return [f"{step}{path}" for step, schema in produced for path, kind in _fields(schema) if kind in wanted]

    def _branches(self, schema: Schema) -> list[Schema]:
        """Return the alternatives of a schema, with shared parts unfolded but not a reference or JSON text."""
        if schema.get("$ref") in _OWN:
            return [schema]
        schema = self._resolved(schema)
        return [one for branch in schema["anyOf"] for one in self._branches(branch)] if "anyOf" in schema else [schema]

    def _is_list_of_references(self, schema: Schema) -> bool:
        return schema.get("items", {}).get("$ref") == _REFERENCE

    def _value(self, schema: Schema, root: Schema) -> Any:
        schema = _resolved(schema, root)
        branches = schema.get("anyOf") or schema.get("oneOf")
        if branches:
            return self._value(self._random.choice([one for one in branches if one.get("$ref") != _REFERENCE]), root)
        if "const" in schema or "enum" in schema:
            return schema["const"] if "const" in schema else self._random.choice(schema["enum"])
        make: dict[str, Callable[[], Any]] = {
            "object": lambda: {name: self._value(inner, root) for name, inner in schema.get("properties", {}).items()},
            "array": lambda: self._list(schema, root),
            "string": lambda: self._text(schema),
            "integer": lambda: self._number(schema),
            "number": lambda: self._number(schema),
            "boolean": lambda: self._random.random() < 0.5,
            "null": lambda: None,
        }
        return make[schema.get("type", "string")]()

    def _list(self, schema: Schema, root: Schema) -> list[Any]:
        least = schema.get("minItems", 0)
        length = self._random.randint(least, min(schema.get("maxItems", 5), least + 4))
        return [self._value(schema["items"], root) for _ in range(length)]

    def _text(self, schema: Schema) -> str:
        if "pattern" in schema:
            return "".join(self._matching(sre_parse.parse(schema["pattern"])))
        if schema.get("format") in ("date", "date-time"):
            self._day += timedelta(days=self._random.randint(1, 3))
            return self._day.isoformat() + ("T10:00:00Z" if schema["format"] == "date-time" else "")
        words = " ".join(self._random.choices(_WORDS, k=self._random.randint(0, 60) and self._random.randint(1, 4)))
        return _FORMATS.get(schema.get("format", ""), words[: schema.get("maxLength", 100)])

    def _matching(self, parsed: Any) -> Iterator[str]:
        """Yield the pieces of a text that a pattern matches."""
        for kind, value in parsed:
            match kind:
                case sre.LITERAL:
                    yield chr(value)
                case sre.IN:
                    yield chr(self._random.choice([*_characters(value)]))
                case sre.MAX_REPEAT:
                    least, most, inner = value
                    for _ in range(self._random.randint(least, min(most, least + 3))):
                        yield from self._matching(inner)
                case sre.SUBPATTERN:
                    yield from self._matching(value[-1])
                case sre.BRANCH:
                    yield from self._matching(self._random.choice(value[1]))

    def _number(self, schema: Schema) -> float:
        least = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
        most = schema.get("maximum", max(100, least))
        return self._random.randint(least, most) if schema["type"] == "integer" else self._random.uniform(least, most)

    def _resolved(self, schema: Schema) -> Schema:
        return _resolved(schema, self._schema)


def _characters(choices: Any) -> Iterator[int]:
    for kind, value in choices:
        yield from range(value[0], value[1] + 1) if kind == sre.RANGE else [value]


def _resolved(schema: Schema, root: Schema) -> Schema:
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
    return schema


def _kinds(schema: Schema, root: Schema) -> Iterator[Kind]:
    schema = _resolved(schema, root)
    if "anyOf" in schema:
        for branch in schema["anyOf"]:
            yield from _kinds(branch, root)
    elif schema.get("type") == "object":
        yield "object", schema.get("title")
    elif schema.get("type") == "array":
        yield from (("array", kind) for kind in _kinds(schema.get("items", {}), root))
    elif schema.get("type", "null") != "null":
        yield schema["type"], str(schema.get("format") or schema.get("pattern") or schema.get("enum") or "")


def _fields(schema: Schema) -> Iterator[tuple[str, Kind]]:
    """Yield the result and each field of it with its kind; of a list also the first item."""
    return _fields_at(schema, schema, "", 4)


def _fields_at(schema: Schema, root: Schema, path: str, depth: int) -> Iterator[tuple[str, Kind]]:
    schema = _resolved(schema, root)
    yield from ((path, kind) for kind in _kinds(schema, root))
    for branch in schema.get("anyOf", [schema]) if depth else ():
        whole = _resolved(branch, root)
        for name, inner in whole.get("properties", {}).items():
            yield from _fields_at(inner, root, f"{path}.{name}", depth - 1)
        if whole.get("type") == "array" and "items" in whole:
            yield from _fields_at(whole["items"], root, f"{path}[0]", depth - 1)
