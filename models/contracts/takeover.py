"""A takeover: a person writes in a conversation in place of its agent."""

from typing import Annotated

from pydantic import Field

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.turn import Identifier, MessageText

Author = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""The name of a person: 1-100 characters in one line."""


class PersonMessage(Contract):
    """A message of a person to the user of a conversation. Only `message` is required."""

    message: MessageText
    """At least one letter, digit or sign."""
    message_id: Identifier | None = None
    """The caller's own id of the message: the same id again in the conversation sends nothing again."""
    author: Author | None = None
    """Who writes; the name of the key if absent."""
