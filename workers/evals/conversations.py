"""Golden conversations as data: prompts/golden/*.yaml, one file an agent, or files of one's own."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import Field, TypeAdapter, model_validator

from models.contracts.base import Contract
from models.contracts.turn import Identifier, Mode, TurnStatus
from models.errors import Invalid

TIMEZONE = "Asia/Jerusalem"
"""Of a person who says nothing else."""

Edge = Annotated[str, Field(pattern=r"^[\w.-]+ -> [\w.-]+$")]


class Expected(Contract):
    """Expectations of a final turn. A field that is left out is not checked.

    Values are compared by parts: of an object only the named fields, of a list every item. In their place may stand
    `{$date: friday}` (see `workers.evals.values`), `{$length: 2}`, `{$at_most: 900}`, `{$one_of: [1, 2]}` or
    `{$any: true}`.
    """

    status: TurnStatus = "succeeded"
    tools: list[str] | None = None
    """The tools of its steps, each as often as it is called."""
    args: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Tool -> arguments of one of its calls, with references filled in."""
    edges: list[Edge] = Field(default_factory=list)
    """`a -> b`: a call of b waits for a call of a."""
    side_by_side: list[str] = Field(default_factory=list)
    """Tools whose calls do not wait for each other, directly or by way of others."""
    outcomes: dict[str, str] = Field(default_factory=dict)
    """Tool -> status of its steps."""
    remembered: list[str] = Field(default_factory=list)
    """Tools whose result comes from the conversation's memory."""
    slots: dict[str, Any] = Field(default_factory=dict)
    """What is settled in the conversation after the turn."""
    output: Any = None
    artifacts: list[str] | None = None
    """Their kinds, in order."""
    grounded: bool | None = None
    mentions: list[str] = Field(default_factory=list)
    """What the reply's text holds, in small letters or capitals: values of results, which no reply can do without."""
    question: list[str] | None = None
    """The fields that the user is asked for; none where the list is empty."""
    choices: dict[str, Any] = Field(default_factory=dict)
    """Field -> the choices that are offered for it."""
    hint: str | None = None
    """The synthesis hint."""
    error: str | None = None
    """The error's code."""
    contradictions: list[Any] | None = None
    """Of what the conversation knows after the turn: what its sources disagree about, and what decided."""
    revisions: int | None = None
    llm_calls: int | None = None
    """Calls of the language model, at most."""


class GoldenMessage(Contract):
    """A message, and what comes of it."""

    say: str | None = None
    choose: int | None = Field(None, ge=1)
    """Instead of a message: the choice of this number that the question before it offers."""
    mode: Mode | None = None
    expect: Expected

    @model_validator(mode="after")
    def says_one_thing(self) -> Self:
        """Refuse a message that says nothing, or two things."""
        if (self.say is None) == (self.choose is None):
            raise ValueError("write `say` or `choose`")
        return self


class Golden(Contract):
    """A golden conversation."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    about: str
    """What it shows, in a sentence."""
    agent: str = ""
    """Its file's."""
    user: Identifier | None = None
    """Whom the tenant's directory knows by this id; nobody in particular, where it is left out."""
    timezone: str = TIMEZONE
    locale: str = "en"
    turns: list[GoldenMessage] = Field(min_length=1)


class _File(Contract):
    agent: str
    conversations: list[Golden]


_FILE: TypeAdapter[_File] = TypeAdapter(_File)


def load_golden(paths: Iterable[Path], agents: Iterable[str] = ()) -> list[Golden]:
    """Return the conversations of files; with agents, only theirs.

    Raises:
        Invalid: a file is none of golden conversations, or there is nothing to hold.
    """
    wanted = set(agents)
    found = [golden for path in paths for golden in _read(path) if not wanted or golden.agent in wanted]
    if not found:
        raise Invalid(f"there are no golden conversations of {', '.join(sorted(wanted)) or 'these files'}")
    return found


def _read(path: Path) -> list[Golden]:
    try:
        file = _FILE.validate_python(yaml.safe_load(path.read_text("utf-8")))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise Invalid(f"{path}: {error}") from error
    return [golden.model_copy(update={"agent": golden.agent or file.agent}) for golden in file.conversations]
