"""What a simulated provider's side of its protocol offers, and the shapes that it hands over."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Refusal = tuple[int, dict[str, str], Any]
"""Status, headers and JSON of an answer."""


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """A message that a simulated person writes."""

    id: str
    """The id that the provider gives it, as the turn's `message_id` has it."""
    person: str
    number: int
    """Its place among all messages of the run, from 0."""
    at: int
    """When it was written, as a Unix time; each message of a person has a second of its own."""
    text: str


@dataclass(frozen=True, slots=True)
class Sending:
    """A message that we send."""

    recipient: str
    key: str | None = None
    """Our key, if the provider hands it back."""
    is_template: bool = False
    """Whether it may be sent although the person wrote long ago."""


class ProviderDialect(Protocol):
    """A provider's side of its protocol, for one account."""

    @property
    def has_batches(self) -> bool:
        """Whether several messages may come in one body."""

    @property
    def has_order(self) -> bool:
        """Whether a message tells when it was written."""

    def message_id(self, run: str, number: int) -> str:
        """Return the id of a message, as a turn's `message_id` has it."""

    def person(self, run: str, number: int) -> str:
        """Return the id of a person."""

    def recipient(self, person: str) -> str:
        """Return where messages to a person go."""

    def body(self, messages: Sequence[WrittenMessage]) -> bytes:
        """Return the webhook that reports messages."""

    def edit(self, message: WrittenMessage, edit_id: str, text: str) -> bytes | None:
        """Return the webhook that reports another text of a message; None if the channel reports none."""

    def receipt(self, provider_id: str, sending: Sending, status: str) -> bytes | None:
        """Return the webhook that reports what became of a message of ours; None if the provider has none.

        `failed`: the person had written too long ago.
        """

    def headers(self, body: bytes, path: str) -> dict[str, str]:
        """Return the headers of a webhook, with its signature."""

    def read(self, path: str, headers: Mapping[str, str], body: bytes) -> Sending | None:
        """Read a request of ours; None if it sends nothing."""

    def new_id(self, sending: Sending) -> str:
        """Return the provider's id for a message of ours, as a delivery has it."""

    def taken(self, provider_id: str, sending: Sending) -> Any:
        """Return the answer to a message that was taken."""

    def refusal(self, chance: random.Random) -> Refusal:
        """Return the answer to a message that was not taken: too many."""

    def closed_window(self) -> Refusal | None:
        """Return the answer to a message to a person who wrote too long ago; None if the channel has no such limit."""

    def known_account(self) -> Any:
        """Return the answer to a question about the account."""
