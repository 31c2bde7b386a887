"""Make tools from definitions, or say why that is not possible. Pure: it calls no server.

The names of tools are `mcp.SERVER.TOOL`, so a server can never take the name of another server's tool or of ours.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from turnloom.models.errors import Invalid
from turnloom.tools.mcp.call_function import caller, repeatable
from turnloom.tools.mcp.call_target import Target, TextResult
from turnloom.tools.mcp.definitions import MOST_TOOLS, Definition, read_definition
from turnloom.tools.mcp.effects import treat
from turnloom.tools.mcp.foreign_models import model_of
from turnloom.tools.mcp.foreign_texts import clean
from turnloom.tools.mcp.schemas import Translation, translate
from turnloom.tools.mcp.servers import McpServer, ToolTerms
from turnloom.tools.mcp.type_names import Schema
from turnloom.tools.registry import Tool

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)*")
_LONGEST_NAME = 64
"""Longest function name that the APIs of language models allow. Each dot is counted as `__`."""
_TIMEOUT_S = 30.0
_REMEMBER_S = 3_600.0
"""How long a conversation remembers what a tool has read, if the file does not say it."""


@dataclass(frozen=True)
class Verdict:
    """The result of importing a definition."""

    name: str
    tool: Tool | None = None
    refused: str | None = None
    """The reason if no tool was made."""
    left_out: list[str] = field(default_factory=list)
    """Words of the schemas that only the server checks."""


def judge(server: str, terms: McpServer, raw: Iterable[Any]) -> list[Verdict]:
    """Judge the definitions of a server, in their order. If several have the same name, the first one counts."""
    taken: set[str] = set()
    verdicts = []
    for place, one in enumerate(raw):
        name = f"number {place + 1}"
        try:
            definition = read_definition(one)
            name = clean(definition.name, 100)
            verdicts.append(_tool_of(server, terms, definition, taken))
        except Invalid as error:
            verdicts.append(Verdict(name, refused=str(error)))
    return verdicts


def _tool_of(server: str, terms: McpServer, definition: Definition, taken: set[str]) -> Verdict:
    name = _checked_name(server, definition.name, taken)
    own = terms.terms_of(definition.name)
    if own is None:
        raise Invalid("the file of servers does not list it")
    arguments = translate(definition.input)
    result = _result(definition)
    taken.add(_folded(name))
    title = "".join(part.capitalize() for part in re.split("[^A-Za-z0-9]", name))
    tool = _made(name, definition, own, terms, (arguments.schema, result.schema, title))
    left_out = [*arguments.left_out, *(f"{word} of the result" for word in result.left_out)]
    return Verdict(definition.name, tool, left_out=left_out)


def _made(
    name: str, definition: Definition, own: ToolTerms, server: McpServer, shapes: tuple[Schema, Schema, str]
) -> Tool:
    arguments, result, title = shapes
    treatment = treat(definition.hints, own, trusted=server.trusted)
    target = Target(name.split(".")[1], server, definition, treatment.may_repeat, is_structured=bool(result))
    return Tool(
        name=name,
        description=_description(definition),
        input=model_of(f"{title}Arguments", arguments),
        output=model_of(f"{title}Result", result) if result else TextResult,
        call=caller(target),
        effect=treatment.effect,
        requires_approval=treatment.requires_approval,
        timeout_s=own.timeout_s or _TIMEOUT_S,
        scopes=own.scopes or frozenset(),
        per_user=own.per_user,
        per_tenant=own.per_tenant,
        integration=".".join(name.split(".")[:2]),
        reconcile=repeatable if treatment.may_repeat else None,
        remember_s=_REMEMBER_S if own.remember_s is None and treatment.effect == "read" else own.remember_s,
        always_made=True,  # nobody says how long its data are good
    )


def _checked_name(server: str, tool: str, taken: set[str]) -> str:
    name = f"mcp.{server}.{tool}"
    if len(taken) >= MOST_TOOLS:
        raise Invalid(f"a server may have at most {MOST_TOOLS} tools")
    if not _NAME.fullmatch(tool):
        raise Invalid("the name of a tool may contain A-Z, a-z, 0-9, - and _, with dots between")
    if len(name.replace(".", "__")) > _LONGEST_NAME:
        raise Invalid(f"{name} is longer than {_LONGEST_NAME} characters; each dot counts as two")
    if _folded(name) in taken:
        raise Invalid("another tool of this server has the same name, apart from case and from dots written as __")
    return name


def _description(definition: Definition) -> str:
    """Return the description as one line without tags, because lines and tags structure the prompt around it."""
    line = clean(definition.description).replace("<", "[").replace(">", "]")
    return line or "It has no description."


def _folded(name: str) -> str:
    """Return the name in lower case with `__` for dots. Names that only differ in this count as the same."""
    return name.replace(".", "__").lower()


def _result(definition: Definition) -> Translation:
    """Translate the schema of the result. If that fails, the tool counts as one without, and its result is text."""
    if definition.output is None:
        return Translation({})
    try:
        return translate(definition.output)
    except Invalid as error:
        return Translation({}, [f"the schema ({error})"])
