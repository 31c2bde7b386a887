"""Error codes are read from the code: where one is raised, its code and its sentence stand together."""

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("models", "tools", "planner", "workers", "web")


class Raised(NamedTuple):
    """An error with a code of its own."""

    code: str
    kind: str
    """The name of the class or function that is called with the code; empty for what ends a turn."""
    sentence: str
    """The sentence; `…` stands for the parts that differ from case to case."""


def raised() -> list[Raised]:
    """Return every code that is given where an error is made, sorted, each once per kind."""
    paths = chain.from_iterable(sorted((ROOT / package).rglob("*.py")) for package in PACKAGES)
    found = chain.from_iterable(_in_module(ast.parse(path.read_text("utf-8"))) for path in paths)
    once = {(each.code, each.kind): each for each in found}
    return sorted(once.values())


def _in_module(module: ast.Module) -> Iterator[Raised]:
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                yield from _in_call(node, function) if isinstance(node, ast.Call) else ()
                yield from _in_dict(node, function) if isinstance(node, ast.Dict) else ()


def _in_call(call: ast.Call, function: ast.FunctionDef) -> Iterator[Raised]:
    """Read `SomeError("sentence", code="code")` and `fault("field", "code", "sentence")`."""
    if not isinstance(call.func, ast.Name) or not call.args:
        return
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "code"), None)
    if code := _text(given):
        yield Raised(code, call.func.id, _sentence(call.args[0], function))
    elif call.func.id == "fault" and len(call.args) == 3 and (code := _text(call.args[1])):
        yield Raised(code, call.func.id, _sentence(call.args[2], function))


def _in_dict(node: ast.Dict, function: ast.FunctionDef) -> Iterator[Raised]:
    """Read `{"code": "code", "message": "sentence"}`."""
    pairs = zip(node.keys, node.values, strict=True)
    entries = {key.value: value for key, value in pairs if isinstance(key, ast.Constant)}
    if "message" in entries and (code := _text(entries.get("code"))):
        yield Raised(code, "", _sentence(entries["message"], function))


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _sentence(node: ast.expr, function: ast.FunctionDef) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    if isinstance(node, ast.Name):
        assigned = [found for found in ast.walk(function) if isinstance(found, ast.Assign)]
        same = [found for found in assigned if ast.unparse(found.targets[0]) == node.id and found.lineno < node.lineno]
        return _sentence(same[-1].value, function) if same else "…"
    return "…"
