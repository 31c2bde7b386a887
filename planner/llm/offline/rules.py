"""The offline model's rules, as data: prompts/offline/*.yaml.

A domain knows some slots (values it can find in a message), some wants (things it can do) and a skeleton of steps.
Slots that were found and wants that were heard are the facts which `if` and `unless` speak of.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field

from models.contracts.base import Contract


def _compiled(pattern: Any) -> Any:
    return re.compile(pattern, re.IGNORECASE) if isinstance(pattern, str) else pattern


Pattern = Annotated[re.Pattern[str], BeforeValidator(_compiled)]


class Slot(Contract):
    """A value that a message may give."""

    type: Literal["text", "integer", "integers", "choice", "money"] = "text"
    patterns: list[Pattern]
    """Tried in order; the first group that took part in the match is the value. `integers`: all numbers in it. `money`
    has the groups `amount`, `currency` and `about`, the latter two where they are said."""
    values: dict[str, Any] = Field(default_factory=dict)
    """`choice`: words in small letters -> value. `money`: words for currencies -> code, "" where none is said."""
    title: bool = False
    """Write it with capitals, as names are."""
    replaces: list[str] = Field(default_factory=list)
    """Older values that this one makes obsolete."""
    defaults: list[Any] = Field(default_factory=list)
    """What stands in for it: literals, or `$slot`; the first that is known."""
    max: int | None = None
    counts: dict[str, tuple[int, int]] = Field(default_factory=dict)
    """Of `integers`: further facts, each with the bounds of the numbers that it counts."""


class Action(Contract):
    """The phrase for what is being done, where all of `if` is known."""

    conditions: list[str] = Field(default_factory=list, alias="if")
    text: str


class Skeleton(Contract):
    """A step to be, where all of `if` and none of `unless` is known."""

    id: str
    tool: str
    conditions: list[str] = Field(default_factory=list, alias="if")
    """Beside slots and wants: `failed.STEP` and the like, how a step of the turn has ended."""
    unless: list[str] = Field(default_factory=list)
    args: dict[str, Any]
    """Literals, `$slot` or `$slot[0].field`, `{$from: step.path}`, `{$each: step}` (all its repetitions),
    `{$list: […]}`, an object of these, or a list of them: the first that is known. `{slot}` in a path is filled in."""
    must: list[str] = Field(default_factory=list)
    """Arguments without which the step is not made."""
    repeat: str | None = None
    """A slot that says how often."""
    in_sequence: str | None = None
    """A fact that makes repetitions wait for each other."""
    on_need_error: Literal["skip", "run"] | None = None
    reason: str


class Answer(Contract):
    """A passage's answer to a kind of question."""

    asks: Pattern
    """The question's own words."""
    says: Pattern
    """What an answer looks like."""
    attribute: str
    """What it is, of the thing that the question is about."""


class Domain(Contract):
    """The offline model's rules for one subject."""

    name: str
    version: int
    can: str
    """Examples, to tell users what it understands."""
    remembers: bool = False
    """Whether earlier messages of the conversation count."""
    is_last: bool = False
    """Whether it understands nearly everything, and is asked after all others."""
    slots: dict[str, Slot]
    wants: dict[str, Pattern]
    whole: dict[str, list[str]] = Field(default_factory=dict)
    """A want that stands for several."""
    named: list[str] = Field(default_factory=list)
    """Wants that count only where they are named; where a message names none, all others are wanted."""
    passing: list[str] = Field(default_factory=list)
    """Wants that do not outlive their message: after it, what was wanted before is wanted again."""
    recalls: dict[str, str] = Field(default_factory=dict)
    """Facts from what the prompt remembers: `tool:field`, of the newest result of that tool."""
    needs: list[str] = Field(default_factory=list)
    """Wants of which one must be known; all where empty."""
    requires: dict[str, str] = Field(default_factory=dict)
    """Slots that must be known, each with the question for it."""
    requires_of: dict[str, dict[str, str]] = Field(default_factory=dict)
    """The same where a want is heard."""
    answers: list[Answer] = Field(default_factory=list)
    """Facts from passages that came in: `claims`, for each document what it says, and `sources`, references to where;
    `answer`, a sentence that says it; and `agreed` or `disputed`."""
    thought: str
    actions: list[Action]
    replies: list[Action] = Field(default_factory=list)
    """The answer itself, where results hold it."""
    hints: list[Action] = Field(default_factory=list)
    """The synthesis hint. Further facts here: `again`, the matter has come up before; `planned.STEP`."""
    steps: list[Skeleton]

    @property
    def usual(self) -> set[str]:
        """What is wanted where nothing is named."""
        return set(self.wants) - set(self.named)


class Courtesy(Contract):
    """Something polite, and what to say to it."""

    pattern: Pattern
    reply: str


class Manners(Contract):
    """The rules that all domains share."""

    version: int
    numbers: dict[str, int]
    only: Pattern
    also: Pattern
    without: str
    barred: dict[str, str]
    """What to say where a tool cannot be used now, by the reason for it."""
    courtesies: list[Courtesy]


class Rules(Contract):
    """All rules."""

    manners: Manners
    domains: list[Domain]
    """In the order in which they are asked."""


@lru_cache
def load_rules(folder: Path) -> Rules:
    """Read the rules in a folder such as prompts/offline."""
    read = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in sorted(folder.glob("*.yaml"))}
    manners = read.pop("conversation")
    # A question about a date could also be a new date for a trip: the narrow domains are asked first.
    domains = sorted(map(Domain.model_validate, read.values()), key=lambda domain: (domain.is_last, domain.remembers))
    return Rules(manners=manners, domains=domains)
