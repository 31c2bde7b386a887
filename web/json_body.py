"""Read request bodies strictly. A refusal says where the fault is and why it is one, and never shows the value."""

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn, TypeVar

from apiflask.schema_adapters import registry
from apiflask.schema_adapters.pydantic import PydanticAdapter
from flask import Request, Response
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType

from turnloom.models.errors import Invalid, Malformed
from turnloom.web.errors import fault, unreadable_body

Model = TypeVar("Model", bound=BaseModel)

_DEEPEST = 64
_INTEGERS = range(-(2**63), 2**63)
_LONGEST_INTEGER = len(str(2**63)) + 1
_NAME_SHOWN = 80
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
"""An unclosed string matches too: the scan must pass over each byte once, whatever the bytes are."""
_RARE_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


class StrictAdapter(PydanticAdapter):
    """The adapter that makes APIFlask's `input` read by our rules: strict types, no unknown fields, our problems."""

    def validate_input(self, request: Request, location: str, **_: Any) -> BaseModel:
        """Return the validated body or query."""
        if location == "json":
            return validated(self.model_class, read_json(_body(request)), strict=True)
        return validated(self.model_class, request.args.to_dict(), strict=False)


# APIFlask keeps one adapter per kind of schema, for the whole process.
registry.register("pydantic", StrictAdapter)


def read_json(raw: bytes) -> Any:
    """Return the JSON value of a body.

    Raises:
        Malformed: the body is not UTF-8, not JSON, repeats a name or is nested too deeply.
        Invalid: the body holds a value that cannot be stored: NUL, half a surrogate pair, a number out of range.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"the body is not UTF-8: byte {error.start} cannot be read", code="not_utf8") from None
    if not text.strip():
        raise Malformed("the body is empty; send a JSON object", code="not_json")
    _refuse_depth(raw)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        raise Malformed(
            f"the body is not JSON: {error.msg}, line {error.lineno}, column {error.colno}", code="not_json"
        ) from None
    if _RARE_ESCAPE.search(raw):
        _refuse_unstorable(value, "")
    return value


def validated(model: type[Model], data: Any, *, strict: bool) -> Model:
    """Return the data as an instance of the model.

    Raises:
        Invalid: the data breaks the model's rules; the error has one fault for each.
    """
    try:
        return model.model_validate(data, strict=strict)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        faults = [fault(_place(each["loc"]), each["type"], _sentence(each["msg"])) for each in found]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        first = faults[0]
        where = first["field"] or "the whole"
        raise Invalid(f"{where}: {first['detail']}{more}", faults=faults) from None


def json_response(answer: BaseModel, status: int = 200) -> Response:
    """Return a contract as the answer, without APIFlask's own serialization, which would serialize twice."""
    return Response(answer.model_dump_json(), status, content_type="application/json")


def _body(request: Request) -> bytes:
    if request.content_encoding:
        raise UnsupportedMediaType("send the body without a Content-Encoding")
    charset = request.mimetype_params.get("charset", "utf-8").lower()
    if request.mimetype != "application/json" or charset not in ("utf-8", "utf8"):
        raise UnsupportedMediaType("send the body as application/json in UTF-8 and say so in Content-Type")
    raw = request.get_data(cache=False)
    if len(raw) != request.content_length and len(raw) == request.max_content_length:
        # A body without a length (chunked) is cut off silently at the limit.
        raise RequestEntityTooLarge
    if len(raw) < (request.content_length or 0):
        raise unreadable_body()
    return raw


def _refuse_depth(raw: bytes) -> None:
    # This comes before parsing, because the parser recurses.
    if raw.count(b"[") + raw.count(b"{") <= _DEEPEST:
        return
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(raw):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(token[0], 0)
        if depth > _DEEPEST:
            raise Malformed(f"the body is nested deeper than {_DEEPEST} levels", code="too_deep")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise Malformed(f"an object has the name {_shown(twice)} twice", code="duplicate_name")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise Malformed(f"the body is not JSON: {name} is not a JSON value", code="not_json")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Invalid("a number is out of range", code="number_out_of_range")
    return number


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER or (number := int(digits)) not in _INTEGERS:
        raise Invalid("a whole number is out of range; 64 bits are the limit", code="number_out_of_range")
    return number


def _refuse_unstorable(value: Any, place: str) -> None:
    if isinstance(value, str):
        if "\0" in value:
            detail = "contains the character NUL, which cannot be stored"
            raise Invalid(f"{place or 'the whole'}: {detail}", faults=[fault(place, "nul_character", detail)])
        if any("\ud800" <= character <= "\udfff" for character in value):
            detail = "contains half of a surrogate pair, which is not a character"
            raise Invalid(f"{place or 'the whole'}: {detail}", faults=[fault(place, "lone_surrogate", detail)])
    elif isinstance(value, dict):
        for name, inner in value.items():
            _refuse_unstorable(name, f"{place}.(name)".lstrip("."))
            _refuse_unstorable(inner, f"{place}.{name[:_NAME_SHOWN]}".lstrip("."))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _refuse_unstorable(inner, f"{place}[{index}]")


def _place(path: tuple[int | str, ...]) -> str:
    """Write a path in the callers' notation: `steps[2].args.city`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{_shown(part)}" for part in path)
    return "".join(parts).lstrip(".")


def _sentence(message: str) -> str:
    return message.removeprefix("Value error, ")


def _shown(name: str) -> str:
    # A name may be any string, even half a surrogate pair.
    return name[:_NAME_SHOWN].encode("utf-8", "replace").decode()
