"""Count the regular expressions in our packages: those that modules hold, and those in their code.

In: the packages.  Out: each pattern under the name of its place, with the methods that use it.
"""

import ast
import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pydantic import BaseModel

PACKAGES = ("turnloom.models", "turnloom.tools", "turnloom.planner", "turnloom.workers", "turnloom.web")
_SEARCHES = frozenset({"match", "fullmatch", "search", "finditer", "findall", "split", "sub", "subn"})
_ANCHORED = frozenset({"match", "fullmatch"})


class Found(NamedTuple):
    """A pattern of ours."""

    name: str
    """`module:attribute`, or `module:function` for a pattern in the code of a function."""
    pattern: re.Pattern[str] | re.Pattern[bytes]
    is_anchored: bool
    """Whether it is matched only at the beginning of a text."""


class Unread(NamedTuple):
    """A pattern that is put together while the code runs."""

    name: str


def modules() -> Iterator[ModuleType]:
    """Import every module of our packages."""
    for package in map(importlib.import_module, PACKAGES):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def patterns(module: ModuleType) -> Iterator[Found | Unread]:
    """Yield the patterns of a module: attributes, those made on demand, and those in the code of functions."""
    tree = ast.parse(Path(module.__file__ or "").read_text("utf-8"))
    methods = _methods(tree)
    known = {name for name, value in vars(module).items() if isinstance(value, re.Pattern)}
    methods[""] = {method for name, used in methods.items() if name not in known for method in used - {"split"}}
    for name, value in list(vars(module).items()):
        for path, pattern in held(_made(value, module), name):
            own = path.rstrip(".0123456789").rsplit(".", 1)[-1]
            used = methods.get(own, methods[""])
            yield Found(f"{module.__name__}:{path}", pattern, bool(used) and used <= _ANCHORED)
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        if not _is_made_once(getattr(module, function.name, None)):
            yield from _in_code(function, module)


def _made(value: Any, module: ModuleType) -> Any:
    """Return the value that a function keeps after its first call. Anything else is returned unchanged."""
    return value() if _is_made_once(value) and value.__module__ == module.__name__ else value


def _is_made_once(value: Any) -> bool:
    if not isinstance(value, functools._lru_cache_wrapper) or inspect.signature(value).parameters:
        return False
    return "re.compile" in inspect.getsource(value.__wrapped__)


def held(value: Any, path: str) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the patterns in a value, with the path to each."""
    if isinstance(value, re.Pattern):
        yield path, value
    elif isinstance(value, BaseModel) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        fields = type(value).model_fields if isinstance(value, BaseModel) else value.__dataclass_fields__
        for name in fields:
            yield from held(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from held(inner, f"{path}.{key}")
    elif isinstance(value, tuple | list | set | frozenset):
        for place, inner in enumerate(value):
            yield from held(inner, f"{path}.{place}" if len(value) > 1 else path)


def _in_code(function: ast.FunctionDef, module: ModuleType) -> Iterator[Found | Unread]:
    """Yield the patterns that a function names in calls of `re`."""
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
        method = _method(call)
        if method is None or not call.args or not _is_re(call.func):
            continue
        name = f"{module.__name__}:{function.name}"
        try:
            source = eval(compile(ast.Expression(call.args[0]), name, "eval"), vars(module))
            flags = [eval(compile(ast.Expression(each), name, "eval"), vars(module)) for each in _flags(call)]
        except NameError:
            yield Unread(name)
            continue
        pattern = source if isinstance(source, re.Pattern) else re.compile(source, *flags)
        yield Found(name, pattern, method in _ANCHORED)


def _flags(call: ast.Call) -> list[ast.expr]:
    named = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    return named or [each for each in call.args[1:] if "re." in ast.unparse(each)]


def _methods(tree: ast.Module) -> dict[str, set[str]]:
    """Return the methods with which each name is searched."""
    found: dict[str, set[str]] = {}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        method = _method(call)
        if method in _SEARCHES and isinstance(call.func, ast.Attribute) and not _is_re(call.func):
            holder = call.func.value
            name = holder.attr if isinstance(holder, ast.Attribute) else getattr(holder, "id", "")
            found.setdefault(name, set()).add(method)
    return found


def _method(call: ast.Call) -> str | None:
    return call.func.attr if isinstance(call.func, ast.Attribute) else None


def _is_re(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"
