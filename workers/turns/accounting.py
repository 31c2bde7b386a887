"""Accounting: the language model as one turn uses it, and the calls that no plan and no reply takes along."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from models.connections.database import statement
from models.contracts.turn import Usage
from models.contracts.usage import Allowance
from models.errors import Unavailable
from models.ledger import usage
from planner.agents import AgentProfile
from planner.llm.hooked_model import with_hooks
from planner.llm.metering import Meter
from workers.broker.app import app
from workers.turns.hook_events import noting
from workers.turns.process_parts import llm


@contextmanager
def metered(turn_id: UUID, allowances: Sequence[Allowance]) -> Iterator[Meter]:
    """Lend the language model for work on a turn.

    Its calls belong into the transaction that records the work, which then settles the meter. Calls of work that was
    not recorded, because its fence was old or nothing came of it, are recorded here.
    """
    meter = Meter(with_hooks(llm(), noting(turn_id)), allowances)
    try:
        yield meter
    except Unavailable:
        meter.settle()  # Postgres is out, and may have recorded them before it went: rather not counted than twice
        raise
    finally:
        if meter.calls:
            with statement() as db:
                usage.record(db, turn_id, meter.calls)


@app.task(name="sum_usage", send_events=False)
def sum_usage() -> None:
    """Add up the counts of the connections, so that a look at a budget stays a look at few rows."""
    with statement() as db:
        usage.sum_up(db)


def allowances_of(agent: AgentProfile, used: Usage) -> list[Allowance]:
    """Return what an agent's profile bounds a turn by, of which so much is used."""
    tokens = used.prompt_tokens + used.completion_tokens
    allowances = []
    if agent.max_cost is not None:
        allowances.append(Allowance("turn", "cost", agent.max_cost, used.cost or 0.0))
    if agent.max_llm_tokens is not None:
        allowances.append(Allowance("turn", "tokens", agent.max_llm_tokens, tokens))
    return allowances
