"""A request to a language model, which avoids what its endpoint refuses."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from openai import APIStatusError

from turnloom.models.runtime.counters import counts
from turnloom.models.runtime.logging import log
from turnloom.planner.llm.protocol import Generation, SentPrompt
from turnloom.planner.llm.response_formats import (
    LIMITS,
    Form,
    Forms,
    is_schema_too_large,
    next_form,
    other_limit,
    request_fields,
    size_of,
    too_large,
)
from turnloom.planner.llm.signatures import described_types
from turnloom.planner.prompts import shipped

Attempt = Callable[[dict[str, Any], float], Generation]
"""One attempt with a request body, until a moment on this process's monotonic clock."""


_CHOICES = frozenset({"temperature", "seed"})
"""Parameters without which a request is as good."""


_NO_PARAMETERS = frozenset({"messages", "response_format", "tools", "tool_choice", "stream_options"})
"""Fields of a request that are the prompt, the schema, or follow from the form."""


@dataclass
class Request:
    """A call in progress, and the form in which it asks for an answer that fits a schema."""

    attempt: Attempt
    body: dict[str, Any]
    schema: dict[str, Any] | None
    forms: Forms
    form: Form
    limit: str | None = None
    """The other name of the parameter that limits the answer, if the endpoint refused the one of the settings."""

    left_out: frozenset[str] = frozenset()
    """The parameters that the endpoint refused."""

    def send(self, until: float) -> Generation:
        """Make one attempt."""
        body = self.body if self.schema is None else _written_form(self.body, self.form, self.schema)
        generation = self.attempt(body, until)
        return replace(generation, sent=self._sent(body, generation.text))

    def avoids(self, error: APIStatusError) -> bool:
        """Change what the error refuses. Return whether there was anything to change.

        Raises:
            Unavailable: `schema_too_large`, if only a smaller schema avoids it.
        """
        if (self.limit is None and self._rename_limit(error)) or self._leave_out(error):
            return True
        if self.schema is None:
            return False
        if is_schema_too_large(self.form, error):
            model = self.body["model"]
            log.warning("schema.refused", model=model, bytes=size_of(self.schema), reason=error.message[:200])
            counts().add("turnloom_llm_schemas_refused_total", model)
            self.forms.refuse(model, self.schema)
            raise too_large(self.schema) from error
        lesser = next_form(self.form, error)
        self.form = lesser or self.form
        return lesser is not None

    def _sent(self, body: dict[str, Any], answer: str) -> SentPrompt:
        parameters = {name: value for name, value in body.items() if name not in _NO_PARAMETERS}
        if self.schema is None:
            return SentPrompt(body["messages"], None, parameters, answer)
        schema = self.schema if self.form in ("schema", "function") else None
        return SentPrompt(body["messages"], schema, {**parameters, "form": self.form}, answer)

    def _rename_limit(self, error: APIStatusError) -> bool:
        name = next(name for name in LIMITS if name in self.body)
        self.limit = other_limit(name, error)
        if self.limit is not None:
            self.body[self.limit] = self.body.pop(name)
        return self.limit is not None

    def _leave_out(self, error: APIStatusError) -> bool:
        """Leave out a temperature or a seed that the endpoint does not take. Reasoning models choose their own."""
        said = f"{error.message} {error.param}".lower()
        is_refused = error.status_code in (400, 422)
        refused = frozenset(name for name in _CHOICES & self.body.keys() if is_refused and name in said)
        self.left_out |= refused
        self.body = {name: value for name, value in self.body.items() if name not in refused}
        return bool(refused)


def _written_form(body: dict[str, Any], form: Form, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a request whose answer fits the schema. A form that does not take it has it in the prompt, as types."""
    if form in ("schema", "function"):
        return body | request_fields(form, schema)
    whole, shared = described_types(schema)
    told = shipped().render("system/form", type=whole, types=shared).text
    first, *others = body["messages"]
    messages = [first | {"content": f"{first['content']}\n\n{told}"}, *others]
    return body | request_fields(form, schema) | {"messages": messages}
