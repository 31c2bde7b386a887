"""Models for the arguments and results of foreign tools, made from their translated schemas."""

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any, ClassVar, Self

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError as Mismatch
from jsonschema.exceptions import best_match
from jsonschema.validators import extend
from pydantic import RootModel, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from turnloom.tools.mcp.schema_keywords import matcher
from turnloom.tools.mcp.type_names import Schema

_MOST_FAULTS = 20
_LONGEST = 200


class Foreign(RootModel[dict[str, Any]]):
    """A JSON object that fits a translated schema. It is kept unchanged."""

    json_schema: ClassVar[Schema] = {}

    @model_validator(mode="after")
    def fits(self) -> Self:
        """Check the object against the schema."""
        if faults := list(islice(_faults(type(self), self.root), _MOST_FAULTS)):
            raise ValidationError.from_exception_data(type(self).__name__, faults)
        return self

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> Schema:
        """Return the translated schema."""
        return cls.json_schema


def model_of(name: str, schema: Schema) -> type[Foreign]:
    """Make the model of a translated schema."""
    return type(name, (Foreign,), {"json_schema": schema, "__module__": __name__, "__doc__": None})


def _faults(model: type[Foreign], value: Any) -> Iterator[InitErrorDetails]:
    try:
        for error in _validator_of(model).iter_errors(value):
            # Among alternatives, report the one that matched furthest: its place shows where a reference stands.
            found = best_match([error]) or error
            yield _fault(_sentence(found), tuple(found.absolute_path))
    except (ArithmeticError, RecursionError) as error:
        yield _fault(f"cannot be compared with the schema: {type(error).__name__}", ())


def _fault(sentence: str, place: tuple[str | int, ...]) -> InitErrorDetails:
    return InitErrorDetails(
        type=PydanticCustomError("schema", "{sentence}", {"sentence": sentence}), loc=place, input=None
    )


def _sentence(error: Any) -> str:
    """Describe the fault without the value, which may be a secret."""
    wanted = str(error.validator_value)
    wanted = wanted if len(wanted) <= _LONGEST else f"{wanted[:_LONGEST]}…"
    match error.validator:
        case "required":
            return "Field required"
        case "additionalProperties":
            return "Extra inputs are not permitted"
        case "type":
            return f"Input should be of the type {wanted}"
        case "enum":
            return f"Input should be one of {wanted}"
        case word:
            return f"Input does not fit: {word} {wanted}"


@cache
def _validator_of(model: type[Foreign]) -> Any:
    return _Validator(model.json_schema)


def _required(validator: Any, names: list[str], value: Any, _: Schema) -> Iterator[Any]:
    """Check `required` as the library does, and report the place of the missing field."""
    for name in names:
        if validator.is_type(value, "object") and name not in value:
            yield Mismatch("is missing", path=[name])


def _additional(validator: Any, rest: Any, value: Any, schema: Schema) -> Iterator[Any]:
    """Check `additionalProperties` as the library does, and report the place of the extra field.

    `patternProperties` are ignored: translated schemas have none.
    """
    if validator.is_type(value, "object"):
        for name in value.keys() - schema.get("properties", {}).keys():
            if rest is False:
                yield Mismatch("is too much", path=[name])
            else:
                yield from validator.descend(value[name], rest, path=name)


def _pattern(validator: Any, pattern: str, value: Any, _: Schema) -> Iterator[Any]:
    """Check `pattern` as the library does, but with a regex engine that no pattern can make hang."""
    engine = matcher(pattern)
    if engine and validator.is_type(value, "string") and not engine.isinstance_python(value):
        yield Mismatch("does not match")


_Validator: Any = extend(
    Draft202012Validator, {"required": _required, "additionalProperties": _additional, "pattern": _pattern}
)
