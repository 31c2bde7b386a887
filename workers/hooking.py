"""Hooks, as far as workers keep book of them: what one vetoed, or failed at, is an event of its turn."""

from uuid import UUID

from models.database import statement
from models.errors import Unavailable
from models.ledger import events
from models.logging import log
from models.redis import announce
from tools.hooks import Note, OnNote


def noting(turn_id: UUID, step_id: str | None = None) -> OnNote:
    """Return what records the notes on hooks that are asked for a turn, or for a step of it."""

    def record(note: Note) -> None:
        told = {"hook": note.hook, "point": note.point, "reason": note.reason, "step": step_id}
        try:
            with statement() as db:
                noted = events.note(db, turn_id, f"hook.{note.kind}", told)
            announce(turn_id, noted)
        except Unavailable as error:
            log.warning("hook.unrecorded", turn_id=str(turn_id), hook=note.hook, error=error.code)

    return record
