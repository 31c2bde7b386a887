"""A manner is how the caller wants an agent to speak, beside its persona."""

from typing import Annotated, Any, Literal

from pydantic import Field

from turnloom.models.contracts.base import Contract

Specialization = Literal["negotiation", "scheduling", "memory", "coordination"]

Tone = Annotated[str, Field(max_length=64, pattern=r"^[^\W\d_]+(?:[ ,'-]+[^\W\d_]+)*$")]
"""A tone in a few plain words, such as `warm and brief`."""

AssistantName = Annotated[str, Field(max_length=64, pattern=r"^\w+(?:[ .'-]+\w+)*\.?$")]
"""A name in letters and digits, such as `Robin`."""

Service = Annotated[str, Field(max_length=64, pattern=r"^\w+(?:[ ./-]+\w+)*$")]
"""The name of an outside service, such as `google-calendar`."""


class Manner(Contract):
    """An agent's way to speak: its tone, its name, its specialization, and the services that the user has connected."""

    tone: Tone | None = None
    assistant_name: AssistantName | None = None
    """The name by which it calls itself."""
    specialization: Specialization | None = None
    integrations: list[Service] = Field(default_factory=list, max_length=32)
    """The outside services that the caller's application has connected."""


def read_manner(stored: dict[str, Any] | None) -> Manner | None:
    """Read a manner as the ledger stores it."""
    return Manner.model_validate(stored) if stored else None
