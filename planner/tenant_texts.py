"""Tailoring: the prompts, agents, playbooks and languages of a tenant, with its own texts over the shipped ones.

A text is checked when it is written and again whenever it is loaded. A bad text is then left out, and the shipped one
counts. No text of a tenant can end a turn.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.memory import Exchange
from turnloom.models.contracts.override import LARGEST_TEXT, Overrides
from turnloom.models.contracts.rollout import RolloutRequest
from turnloom.models.errors import Invalid
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.models.runtime.value_faults import faults_of
from turnloom.models.runtime.yaml_text import read_plain_yaml
from turnloom.planner.agents import AgentProfile, Agents, changed, load_agents
from turnloom.planner.draft.samples import leaked, samples
from turnloom.planner.languages.catalogues import Languages, WordCatalogue, load_languages, read_catalogue
from turnloom.planner.plan.playbooks import Playbook, Playbooks, load_playbooks, read_playbook
from turnloom.planner.prompts import Prompt, Prompts, digest, prompts_in, read_prompt

_OFFLINE = "offline"
"""The folder of the offline model, which knows no tenants."""
_MOST_UNSAID = 5
"""Most texts of a catalogue that a warning names."""
_LONGEST_REASON = 1_000
"""Most characters about the fields of one text."""
_NAME = re.compile(r"[a-z]+(?:/[a-z][a-z0-9_-]{0,63})+")


@dataclass(frozen=True)
class Tailored:
    """The agents and texts in effect for a tenant."""

    prompts: Prompts
    agents: Agents
    playbooks: Playbooks
    languages: Languages
    refused: Mapping[str, str] = field(default_factory=dict)
    """The tenant's texts that cannot be used: name -> reason."""

    def prompts_for(self, person: Mapping[str, Any], message: str, history: Sequence[Exchange] = ()) -> Prompts:
        """Return the prompts in the language of a person.

        It is that of their locale. Without one it is the language of their message, or of an earlier message if this
        one is too short to tell.
        """
        texts = (message, *(exchange.message for exchange in reversed(history)))
        return self.prompts.spoken(self.languages.chosen(person.get("locale"), texts))

    def names(self) -> list[str]:
        """Return every name that has a text in effect or a refused text."""
        folders = {
            "agents": self.agents.profiles,
            "playbooks": self.playbooks.books,
            "languages": self.languages.catalogues,
        }
        beside = (f"{folder}/{name}" for folder, names in folders.items() for name in names)
        return sorted({*self.prompts.names(), *self.prompts.own, *beside, *self.refused})

    def source(self, name: str) -> str:
        """Return the source of the text in effect: `name@version`. A tenant's own text adds `+` and its digest.

        Raises:
            NotFound: nothing has that name.
        """
        found = self._found(name)
        return name if isinstance(found, WordCatalogue) else found.source

    def text(self, name: str) -> str:
        """Return the text in effect.

        Raises:
            NotFound: nothing has that name.
        """
        found = self._found(name)
        return found.text if isinstance(found, Prompt) else _as_yaml(found)

    def _found(self, name: str) -> AgentProfile | Playbook | WordCatalogue | Prompt:
        folder, _, short = name.partition("/")
        if folder == "agents":
            return self.agents.get(short)
        if folder == "playbooks":
            return self.playbooks.get(short)
        if folder == "languages":
            return self.languages.get(short)
        return self.prompts.in_effect(name)

    def with_text(self, name: str, text: str) -> "Tailored":
        """Return a copy with one more of the tenant's texts.

        Raises:
            Invalid: the text cannot be used; the message says why.
        """
        try:
            return self._with(name, text)
        except Exception as error:  # the text is foreign: any failure refuses it
            raise Invalid(f"{name}: {_sentence(error)}") from error

    def _with(self, name: str, text: str) -> "Tailored":
        folder, _, short = name.partition("/")
        if not _NAME.fullmatch(name) or folder == _OFFLINE:
            raise ValueError("a tenant cannot have a text of this name")
        if len(text.encode()) > LARGEST_TEXT:
            raise ValueError(f"it is larger than {LARGEST_TEXT} bytes")
        if folder == "agents":
            return replace(self, agents=self._with_agent(short, text))
        if folder == "playbooks":
            own = read_playbook(short, text, own=True)
            return replace(self, playbooks=Playbooks({**self.playbooks.books, short: own}))
        if folder == "languages":
            return replace(self, languages=self.languages.under(short, read_catalogue(short, text)))
        return replace(self, prompts=self.prompts.under({**self.prompts.own, name: self._prompt(name, text)}))

    def _with_agent(self, name: str, text: str) -> Agents:
        fields = read_plain_yaml(text)
        if not isinstance(fields, dict):
            message = "write the agent's fields, or only the ones to change, as YAML"
            raise ValueError(message)  # noqa: TRY004 - the text is wrong, not our call
        profile = changed(self.agents.profiles.get(name), {"name": name, **fields}, digest(text))
        if profile.name != name:
            raise ValueError(f"it describes the agent {profile.name!r}")
        named = [f"styles/{profile.style}", *(f"responding/{hint}" for hint in profile.hints)]
        if missing := [prompt for prompt in named if not self.prompts.has(prompt)]:
            raise ValueError(f"there is no prompt {', '.join(missing)}")
        return Agents(dict(sorted({**self.agents.profiles, name: profile}.items())))

    def _prompt(self, name: str, text: str) -> Prompt:
        shipped = self.prompts.get(self.prompts.shipped_name(name))
        own = read_prompt(name, text)
        if undeclared := own.inputs - shipped.inputs:
            raise ValueError(f"it may declare the inputs {sorted(shipped.inputs)}, not {sorted(undeclared)}")
        if not own.words_of:
            own = replace(own, words_of=shipped.words_of, beside=shipped.beside)
        own = replace(own, source=f"{own.source}+{digest(text)}", inputs=shipped.inputs)
        for inputs in samples(shipped.name, shipped.inputs):
            if found := leaked(own.render(inputs).text, text):
                raise ValueError(f"with sample inputs it writes {found!r}, which is Python, not text")
        return own


def previews(tailored: Tailored, name: str, at_most: int) -> list[str]:
    """Return what a prompt or a template says with sample inputs; nothing for other texts."""
    if name.partition("/")[0] in ("agents", "playbooks", "languages"):
        return []
    prompt = tailored.prompts.in_effect(name)
    cases = islice(samples(tailored.prompts.shipped_name(name), prompt.inputs), at_most)
    return [prompt.render(inputs).text for inputs in cases]


def unsaid_texts(name: str, text: str, tailored: Tailored) -> list[str]:
    """Return a sentence for the first texts of a tenant's catalogue that nothing says: they may be misspelt."""
    folder, _, tag = name.partition("/")
    if folder != "languages" or tag not in tailored.languages.catalogues:
        return []
    known = _said(tailored)
    strange = [english for english in read_catalogue(tag, text).messages if english not in known]
    return [f"{name}: nothing says {english!r}{_nearest(english, known)}" for english in strange[:_MOST_UNSAID]]


def _said(tailored: Tailored) -> set[str]:
    """Return the texts of templates and agents, and those of tools, which the shipped catalogues have."""
    said = {each.text for agent in tailored.agents.profiles.values() for each in agent.suggestions}
    for catalogue in load_languages(settings().prompts_dir / "languages").catalogues.values():
        said |= catalogue.messages.keys()
    for name in {*tailored.prompts.names(), *tailored.prompts.own}:
        with suppress(ValueError):  # a pack's text may be wrong
            said.update(tailored.prompts.in_effect(name).messages)
    return said


def _nearest(english: str, known: Iterable[str]) -> str:
    near = get_close_matches(english, known, n=1, cutoff=0.8)
    return f"; did you mean {near[0]!r}?" if near else ""


def tailor(overrides: Overrides) -> Tailored:
    """Return what is in effect for a tenant with these texts.

    The result is cached. Bad texts are logged once and left out.
    """
    return _tailored(overrides, settings().prompts_dir)


@lru_cache(maxsize=1_000)
def _tailored(overrides: Overrides, folder: Path) -> Tailored:
    tailored = assemble(overrides, folder)
    for name, override in overrides.texts.items():
        for sentence in unsaid_texts(name, override.text, tailored) if name not in tailored.refused else ():
            log.warning("override.unsaid", name=name, origin=override.origin, reason=sentence)
    for name, reason in tailored.refused.items():
        log.warning("override.refused", name=name, origin=overrides.texts[name].origin, reason=reason)
    return tailored


def assemble(overrides: Overrides, folder: Path) -> Tailored:
    """Put a tenant's texts over the shipped ones of a folder. `refused` lists the bad ones."""
    agents, playbooks = load_agents(folder / "agents"), load_playbooks(folder / "playbooks")
    tailored = Tailored(prompts_in(folder), agents, playbooks, load_languages(folder / "languages"))
    return with_texts(tailored, {name: override.text for name, override in overrides.texts.items()})


def with_texts(tailored: Tailored, texts: Mapping[str, str]) -> Tailored:
    """Put texts over those in effect. `refused` lists the bad ones."""
    refused = dict.fromkeys(texts, "")
    left = len(refused) + 1
    # A text may refer to another, such as an agent to a style. Refused texts are tried again as long as one succeeds.
    while len(refused) < left:
        left, pending, refused = len(refused), sorted(refused), {}
        for name in pending:
            try:
                tailored = tailored.with_text(name, texts[name])
            except Invalid as error:
                refused[name] = str(error)
    return replace(tailored, refused={**tailored.refused, **refused})


def rolled_out_text(asked: RolloutRequest, own: Overrides) -> str:
    """Return the text that a rollout is to give, checked. For a language model it is the agent's own, with that model.

    Raises:
        NotFound: nothing that is in effect has its name.
        Invalid: the text cannot be used; the message says why.
    """
    tailored = tailor(own)
    tailored.source(asked.name)
    text = asked.text if asked.text is not None else _with_llm(own, asked)
    tailored.with_text(asked.name, text)
    return text


def _with_llm(own: Overrides, asked: RolloutRequest) -> str:
    override = own.texts.get(asked.name)
    fields = read_plain_yaml(override.text) if override else {}
    return yaml.safe_dump({**fields, "llm": asked.llm}, sort_keys=False, allow_unicode=True, width=120)


def _as_yaml(contract: Contract) -> str:
    fields = contract.model_dump(mode="json", exclude_unset=True)
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=120)


def _sentence(error: Exception) -> str:
    if isinstance(error, ValidationError):
        told = faults_of(error, "profile")
        return told if len(told) <= _LONGEST_REASON else f"{told[:_LONGEST_REASON]}…"
    return str(error) or type(error).__name__
