"""A rollout gives a share of a tenant's conversations a new text, beside the one in effect for the others."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, NamedTuple, Self
from uuid import UUID

from pydantic import Field, model_validator

from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.override import LARGEST_TEXT
from turnloom.models.contracts.quality import QualityLine

RolloutOutcome = Literal["stopped", "promoted", "taken_back"]
"""How a rollout ended: by hand with the old text for all, by hand with the new one, or by itself with the old one."""

_ALL = 2**32


@dataclass(frozen=True)
class RunningRollout:
    """A rollout that has not ended, as planners and responders need it."""

    id: UUID
    name: str
    text: str
    share: float

    @property
    def bound(self) -> int:
        """The number that the buckets of the conversations with the new text are below."""
        return round(self.share * _ALL)

    def takes(self, conversation_id: str) -> bool:
        """Return whether a conversation has the new text. It is the same for as long as the rollout runs."""
        return bucket(self.id, conversation_id) < self.bound


def bucket(rollout_id: UUID, conversation_id: str) -> int:
    """Return the bucket of a conversation, from 0 to 2³² - 1. models/ledger/quality.py computes the same in SQL."""
    return int.from_bytes(sha256(f"{rollout_id}/{conversation_id}".encode()).digest()[:4], "big")


class RolloutRequest(Contract):
    """A rollout to be started. It has either a `text` or an `llm`."""

    name: str = Field(max_length=200)
    """The text to replace: a path under prompts/ without its ending, such as `agents/hotel` or `styles/brief`."""
    text: str | None = Field(None, max_length=LARGEST_TEXT)
    """The new text."""
    llm: str | None = Field(None, min_length=1, max_length=200)
    """Instead of a text: the language model that the agent of this name is to use."""
    share: float = Field(gt=0, lt=1)
    """The share of conversations that get the new text."""
    max_worse: float = Field(0.05, ge=0, le=1)
    """It is taken back when the new text's rate of failed turns, or of ungrounded replies, is this much above the old
    one's, and chance does not explain it."""
    min_turns: int = Field(20, ge=1, le=1_000_000)
    """It is not taken back before so many turns have had the new text."""

    @model_validator(mode="after")
    def changes_one_thing(self) -> Self:
        """Refuse a request with neither of the fields, or with both."""
        if (self.text is None) == (self.llm is None):
            raise ValueError("write `text` or `llm`")
        if self.llm is not None and not self.name.startswith("agents/"):
            raise ValueError("an `llm` belongs to an agent: name it as `agents/NAME`")
        return self


class RolloutView(Contract):
    """A rollout as it is shown."""

    id: str
    name: str
    text: str
    share: float
    max_worse: float
    min_turns: int
    created_by: str
    created_at: Moment
    ended_at: Moment | None
    """None while it runs."""
    outcome: RolloutOutcome | None
    ended_by: str | None
    reason: str | None
    """Why it was taken back."""


class RolloutList(Contract):
    """A tenant's rollouts, the newest first."""

    items: list[RolloutView]
    next_cursor: str | None
    """Hand it back as `cursor` for the next page; None at the end."""


class Sides(NamedTuple):
    """The turns of a rollout: those with the new text, and those with the old one. None: no turn has ended."""

    new: QualityLine | None
    old: QualityLine | None


class RolloutReport(Contract):
    """A rollout, and how the turns with the new text and with the old one went."""

    rollout: RolloutView
    new: QualityLine | None
    """None if no turn with it has ended."""
    old: QualityLine | None
