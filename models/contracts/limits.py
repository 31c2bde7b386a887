"""The limits of a tenant: how many messages it may post, and how many of its turns are worked on at the same time."""

from pydantic import Field

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.rate import Rate


class Limits(Contract):
    """The limits of one tenant: the deployment's, where the tenant has none of its own."""

    backlog: int = Field(ge=1)
    """Most unfinished turns."""
    user_backlog: int = Field(ge=1)
    """How many turns of one user may wait for the user's others."""
    window: int = Field(ge=0)
    """Most interactive turns that are handed to the workers at the same time; 0: any number."""
    user_window: int = Field(ge=0)
    """How many of these one user may have; 0: any number."""
    batch_window: int = Field(ge=0)
    """Most batch turns that are handed to the workers at the same time; 0: any number."""
    burst_window_ms: int = Field(ge=0, le=10_000)
    """How long a new turn is held after each message, so that further messages can become a part of it."""
    rate: Rate | None
    """How many messages may be posted in all; None: any number, as with the next three."""
    user_rate: Rate | None
    """How many messages one user may post."""
    key_rate: Rate | None
    """How many messages may be posted with one key."""
    account_rate: Rate | None
    """How many messages one account of a channel may bring."""
