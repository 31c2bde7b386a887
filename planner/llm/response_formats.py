"""A form is a way to bind an answer to a schema; this module finds the best one that an endpoint's models accept.

The forms, best first: `schema` is strict structured output, `function` the call of one function whose parameters are
the schema, `json` any JSON object, `text` anything. In the last two only the prompt says what the object holds, as
every prompt for JSON does.
"""

import time
from typing import Any, Literal

from openai import APIStatusError

Form = Literal["schema", "function", "json", "text"]

_FORMS: tuple[Form, ...] = ("schema", "function", "json", "text")
_WORDS: dict[Form, tuple[str, ...]] = {
    "schema": ("response_format", "response format", "json_schema", "structured output", "schema", "grammar"),
    "function": ("tools", "tool_choice", "tool choice", "tool use", "tool call", "function call", "functions"),
    "json": ("response_format", "response format", "json_object", "json mode"),
}
_REFUSALS = frozenset({400, 404, 422, 500, 501})
"""Not only 400: OpenRouter returns 404 if no provider takes tools, llama.cpp 500 for tools without `--jinja`."""
_AGAIN_S = 600.0


class Forms:
    """The request forms that each language model of an endpoint accepts. Threads may share it."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Form, float]] = {}

    def best(self, model: str) -> Form:
        """Return the form to try first: the best, or the one that worked in the last ten minutes."""
        form, until = self._found.get(model, ("schema", 0.0))
        return form if time.monotonic() < until else "schema"

    def keep(self, model: str, form: Form) -> None:
        """Record the form in which a model answered after it had refused better ones."""
        self._found[model] = (form, time.monotonic() + _AGAIN_S)


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
    said = f"{error.message} {error.code} {error.param}".lower()
    if error.status_code not in _REFUSALS or not any(word in said for word in _WORDS.get(form, ())):
        return None
    return _FORMS[_FORMS.index(form) + 1]
