"""Prompts and reply templates: Jinja files with a front matter that names version and inputs.

In: a name such as `planning/message` and its inputs.  Out: text, and the `name@version` that made it.
The same inputs give the same bytes. Templates are sandboxed: they see their inputs and nothing else.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from jinja2 import StrictUndefined, Template, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from models.errors import NotFound
from models.settings import settings


class Rendered(NamedTuple):
    """What a prompt became."""

    text: str
    source: str
    """`name@version`, kept with whatever the text led to."""


@dataclass(frozen=True)
class Prompt:
    """One file under prompts/."""

    name: str
    version: int
    inputs: frozenset[str]
    template: Template

    def render(self, inputs: Mapping[str, Any]) -> Rendered:
        """Fill the inputs in.

        Raises:
            TypeError: an input is missing, or not declared.
        """
        if inputs.keys() != self.inputs:
            wrong = ", ".join(sorted(inputs.keys() ^ self.inputs))
            raise TypeError(f"prompt {self.name} declares other inputs than it was given: {wrong}")
        return Rendered(self.template.render(inputs).strip(), f"{self.name}@{self.version}")


def _readable(value: Any) -> str:
    """Write a value for people: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class Prompts:
    """The prompts of one folder, read when first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[str, Prompt] = {}
        self._environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters["readable"] = _readable
        # JSON is how data is delimited: the filter escapes < and >, so no value can close the tag around it.
        self._environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": True, "default": str}

    def render(self, name: str, **inputs: Any) -> Rendered:
        """Return the text of a prompt.

        Raises:
            NotFound: there is no such prompt.
            TypeError: an input is missing, or not declared.
        """
        return self.get(name).render(inputs)

    def get(self, name: str) -> Prompt:
        """Return a prompt by name: its path in the folder without the ending.

        Raises:
            NotFound: there is no such prompt.
            ValueError: its front matter and its text disagree.
        """
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def has(self, name: str) -> bool:
        """Tell whether there is a prompt of that name."""
        return name in self._read or self._path(name).is_file()

    def names(self) -> list[str]:
        """Return the names of all prompts."""
        return sorted(path.relative_to(self.folder).with_suffix("").as_posix() for path in self.folder.rglob("*.j2"))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.j2"

    def _load(self, name: str) -> Prompt:
        try:
            text = self._path(name).read_text("utf-8")
        except FileNotFoundError:
            raise NotFound(f"there is no prompt {name!r} under {self.folder}") from None
        opening, front, body = text.split("---\n", 2)
        head = yaml.safe_load(front)
        used = meta.find_undeclared_variables(self._environment.parse(body))
        if opening or head["name"] != name or not used <= set(head["inputs"]):
            raise ValueError(f"prompt {name}: the front matter must name it and declare its inputs {sorted(used)}")
        return Prompt(name, head["version"], frozenset(head["inputs"]), self._environment.from_string(body))


@lru_cache
def prompts_in(folder: Path) -> Prompts:
    """Return the prompts of a folder, read once per process."""
    return Prompts(folder)


def shipped() -> Prompts:
    """Return the prompts that the settings point to."""
    return prompts_in(settings().prompts_dir)


def render(name: str, **inputs: Any) -> Rendered:
    """Return the text of a shipped prompt; see `Prompts.render`."""
    return shipped().render(name, **inputs)
