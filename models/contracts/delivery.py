"""Deliveries are the parts of a channel's reply on their way to the person."""

from typing import Any, Literal

from turnloom.models.contracts.base import Contract

DeliveryStatus = Literal["pending", "sent", "delivered", "read", "failed", "unknown", "withheld"]
"""`unknown`: it may have been sent, and the provider cannot be asked. `withheld`: it will not be sent."""


class DeliveryView(Contract):
    """A part of a reply on its way to the person."""

    part: int
    """From 1: a long reply is sent as several messages."""
    status: DeliveryStatus
    provider_id: str | None
    """The provider's id of the message, once it was sent."""
    attempts: int
    error: dict[str, Any] | None = None
    """Why it was not sent, or not yet."""
