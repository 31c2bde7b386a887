"""The sentences beneath the fields of a class are read from its source when a JSON schema needs them.

Pydantic can read them itself (`use_attribute_docstrings`), but does so whenever a class is made. That took an eighth of
the start of each of our processes, and hardly any of these writes a schema.
"""

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import AliasChoices, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class Described:
    """A mix-in for Pydantic models whose JSON schema includes the sentence beneath each field."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema, with the sentences as descriptions."""
        schema = handler(core)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        fields: dict[str, FieldInfo] = getattr(cls, "model_fields", {})
        for name, sentence in sentences(cls).items():
            if name in fields and fields[name].description is None:
                for key in properties.keys() & _names(name, fields[name]):
                    properties[key]["description"] = sentence
        return schema


def sentences(model: type) -> dict[str, str]:
    """Return the sentence beneath each field of a class, its own and the inherited ones."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        for name, sentence in _own(base).items():
            found.pop(name, None)
            if sentence:
                found[name] = sentence
    return found


def _names(name: str, field: FieldInfo) -> set[str]:
    """Return all names under which a schema may show a field."""
    read = field.validation_alias
    stated = [name, field.serialization_alias, *(read.choices if isinstance(read, AliasChoices) else [read])]
    return {each for each in stated if isinstance(each, str)}


@cache
def _own(model: type) -> dict[str, str]:
    """Return name and sentence of each field that a class itself declares; "" if there is none."""
    if not vars(model).get("__annotations__"):
        return {}
    try:
        source = textwrap.dedent(inspect.getsource(model))
    except (OSError, TypeError):  # it was made without a source, from a tool's schema
        return {}
    (made,) = ast.parse(source).body
    body: list[Any] = [*getattr(made, "body", []), None]
    return {
        node.target.id: inspect.cleandoc(_text(after))
        for node, after in pairwise(body)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def _text(node: ast.AST | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
    return ""
