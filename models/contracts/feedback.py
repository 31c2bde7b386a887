"""Feedback is what users think of the reply to a turn."""

from typing import Literal

from pydantic import Field

from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.turn import Identifier

Rating = Literal["up", "down"]


class FeedbackRequest(Contract):
    """A rating of a reply by a user, perhaps with a comment."""

    rating: Rating
    comment: str | None = Field(None, min_length=1, max_length=4000)
    user: Identifier | None = None
    """The id of the user who rates; if absent, the turn's own user."""


class Feedback(Contract):
    """A user's last word about a turn."""

    user: str
    """Empty if neither the turn nor the feedback names a user."""
    rating: Rating
    comment: str | None
    at: Moment
