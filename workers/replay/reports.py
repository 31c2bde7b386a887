"""A replay as it is shown: its progress, and its report once it has ended."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from turnloom.models.connections.database import transaction
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


def forked_turn(found: ReplayProgress) -> ReplayedTurn | None:
    """Return the turn of a fork; None if it was not run, or erased since."""
    return next(_turns(found.replay.tenant_id, found.replay.id), None)


def report_of(found: ReplayProgress, tools: Mapping[str, Tool]) -> ReplayReport:
    """Return the report of a replay that has ended. The same conversations and options give the same report.

    It takes longer than a transaction may last, above all in a process that runs behind others. So it begins its own.

    Raises:
        Conflict: it has not ended.
    """
    row = found.replay
    if row.status == "running":
        raise Conflict(f"the replay still runs: {found.done} of {found.conversations} conversations are done")
    options = ReplayOptions.model_validate(row.options)
    shows_same = options.turn_id is not None or options.fork is not None
    turns = _turns(row.tenant_id, row.id)
    return report(turns, tools, about(options), options.max_different, shows_same=shows_same)


def _turns(tenant_id: UUID, replay_id: UUID) -> Iterator[ReplayedTurn]:
    after = 0
    while True:
        with transaction(tenant_id) as db:
            read = replays.results(db, tenant_id, replay_id, after)
        if not read:
            return
        yield from (ReplayedTurn.model_validate(turn) for _, turns in read for turn in turns)
        after, _ = read[-1]
