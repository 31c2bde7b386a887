"""A form is a way to bind an answer to a schema; this module finds the best one that an endpoint's models accept.

An endpoint that takes the form may still refuse a schema because of its size. Then a lesser form would be worse for
ever, and a smaller schema is as good: the caller leaves out tools.

The forms, best first: `schema` is strict structured output, `function` the call of one function whose parameters are
the schema, `json` any JSON object, `text` anything. In the last two only the prompt says what the object holds, as
every prompt for JSON does.
"""

import time
from typing import Any, Literal

import orjson
from openai import APIStatusError

from turnloom.models.errors import Unavailable

Form = Literal["schema", "function", "json", "text"]

_FORMS: tuple[Form, ...] = ("schema", "function", "json", "text")
_WORDS: dict[Form, tuple[str, ...]] = {
    "schema": ("response_format", "response format", "json_schema", "structured output", "schema", "grammar"),
    "function": ("tools", "tool_choice", "tool choice", "tool use", "tool call", "function call", "functions"),
    "json": ("response_format", "response format", "json_object", "json mode"),
}
_REFUSALS = frozenset({400, 404, 422, 500, 501})
"""Not only 400: OpenRouter returns 404 if no provider takes tools, llama.cpp 500 for tools without `--jinja`."""
_OF_SCHEMAS = ("schema", "response_format", "response format", "grammar", "structured output", "function")
_OF_SIZE = (
    "too large",
    "too big",
    "too many",
    "too complex",
    "too deep",
    "exceed",
    "maximum number",
    "at most",
    "nesting",
)
_OF_LENGTH = ("context length", "context_length", "context window", "prompt is too long", "too many tokens")
"""Words about the whole prompt, which name the schema as one of its parts."""
LIMITS = ("max_tokens", "max_completion_tokens")
"""The names of the parameter that limits an answer. Newer models refuse the first, older servers the second."""
_UNKNOWN = ("unsupported", "not supported", "unknown", "unrecognized", "unexpected", "extra", "not permitted")
_AGAIN_S = 600.0


class Forms:
    """The request forms that each language model of an endpoint accepts. Threads may share it."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Form, float]] = {}
        self._refused: dict[str, tuple[int, float]] = {}

    def best(self, model: str) -> Form:
        """Return the form to try first: the best, or the one that worked in the last ten minutes."""
        form, until = self._found.get(model, ("schema", 0.0))
        return form if time.monotonic() < until else "schema"

    def keep(self, model: str, form: Form) -> None:
        """Record the form in which a model answered after it had refused better ones."""
        self._found[model] = (form, time.monotonic() + _AGAIN_S)

    def refuse(self, model: str, schema: dict[str, Any]) -> None:
        """Record that a schema was too large for a model."""
        self._refused[model] = (size_of(schema), time.monotonic() + _AGAIN_S)

    def check_size(self, model: str, schema: dict[str, Any] | None) -> None:
        """Refuse a schema that is as large as one that the model has refused in the last ten minutes.

        Raises:
            Unavailable: `schema_too_large`.
        """
        size, until = self._refused.get(model, (0, 0.0))
        if schema is not None and time.monotonic() < until and size_of(schema) >= size:
            raise too_large(schema)


def size_of(schema: dict[str, Any]) -> int:
    """Return the bytes of a schema."""
    return len(orjson.dumps(schema))


def too_large(schema: dict[str, Any]) -> Unavailable:
    """Return the error for a schema that is too large for the language model."""
    message = f"the language model takes no schema of {size_of(schema)} bytes"
    return Unavailable(message, code="schema_too_large")


def request_fields(form: Form, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the request fields that bind the answer to the schema. The schema's title is the answer's name."""
    name = str(schema.get("title", "plan"))
    match form:
        case "schema":
            strict = {"name": name, "strict": True, "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": strict}}
        case "function":
            function = {"name": name, "parameters": schema}
            choice = {"type": "function", "function": {"name": name}}
            return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}
        case "json":
            return {"response_format": {"type": "json_object"}}
    return {}


def next_form(form: Form, error: APIStatusError) -> Form | None:
    """Return the next best form if the error says that the endpoint does not accept this one; otherwise None."""
    if not _is_refusal(error, _WORDS.get(form, ())) or is_too_long(error):
        return None
    return _FORMS[_FORMS.index(form) + 1]


def is_schema_too_large(form: Form, error: APIStatusError) -> bool:
    """Return whether the error says that the endpoint accepts the form, but no schema of this size."""
    is_about_size = _is_refusal(error, _OF_SCHEMAS) and _is_refusal(error, _OF_SIZE)
    return form in ("schema", "function") and is_about_size and not is_too_long(error)


def is_too_long(error: APIStatusError) -> bool:
    """Return whether the error says that the whole prompt is too long."""
    return error.status_code in (400, 413, 422) and any(word in _said(error) for word in _OF_LENGTH)


def other_limit(parameter: str, error: APIStatusError) -> str | None:
    """Return the other name of the parameter that limits an answer if the error refuses this one; otherwise None."""
    said = _said(error)
    is_refused = error.status_code in (400, 422) and parameter in said and any(word in said for word in _UNKNOWN)
    return next(name for name in LIMITS if name != parameter) if is_refused else None


def _is_refusal(error: APIStatusError, words: tuple[str, ...]) -> bool:
    return error.status_code in _REFUSALS and any(word in _said(error) for word in words)


def _said(error: APIStatusError) -> str:
    return f"{error.message} {error.code} {error.param}".lower()
