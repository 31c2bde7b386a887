"""Feedback on turns is given and read here."""

from uuid import UUID

import psycopg
from sqlalchemy import select
from sqlalchemy.orm import Session

from turnloom.models.contracts.feedback import Feedback, FeedbackRequest
from turnloom.models.errors import NotFound
from turnloom.models.ledger.transitions import call
from turnloom.models.tables.feedback import FeedbackRow


def give(db: psycopg.Connection, tenant_id: UUID, turn_id: UUID, given: FeedbackRequest) -> Feedback:
    """Keep a user's word about a turn in place of the user's earlier one.

    Raises:
        NotFound: the tenant has no such turn.
    """
    found = call(
        db,
        "give_feedback",
        tenant=tenant_id,
        turn=turn_id,
        user=given.user,
        rating=given.rating,
        comment=given.comment,
    )
    if found is None:
        raise NotFound("there is no turn of that id")
    return Feedback.model_validate({**found, "rating": given.rating, "comment": given.comment})


def of_turn(db: Session, tenant_id: UUID, turn_id: UUID) -> list[FeedbackRow]:
    """Return what users said of a turn, the oldest word first."""
    query = select(FeedbackRow).where(FeedbackRow.tenant_id == tenant_id, FeedbackRow.turn_id == turn_id)
    return list(db.scalars(query.order_by(FeedbackRow.at, FeedbackRow.user_id)))
