"""Foreign schemas are translated or refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from turnloom.models.errors import Invalid
from turnloom.tools.mcp.foreign_models import model_of
from turnloom.tools.mcp.schemas import MAX_BYTES, MAX_NODES, translate

TEXT = {"type": "string"}
NULL = {"type": "null"}


def of(schema: Any) -> Any:
    """Translate the schema of an argument."""
    return translate({"type": "object", "properties": {"a": schema}}).schema["properties"]["a"]


def faults(schema: Any, value: dict[str, Any]) -> dict[str, str]:
    """Return the faults of an object, as sentences by place."""
    try:
        model_of("Args", translate(schema).schema).model_validate(value)
    except ValidationError as error:
        return {".".join(map(str, fault["loc"])): fault["msg"] for fault in error.errors()}
    return {}


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        ("string", TEXT),
        ({"type": "str"}, TEXT),
        ({"type": "String", "desc": "The city."}, TEXT | {"description": "The city."}),
        ({"type": "float"}, {"type": "number"}),
        ({"type": "dict", "properties": {"n": "int"}}, {"type": "object", "properties": {"n": {"type": "integer"}}}),
        ({"type": "any"}, {}),
        ({"type": "tuple", "items": {"type": "long"}}, {"type": "array", "items": {"type": "integer"}}),
        ({"type": "List[str]"}, {"type": "array", "items": TEXT}),
        ({"type": "number[]"}, {"type": "array", "items": {"type": "number"}}),
        ({"type": "Dict[str, Any]"}, {"type": "object"}),
        ({"type": "Optional[int]"}, {"anyOf": [{"type": "integer"}, NULL]}),
        ({"type": "str | None"}, {"anyOf": [TEXT, NULL]}),
        ({"type": "Date (yyyy-mm-dd)"}, TEXT | {"format": "date"}),
        ({"type": ["string", "null"]}, {"anyOf": [TEXT, NULL]}),
        ({"type": "string", "nullable": True, "description": "d"}, {"anyOf": [TEXT, NULL], "description": "d"}),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 0}),
        ({"type": "array", "items": ["str"]}, {"type": "array", "prefixItems": [TEXT]}),
        ({"type": "array", "items": [], "additionalItems": False}, {"type": "array", "items": {"not": {}}}),
        ({"oneOf": [TEXT, NULL]}, {"anyOf": [TEXT, NULL]}),
        ({"properties": {"b": True}}, {"type": "object", "properties": {"b": {}}}),
        ({"allowed_values": ["x", "y"], "default_value": "x"}, {"enum": ["x", "y"], "default": "x"}),
        ({"type": "string", "enum": []}, TEXT),
        ({"type": "string", "example": "x", "x-order": 3, "discriminator": {}}, TEXT),
    ],
)
def test_a_dialect_is_translated(foreign: Any, ours: Any) -> None:
    """The result has only words that planner, runner and reference know."""
    assert of(foreign) == ours


def test_properties_that_say_themselves_that_they_are_required() -> None:
    """Draft 3 and many lists of functions do so."""
    schema = translate({"city": {"type": "string", "required": True}, "days": {"type": "integer", "required": False}})

    assert (schema.schema["required"], list(schema.schema["properties"])) == (["city"], ["city", "days"])


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        ({"type": "object"}, {"type": "object", "additionalProperties": True}),
        ({"type": "object", "properties": {}}, {"type": "object", "properties": {}}),
        ({"type": ["object", "null"], "properties": {"a": TEXT}}, {"type": "object", "properties": {"a": TEXT}}),
    ],
)
def test_undeclared_arguments_are_open(foreign: Any, ours: Any) -> None:
    """A tool that declares that it has no arguments has none."""
    assert translate(foreign).schema == ours


def test_references_are_written_out() -> None:
    """The target replaces a reference of any draft, with the words beside it. A cyclic one leaves the rest open."""
    found = translate(
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/definitions/City", "description": "Where."}, "t": {"$ref": "#/$defs/Tree"}},
            "definitions": {"City": {"type": "string", "minLength": 1}},
            "$defs": {"Tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}},
        }
    )

    assert found.schema["properties"] == {
        "a": {"type": "string", "minLength": 1, "description": "Where."},
        "t": {"type": "object", "properties": {"left": {}}},
    }
    assert found.left_out == ["$ref to itself"]


DOUBLING = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(10)} | {"d10": TEXT}
DEEP: Any = TEXT
for _ in range(60):
    DEEP = {"type": "array", "items": DEEP}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "promise"}, "the type 'promise' does not exist in JSON"),
        ({"$ref": "https://evil.example/schema.json"}, "points outside the schema"),
        ({"$ref": "file:///etc/passwd"}, "points outside the schema"),
        ({"$ref": "#/$defs/none"}, "points to nothing"),
        ({"$ref": 7}, "points outside the schema"),
        (7, "expected a schema, found 7"),
        (DEEP, "levels deep"),
        ({"properties": {f"p{n}": {} for n in range(MAX_NODES)}}, "parts"),
        ({"description": "x" * MAX_BYTES}, "bytes"),
        ({"properties": {"$from": TEXT}}, "cannot be the name of an argument"),
        ({"properties": {"a\u200bb": TEXT}}, "cannot be the name of an argument"),
        ({"properties": {"": TEXT}}, "cannot be the name of an argument"),
        ({"enum": [float("nan")], "const": "\ud800"}, "not JSON"),
        ({"properties": [TEXT]}, "not an object"),
    ],
)
def test_a_schema_that_has_no_translation_is_refused_with_the_reason(schema: Any, reason: str) -> None:
    """The operator reads it at the import."""
    with pytest.raises(Invalid, match=reason.replace("$", r"\$")):
        of(schema)


def test_references_that_multiply_are_refused() -> None:
    """Ten lines would become three thousand."""
    with pytest.raises(Invalid, match="parts"):
        translate({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": DOUBLING})


@pytest.mark.parametrize("schema", [None, 7, "string", [], {"type": "array"}, {"type": "string"}])
def test_arguments_and_results_are_objects(schema: Any) -> None:
    """Anything else has no names for its parts."""
    with pytest.raises(Invalid):
        translate(schema)


def test_hidden_characters_of_a_text_are_removed() -> None:
    """These are control characters and invisible ones. A long text is cut."""
    hidden = "Read\u200b a\x1b[31m file\u202e.\U000e0041\n\n" + "x" * 2_000

    found = of({"type": "string", "description": hidden})["description"]

    assert found.startswith("Read a[31m file. xxx")
    assert len(found) == 1_000


def test_a_pattern_cannot_hang_a_call() -> None:
    """A pattern that our engine does not know is left to the server."""
    text = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    ahead = translate({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=a)(a|aa)+$"}}})

    assert faults(text, {"a": "a" * 50_000 + "!"}) == {"a": "Input does not fit: pattern ^(a+)+$"}
    assert faults(text, {"a": "aaa"}) == {}
    assert (ahead.schema["properties"]["a"], ahead.left_out) == (TEXT, ["pattern"])


def test_a_fault_names_its_place_and_not_the_value() -> None:
    """The planner needs the place, as with our own models. The value may be a secret."""
    inner = {"type": "object", "properties": {"y": {"type": "integer"}, "z": TEXT}, "required": ["y", "z"]}
    schema = {
        "type": "object",
        "properties": {"a": TEXT, "b": {"anyOf": [inner, NULL]}, "c": {"type": "array", "items": {"enum": ["x"]}}},
        "required": ["a"],
        "additionalProperties": False,
    }

    assert faults(schema, {"b": {"y": "s3cret", "z": "z"}, "c": ["x", "s3cret"], "d": 1}) == {
        "a": "Field required",
        "b.y": "Input should be of the type integer",
        "c.1": "Input should be one of ['x']",
        "d": "Extra inputs are not permitted",
    }


def test_numbers_beyond_all_bounds_are_a_fault() -> None:
    """They do not cause a crash."""
    schema = {"type": "object", "properties": {"a": {"type": "number", "multipleOf": 0.1}}}

    assert faults(schema, {"a": 10**400}) == {"": "cannot be compared with the schema: OverflowError"}


WORDS = (
    "type",
    "properties",
    "required",
    "items",
    "anyOf",
    "oneOf",
    "$ref",
    "enum",
    "pattern",
    "minimum",
    "$defs",
    "not",
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["string", "#/$defs/a", "dict"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*WORDS, "a", "b"]), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_any_schema_is_translated_or_refused(raw: Any) -> None:
    """The translation is a valid schema, and validating with it ends."""
    try:
        schema = translate(raw).schema
    except Invalid:
        return

    Draft202012Validator.check_schema(schema)
    assert "$ref" not in json.dumps(list(schema))
    faults(schema, {"a": 1, "b": [{}]})


SCALAR = st.sampled_from(
    [
        {"type": "string", "minLength": 1},
        {"type": "integer", "maximum": 3},
        {"enum": ["x", 1, None]},
        {"const": "x"},
        {"type": ["number", "null"]},
        {"type": "string", "pattern": "^x"},
        {},
        {"not": TEXT},
        {"type": "boolean"},
    ]
)
CLOSED = {"type": "object", "patternProperties": {"^y": {}}, "additionalProperties": False}
SCHEMA = st.recursive(
    SCALAR,
    lambda inner: (
        st.builds(lambda one: {"type": "array", "items": one}, inner)
        | st.builds(lambda one, other: {"oneOf": [one, other]}, inner, inner)
        | st.builds(lambda one, other: {"allOf": [one], "anyOf": [other, one], "oneOf": [one]}, inner, inner)
        | st.builds(
            lambda one, names: {"type": "object", "properties": {"x": one}, "required": names},
            inner,
            st.sampled_from([[], ["x"]]),
        )
        | st.builds(lambda one: {**CLOSED, "properties": {"x": one}}, inner)
    ),
    max_leaves=6,
)
VALUE = st.recursive(
    st.sampled_from(["x", "", 1, 7, 2.5, None, True]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["x", "y", "z"]), inner, max_size=2),
    max_leaves=5,
)


@given(SCHEMA, VALUE)
def test_a_translation_refuses_nothing_that_the_server_takes(schema: Any, value: Any) -> None:
    """A translation never asks for more than the schema did."""
    whole = {"type": "object", "properties": {"a": schema}}

    assert not Draft202012Validator(whole).is_valid({"a": value}) or faults(whole, {"a": value}) == {}
