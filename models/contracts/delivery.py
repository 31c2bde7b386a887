"""Deliveries are the parts of what is sent to a channel's person: a reply, a request for approval."""

from typing import Any, Literal

from turnloom.models.contracts.base import Contract

DeliveryStatus = Literal["pending", "sent", "delivered", "read", "failed", "unknown", "withheld"]
"""`unknown`: it may have been sent, and the provider cannot be asked. `withheld`: it will not be sent."""


class DeliveryView(Contract):
    """A part of what is sent to the person: of the reply, or of a request for approval before it."""

    part: int
    """From 1, in the order of sending: each message is a part."""
    status: DeliveryStatus
    provider_id: str | None
    """The provider's id of the message, once it was sent."""
    attempts: int
    error: dict[str, Any] | None = None
    """Why it was not sent, or not yet."""
