"""What a hotel's system answers to somebody who wants to book."""

from dataclasses import dataclass
from datetime import datetime

from models.ledger.inventory import Quote

NOT_REFUNDABLE = "-NR"
"""What stands after a rate's code where a system has two prices under one, and this is the one that is not refunded."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A link to book a stay as quoted."""

    url: str
    quote: Quote
    expires_at: datetime
    is_held: bool
    """Whether the room is kept until then."""
