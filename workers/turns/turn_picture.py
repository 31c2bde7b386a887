"""Read a turn's picture from its document. Pure."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from turnloom.models.contracts.turn import FINAL_TURN_STATUSES, StepView, TurnView
from turnloom.planner.picture.shapes import DrawnStep, Picture, TimeSpan, in_words


def turn_picture(turn: TurnView, now: datetime) -> Picture:
    """Return what is drawn of a turn. Its clock begins when the message was accepted.

    `now`: where the time line of a turn that is not final ends.
    """
    until_ms = _until_ms(turn, now)
    steps = [_step(step, turn.created_at) for step in turn.steps]
    count = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    return Picture(f"A plan of {count}", _caption(turn), steps, tuple(_spans(turn, until_ms)), until_ms)


def _until_ms(turn: TurnView, now: datetime) -> float:
    """Return the end of all work; for a turn in work now, which is not before anything that the ledger has."""
    moments = [at for step in turn.steps for at in (step.queued_at, step.started_at, step.finished_at) if at]
    latest = max(moments, default=turn.created_at)
    if turn.status not in FINAL_TURN_STATUSES:
        latest = max(latest, now)
    return max((latest - turn.created_at).total_seconds() * 1_000, turn.timings.total_ms or 0.0)


def _caption(turn: TurnView) -> str:
    times = turn.timings
    said: list[str] = [turn.status]
    statuses = Counter(step.status for step in turn.steps)
    if set(statuses) - {"succeeded"}:
        said.append(", ".join(f"{count} {status}" for status, count in sorted(statuses.items())))
    if times.critical_path_ms is not None:
        worked = sum(step.duration_ms or 0.0 for step in turn.steps)
        must = f"{in_words(times.critical_path_ms)} must follow one another"
        said.append(f"{in_words(worked)} of work, of which {must}")
    if times.total_ms is not None:
        said.append(f"{in_words(times.total_ms)} from the message to the reply")
    return "; ".join(said)


def _spans(turn: TurnView, until_ms: float) -> Iterator[TimeSpan]:
    times = turn.timings
    begun = until_ms if times.queued_ms is None else times.queued_ms
    yield TimeSpan("plan", 0.0, begun, until_ms if times.planning_ms is None else begun + times.planning_ms)
    if times.responding_ms is not None and times.total_ms is not None:
        yield TimeSpan("reply", times.total_ms, times.total_ms - times.responding_ms, times.total_ms)


def _step(step: StepView, since: datetime) -> DrawnStep:
    def after(moment: datetime | None) -> float | None:
        return None if moment is None else (moment - since).total_seconds() * 1_000

    return DrawnStep(
        step.id,
        step.tool,
        step.needs,
        step.status,
        after(step.queued_at),
        after(step.started_at),
        after(step.finished_at),
        (step.worker or "").partition("@")[0],
    )
