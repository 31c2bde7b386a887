"""The forms in which an answer can be bound to a schema, best first; and which of them an endpoint's models take.

`schema` is strict structured output, `function` the call of one function whose parameters are the schema, `json` any
JSON object, `text` nothing at all. In the last two the prompt alone says what the object holds, as every prompt does
that wants JSON.
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
"""Not only 400: OpenRouter says 404 where no provider takes tools, llama.cpp 500 for tools without `--jinja`."""
_AGAIN_S = 600.0


class Forms:
    """The request forms that each language model of one endpoint accepts. Threads may share it."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Form, float]] = {}

    def best(self, model: str) -> Form:
        """Return the form to begin with: the best, or the one that was found in the last ten minutes."""
        form, until = self._found.get(model, ("schema", 0.0))
        return form if time.monotonic() < until else "schema"

    def keep(self, model: str, form: Form) -> None:
        """Remember the form in which a model has answered after it had refused better ones."""
        self._found[model] = (form, time.monotonic() + _AGAIN_S)


def request_fields(form: Form, schema: dict[str, Any]) -> dict[str, Any]:
    """Return what a request needs to say so that the answer fits the schema. Its title is the answer's name."""
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
    """Return the next best form where the error says that the endpoint does not take this one; else None."""
    said = f"{error.message} {error.code} {error.param}".lower()
    if error.status_code not in _REFUSALS or not any(word in said for word in _WORDS.get(form, ())):
        return None
    return _FORMS[_FORMS.index(form) + 1]
