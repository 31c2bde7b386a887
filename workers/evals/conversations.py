"""Golden conversations are data in prompts/golden/*.yaml, one file per agent, or in the user's own files."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import Field, TypeAdapter, model_validator

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.turn import Identifier, Mode, TurnStatus
from turnloom.models.errors import Invalid

TIMEZONE = "Asia/Jerusalem"
"""The time zone of a person without another one."""

Edge = Annotated[str, Field(pattern=r"^[\w.-]+ -> [\w.-]+$")]


class Way(Contract):
    """The way of a turn to its outcome. Another good model may go another; the shipped conversations name none."""

    tools: list[str] | None = None
    """The tools of its steps, each as often as it is called."""
    args: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Tool -> arguments of one of its calls, with references filled in."""
    edges: list[Edge] = Field(default_factory=list)
    """`a -> b`: a call of b waits for a call of a."""
    side_by_side: list[str] = Field(default_factory=list)
    """Tools whose calls do not wait for each other, directly or through others."""
    outcomes: dict[str, str] = Field(default_factory=dict)
    """Tool -> status of its steps."""
    remembered: list[str] = Field(default_factory=list)
    """Tools whose result comes from the conversation's memory."""
    hint: str | None = None
    """The synthesis hint."""
    question: list[str] | None = None
    """The fields that the user is asked for; an empty list expects no question."""
    choices: dict[str, Any] = Field(default_factory=dict)
    """Field -> the choices offered for it."""
    revisions: int | None = None
    llm_calls: int | None = None
    """Most calls of the language model."""


class Expected(Way):
    """Expectations of a final turn: its outcome and, if wanted, its way. A field that is left out is not checked.

    Values are compared by parts: only the named fields of an object, every item of a list. A value may also be
    `{$date: friday}` (see `workers.evals.values`), `{$length: 2}`, `{$at_most: 900}`, `{$one_of: [1, 2]}` or
    `{$any: true}`.
    """

    status: TurnStatus | list[TurnStatus] = "succeeded"
    """Its status, or those that are all right."""
    effects: dict[str, dict[str, Any]] | None = None
    """Tool -> parts of what one of its calls was given or returned, for all tools whose effect was achieved; `{}`:
    nothing was done."""
    slots: dict[str, Any] = Field(default_factory=dict)
    """The conversation's slots after the turn."""
    output: Any = None
    artifacts: list[str] = Field(default_factory=list)
    """Kinds among those of its artifacts."""
    grounded: bool | None = None
    mentions: list[str | list[str]] = Field(default_factory=list)
    """Texts that the reply or its artifacts contain, whatever their case; of a list, one of its texts. They are values
    of results that no reply may leave out."""
    omits: list[str] = Field(default_factory=list)
    """Texts that neither contains."""
    asks: bool | None = None
    """Whether the reply asks the user something, as a question with choices or in its text."""
    error: str | None = None
    """The error's code."""
    contradictions: list[Any] | None = None
    """The disagreements between sources in the conversation's knowledge after the turn, and the rules that decided."""


class GoldenMessage(Contract):
    """A message of a simulated user, and the expectations of its turn."""

    say: str | None = None
    choose: int | None = Field(None, ge=1)
    """The number of a choice that the previous question offers, to be sent as the message. If it offers none, `say` is
    sent."""
    answers: dict[str, str | int | float] = Field(default_factory=dict)
    """What the user knows: field -> value. The message is what the previous question asks for of it; of a field with
    choices, the choice that holds the value. If it asks for none of it, `say` is sent."""
    early: bool = False
    """Sent right after the message before it, which is not answered yet."""
    silence_s: float = Field(0, ge=0, le=3_600)
    """How long the user is silent before it."""
    mode: Mode | None = None
    expect: Expected | None = None
    """It may be left out if the next message is early: the turn is then merged with that one, stopped or answered."""

    @model_validator(mode="after")
    def says_something(self) -> Self:
        """Refuse a message with none of the fields."""
        if self.say is None and self.choose is None and not self.answers:
            raise ValueError("write `say`, `choose` or `answers`")
        if self.early and (self.say is None or self.silence_s):
            raise ValueError("an `early` message comes before an answer and without silence: write `say`")
        return self


class Golden(Contract):
    """A golden conversation."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    about: str
    """A sentence about what it shows."""
    agent: str = ""
    """The agent of its file."""
    user: Identifier | None = None
    """Id of a user in the tenant's directory; nobody in particular if it is left out."""
    timezone: str = TIMEZONE
    locale: str | None = "en"
    """None: the language of the replies is that of the messages."""
    turns: list[GoldenMessage] = Field(min_length=1)

    @model_validator(mode="after")
    def expects_something(self) -> Self:
        """Refuse a message that nothing is expected of, unless the next one is early."""
        if self.turns[0].early:
            raise ValueError("the first message cannot be `early`")
        for burst in self.bursts():
            if burst[-1].expect is None:
                raise ValueError(
                    "write what to `expect` of the turn: it may only be left out before an `early` message"
                )
        return self

    def bursts(self) -> list[list[GoldenMessage]]:
        """Return the messages in groups: each begins with one that waits for the answers before it."""
        groups: list[list[GoldenMessage]] = []
        for said in self.turns:
            if said.early:
                groups[-1].append(said)
            else:
                groups.append([said])
        return groups


class _File(Contract):
    agent: str
    conversations: list[Golden]


_FILE: TypeAdapter[_File] = TypeAdapter(_File)


def load_golden(paths: Iterable[Path], agents: Iterable[str] = ()) -> list[Golden]:
    """Return the conversations of files; if agents are given, only theirs.

    Raises:
        Invalid: a file holds no golden conversations, or no conversation is left.
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
