"""Prompts and reply templates: files with a front matter that names version and inputs.

In: a name such as `planning/message`, and its inputs.  Out: text, and the source that made it.
The same inputs give the same bytes. A tenant's own text replaces the shipped one.
"""

import hashlib
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import yaml
from jinja2 import Template

from turnloom.models.errors import NotFound
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.models.runtime.yaml_text import read_plain_yaml
from turnloom.planner.languages.language import ENGLISH, Language
from turnloom.planner.templates import Templates, fill
from turnloom.tools.pack_index import prompt_folders

_TEMPLATES = Templates()
_FAMILIES = {"styles": "styles/default", "responding": "responding/results"}
"""Folders in which a tenant may add prompts under new names. They have the inputs of the named prompt, which replaces
them if they fail."""

_LINE = re.compile("^line ([0-9]+)")
_SPOKEN = frozenset({"responding", "offline"})
_FOR_MODELS = frozenset({"responding/critic", "responding/regenerate", "responding/revise"})


class Rendered(NamedTuple):
    """A rendered prompt."""

    text: str
    source: str
    """`name@version`; a tenant's own text adds `+` and its digest. It is stored with whatever the text led to."""
    counts: tuple[float, ...] = ()
    """The numbers that its texts depend on, such as how many options it leaves out."""


@dataclass(frozen=True)
class Prompt:
    """A text under prompts/, or a tenant's own in its place."""

    name: str
    source: str
    text: str
    """The whole text, with its front matter."""
    inputs: frozenset[str]
    """The inputs that it declares."""
    used: frozenset[str]
    """The inputs that it uses."""
    messages: tuple[str, ...]
    """Its texts that are translated."""
    template: Template
    words_of: tuple[str, ...] = ()
    """The tools whose results it words (`from`). As the template of a reply it fits only if all of them succeeded."""
    beside: tuple[str, ...] = ()
    """The tools whose results need no other words beside this template."""

    def words(self, language: Language) -> str:
        """Return the author's own words in a language, a line for each text that is translated."""
        return "\n".join((self._untranslated, *map(language.text, self.messages)))

    @cached_property
    def _untranslated(self) -> str:
        return " ".join(value for _, kind, value in _TEMPLATES.lex(self.text) if kind == "data")

    @property
    def is_for_people(self) -> bool:
        """Whether people read it. A language model's prompt is English: marks of direction would break its data."""
        folder = self.name.partition("/")[0]
        return (folder in _SPOKEN or self.name == "fragments/problems") and self.name not in _FOR_MODELS

    def render(self, inputs: Mapping[str, Any], language: Language = ENGLISH) -> Rendered:
        """Fill in the inputs, in a language.

        Raises:
            TypeError: an input is missing, or not declared.
        """
        if inputs.keys() != self.inputs:
            wrong = ", ".join(sorted(inputs.keys() ^ self.inputs))
            raise TypeError(f"prompt {self.name}: these inputs are missing or not declared: {wrong}")
        filled = fill(self.template, inputs, language if self.is_for_people else ENGLISH)
        return Rendered(filled.text, self.source, filled.counts)


def digest(text: str) -> str:
    """Return a digest that tells a tenant's texts apart: eight hexadecimal digits of the text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def read_prompt(name: str, text: str) -> Prompt:
    """Read a prompt: a front matter with name, version, inputs and perhaps `from`, then the template.

    Raises:
        ValueError: the text is not a prompt, has another name, or uses inputs that it does not declare.
    """
    opening, separator, rest = text.partition("---\n")
    front, end, body = rest.partition("\n---\n")
    if opening or not separator or not end:
        raise ValueError(f"prompt {name}: begin with a front matter between two lines of ---")
    try:
        head = read_plain_yaml(front)
        version, inputs = int(head["version"]), frozenset(head["inputs"])
        words_of, beside = _names(head.get("from", [])), _names(head.get("beside", []))
    except (yaml.YAMLError, TypeError, KeyError, ValueError) as error:
        raise ValueError(f"prompt {name}: its front matter must have name, version and inputs ({error})") from error
    try:
        template, used, messages = _TEMPLATES.read(body)
    except ValueError as error:
        before = text.count("\n", 0, len(text) - len(body))
        told = _LINE.sub(lambda line: f"line {int(line[1]) + before}", str(error))
        raise ValueError(f"prompt {name}: {told}") from error
    if head.get("name") != name or not used <= inputs:
        raise ValueError(f"prompt {name}: the front matter must name it and declare its inputs {sorted(used)}")
    return Prompt(name, f"{name}@{version}", text, inputs, frozenset(used), messages, template, words_of, beside)


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("`from` and `beside` list tools")
    return tuple(map(str, value))


class Prompts:
    """The prompts of some folders, each read when first asked for, with a tenant's own over them."""

    def __init__(self, *folders: Path) -> None:
        """Take prompts from these folders. Of several with the same name the first counts."""
        self.folders = folders
        self.own: Mapping[str, Prompt] = {}
        self.language = ENGLISH
        """The language of what the templates write for people."""
        self.tried: str | None = None
        """The tenant's own text that is tried: if it cannot be filled in, the shipped one is not used in its place."""
        self._read: dict[str, Prompt] = {}
        self._original = self
        """These prompts before they were copied. What all copies share is worked out there, once."""

    def under(self, own: Mapping[str, Prompt]) -> Self:
        """Return the same prompts with a tenant's own over them."""
        made = copy(self)
        made.own = own
        return made

    def spoken(self, language: Language) -> Self:
        """Return the same prompts in a language."""
        made = copy(self)
        made.language = language
        return made

    def trying(self, name: str) -> Self:
        """Return the same prompts for a trial of one of the tenant's own: it raises its error if it has one."""
        made = copy(self)
        made.tried = name
        return made

    def render(self, name: str, **inputs: Any) -> Rendered:
        """Return the text of a prompt. If a tenant's own text cannot be filled in, the shipped one is used.

        Raises:
            NotFound: the prompt does not exist.
            TypeError: an input is missing, or not declared.
            Exception: it is the text that is tried, and it cannot be filled in.
        """
        own = self.own.get(name)
        if own is None:
            return self.get(name).render(inputs, self.language)
        try:
            return own.render(inputs, self.language)
        except Exception:  # a tenant's text is foreign and must not fail a turn
            if name == self.tried:
                raise
            log.warning("override.failed", prompt=own.source, exc_info=True)
        return self.get(self.shipped_name(name)).render(inputs, self.language)

    def get(self, name: str) -> Prompt:
        """Return a shipped prompt by name: its path in the folder without the ending.

        Raises:
            NotFound: the prompt does not exist.
            ValueError: its front matter and its text disagree.
        """
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def in_effect(self, name: str) -> Prompt:
        """Return a prompt by name: the tenant's own, otherwise the shipped one.

        Raises:
            NotFound: the prompt does not exist.
        """
        return self.own.get(name) or self.get(name)

    def authored(self, rendered: Rendered) -> str:
        """Return what a rendered prompt says by itself: its author's words, in their language, and its own counts."""
        name = rendered.source.partition("@")[0]
        return "\n".join((self.in_effect(name).words(self.language), *map(str, rendered.counts)))

    def has(self, name: str) -> bool:
        """Return whether a prompt of that name exists."""
        return name in self.own or name in self._read or self._path(name).is_file()

    def names(self) -> list[str]:
        """Return the names of all shipped prompts."""
        found = ((folder, path) for folder in self.folders for path in folder.rglob("*.j2"))
        return sorted({path.relative_to(folder).with_suffix("").as_posix() for folder, path in found})

    def wordings(self) -> dict[str, Prompt]:
        """Return the templates of replies that word results of tools, by name: the tenant's own over the shipped."""
        found = {**self._original.shipped_wordings, **self.own}
        return {name: prompt for name, prompt in found.items() if prompt.words_of}

    @cached_property
    def shipped_wordings(self) -> dict[str, Prompt]:
        """The shipped templates of replies that word results of tools, by name."""
        found: dict[str, Prompt] = {}
        for name in self.names():
            try:
                found |= {name: self.get(name)} if name.startswith("responding/") else {}
            except ValueError as error:  # a pack's text may be wrong, and that must not end the replies of others
                log.error("prompt.unreadable", prompt=name, error=str(error))
        return {name: prompt for name, prompt in found.items() if prompt.words_of}

    def shipped_name(self, name: str) -> str:
        """Return the shipped prompt that defines the inputs of this one: itself, or that of its family."""
        if self._path(name).is_file():
            return name
        return _FAMILIES.get(name.rpartition("/")[0], name)

    def _path(self, name: str) -> Path:
        paths = [folder / f"{name}.j2" for folder in self.folders]
        return next((path for path in paths if path.is_file()), paths[0])

    def _load(self, name: str) -> Prompt:
        try:
            text = self._path(name).read_text("utf-8")
        except FileNotFoundError:
            raise NotFound(f"there is no prompt {name!r}") from None
        return read_prompt(name, text)


@lru_cache
def prompts_in(folder: Path) -> Prompts:
    """Return the prompts of a folder and of the enabled packs, read once per process."""
    return Prompts(folder, *prompt_folders(settings().packs))


def shipped() -> Prompts:
    """Return the prompts that the settings point to."""
    return prompts_in(settings().prompts_dir)
