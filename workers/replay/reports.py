"""A replay as it is shown: its progress, and its report once it has ended."""

from collections.abc import Iterator, Mapping

from turnloom.models.connections.database import Transaction
from turnloom.models.contracts.replay import ReplayedTurn, ReplayReport
from turnloom.models.contracts.replay_request import ReplayOptions, ReplayView, about
from turnloom.models.errors import Conflict
from turnloom.models.ledger import replays
from turnloom.models.ledger.replays import ReplayProgress
from turnloom.tools.registry import Tool
from turnloom.workers.replay.report import report


def view_of(found: ReplayProgress, made: ReplayReport | None = None) -> ReplayView:
    """Return a replay as it is shown."""
    row, options = found.replay, ReplayOptions.model_validate(found.replay.options)
    left = found.conversations - found.done
    eta_s = round(found.elapsed_s / found.done * left, 1) if found.done and row.status == "running" else None
    chosen = ReplayOptions.model_fields.keys() & ReplayView.model_fields.keys()
    return ReplayView.model_validate(
        {
            "replay_id": str(row.id),
            "status": row.status,
            "conversations": found.conversations,
            "done": found.done,
            "eta_s": eta_s,
            **{name: getattr(options, name) for name in chosen},
            "prompts": options.changed,
            "created_at": row.created_at,
            "finished_at": row.finished_at,
            "report": made,
        }
    )


def report_of(db: Transaction, found: ReplayProgress, tools: Mapping[str, Tool]) -> ReplayReport:
    """Return the report of a replay that has ended. The same conversations and options give the same report.

    Raises:
        Conflict: it has not ended.
    """
    row = found.replay
    if row.status == "running":
        raise Conflict(f"the replay still runs: {found.done} of {found.conversations} conversations are done")
    options = ReplayOptions.model_validate(row.options)
    shows_same = options.turn_id is not None
    return report(_turns(db, found), tools, about(options), options.max_different, shows_same=shows_same)


def _turns(db: Transaction, found: ReplayProgress) -> Iterator[ReplayedTurn]:
    for turns in replays.results(db, found.replay.tenant_id, found.replay.id):
        yield from map(ReplayedTurn.model_validate, turns)
