"""Prompts, agents and other texts as a tenant has them: the shipped one, or its own in its place."""

from typing import Literal

from pydantic import Field

from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.override import LARGEST_TEXT
from turnloom.models.contracts.recording import SentMessage


class TextInEffect(Contract):
    """A text under prompts/ as a tenant has it."""

    name: str
    """Its path under prompts/ without its ending, such as `agents/hotel` or `responding/results`."""
    source: str | None
    """Name and version, as traces of turns have them; with `+` and a digest if it is the tenant's own. None if the
    tenant's own cannot be used, and none is shipped."""
    origin: Literal["shipped", "ledger", "file"]
    """`ledger`: set by command or over HTTP. `file`: from the tenant's folder."""
    refused: str | None
    """Why the tenant's own text is not used."""
    set_by: str | None
    """Who made the last change in the ledger."""
    set_at: Moment | None


class TextList(Contract):
    """All texts, by name."""

    items: list[TextInEffect]


class TextChange(Contract):
    """A change of a tenant's own text."""

    version: int
    """Counts the changes of all texts of the tenant."""
    change: Literal["set", "removed"]
    by: str
    at: Moment


class TextDetail(TextInEffect):
    """A text with its words and its history."""

    text: str | None
    """The text in effect."""
    shipped: str | None
    """The text that everybody has who has none of their own."""
    history: list[TextChange]
    """The last hundred changes, the newest first."""


class OldText(Contract):
    """The text that a version has set."""

    name: str
    version: int
    text: str


class TextEdit(Contract):
    """A text to be set: a new one, or one that was in effect before."""

    text: str | None = Field(None, max_length=LARGEST_TEXT)
    version: int | None = Field(None, ge=1, lt=2**31)
    """Set the text of this version again. Give either this or `text`."""


class TextSet(Contract):
    """A change that counts within seconds, in every process."""

    name: str
    version: int
    source: str | None
    """None if nothing has this name any more."""
    warnings: list[str] = Field(default_factory=list)
    """What may be a mistake and is no fault."""


class TextTrial(Contract):
    """A text to be tried, without setting it."""

    name: str = Field(min_length=1, max_length=200)
    text: str = Field(max_length=LARGEST_TEXT)
    turn_id: str | None = Field(None, max_length=64)
    """A turn of the tenant. A template of replies is shown with its results in place of sample inputs; of other texts,
    the prompts of the turn are shown without the change and with it. Then the turn must have ended."""


class PromptChange(Contract):
    """The prompt of one call for a recorded turn, without a change and with it."""

    purpose: Literal["plan", "direct", "reply"]
    """What the call is for: the first plan, the reply without tools, or the reply from the results."""
    before: list[SentMessage]
    """The prompt with the texts in effect, before hooks; empty if there is no such call."""
    after: list[SentMessage]
    """The prompt with the text that is tried; empty if there is no such call then."""


class TextCheck(Contract):
    """The outcome of a trial."""

    usable: bool
    reason: str | None
    """Why it cannot be used."""
    source: str | None
    warnings: list[str]
    preview: list[str]
    """A prompt or a template as it is with the turn's results, else with sample inputs: the usual ones, then special
    cases."""
    prompts: list[PromptChange] = Field(default_factory=list)
    """With a turn: what the language model would be sent for it. Empty for templates of replies."""
