"""Sentences about faults in settings: values that do not fit, and variables that belong to no setting.

Values are never shown: they may be secret.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from pydantic import AliasChoices, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsError

PREFIX = "TURNLOOM_"
_NO_SETTINGS = frozenset(
    {
        "TURNLOOM_APPLICATION_PASSWORD",
        "TURNLOOM_OWNER_PASSWORD",
        "TURNLOOM_BENCH_PEERS",
        "TURNLOOM_CASES",
        "TURNLOOM_DRILL_MIXED_S",
        "TURNLOOM_DRILL_TURNS",
    }
)
"""Variables of deployments, tests and benchmarks."""


def variable_of(name: str, field: FieldInfo) -> str:
    """Return the environment variable of a setting."""
    alias = field.validation_alias
    return str(alias.choices[-1]) if isinstance(alias, AliasChoices) else f"{PREFIX}{name.upper()}"


def fault_of(error: ValidationError | SettingsError, fields: Mapping[str, FieldInfo]) -> str:
    """Return in one line which variables are wrong, and how."""
    if isinstance(error, ValidationError):
        faults = error.errors(include_url=False, include_input=False, include_context=False)
        return "; ".join(f"{_place(fault['loc'], fields)}: {_lowered(fault['msg'])}" for fault in faults)
    name = re.search(r'field "(\w+)"', str(error))
    variable = variable_of(name[1], fields[name[1]]) if name and name[1] in fields else "a setting"
    return f'{variable} is not JSON; a list is written as ["one", "two"], a mapping as {{"name": "value"}}'


def unknown_variables(environment: Iterable[str], fields: Mapping[str, FieldInfo]) -> list[str]:
    """Return a sentence for each variable that is named like a setting but is none."""
    known = {variable_of(name, field) for name, field in fields.items()}
    strange = {name for name in environment if name.startswith(PREFIX)} - known - _NO_SETTINGS
    return [f"no setting is called {name}{_nearest(name, known)}" for name in sorted(strange)]


def _nearest(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.8)
    return f"; did you mean {near[0]}?" if near else "; docs/reference/settings.md has them all"


def _place(location: tuple[int | str, ...], fields: Mapping[str, FieldInfo]) -> str:
    name, *inner = map(str, location)
    variable = variable_of(name, fields[name]) if name in fields else name.upper()
    return " ".join([variable, *(["at", ".".join(inner)] if inner else [])])


def _lowered(message: str) -> str:
    message = message.removeprefix("Value error, ")
    return message if message.startswith("TURNLOOM") else message[:1].lower() + message[1:]
