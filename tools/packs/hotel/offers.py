"""A hotel's offer to book a stay."""

from dataclasses import dataclass
from datetime import datetime

from turnloom.tools.packs.hotel.store.inventory import Quote

NOT_REFUNDABLE = "-NR"
"""Suffix of a rate's code for the price that is not refunded, in a system that has two prices under one code."""


@dataclass(frozen=True, slots=True)
class BookingOffer:
    """A link to book a stay as quoted."""

    url: str
    quote: Quote
    expires_at: datetime
    is_held: bool
    """Whether the room is held until `expires_at`."""
