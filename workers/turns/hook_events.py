"""Hook events record in the turn what a hook vetoed, or where it failed."""

from uuid import UUID

from turnloom.tools.hooks import HookRecord, OnNote
from turnloom.workers.turns.turn_events import note


def hook_recorder(turn_id: UUID, step_id: str | None = None) -> OnNote:
    """Return a function that records notes on hooks as events of a turn, or of one of its steps."""

    def record(said: HookRecord) -> None:
        told = {"hook": said.hook, "point": said.point, "reason": said.reason, "step": step_id}
        note(turn_id, f"hook.{said.kind}", told)

    return record
