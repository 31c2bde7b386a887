"""Hooks, as far as workers keep book of them: what one vetoed, or failed at, is an event of its turn."""

from uuid import UUID

from tools.hooks import HookRecord, OnNote
from workers.turns.turn_events import note


def noting(turn_id: UUID, step_id: str | None = None) -> OnNote:
    """Return what records the notes on hooks that are asked for a turn, or for a step of it."""

    def record(said: HookRecord) -> None:
        told = {"hook": said.hook, "point": said.point, "reason": said.reason, "step": step_id}
        note(turn_id, f"hook.{said.kind}", told)

    return record
