"""Read YAML. libyaml, where PyYAML has it, takes a fifth of the time, which every start of a process feels."""

from collections.abc import Callable
from typing import Any

import yaml

_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_DEEPEST = 50
"""Levels of nesting of a text from outside. libyaml ends the process where there are too many for the stack."""


def read_yaml(text: str) -> Any:
    """Read YAML that comes with the program.

    Raises:
        yaml.YAMLError: the text is not YAML.
    """
    return yaml.load(text, _LOADER)  # noqa: S506 - it is a safe loader


def read_plain_yaml(text: str) -> Any:
    """Read YAML from outside, without aliases: a few of them can stand for billions of values.

    Raises:
        yaml.YAMLError: the text is not YAML, has an alias, or is nested too deeply.
    """
    depth = 0
    for event in yaml.parse(text, _LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not allowed")
        if depth > _DEEPEST:
            raise yaml.YAMLError(f"it is nested more than {_DEEPEST} levels deep")
    return read_yaml(text)


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return what was read with each of its texts changed. The keys stay as they are."""
    match value:
        case str():
            return change(value)
        case dict():
            return {key: map_texts(inner, change) for key, inner in value.items()}
        case list():
            return [map_texts(inner, change) for inner in value]
    return value
