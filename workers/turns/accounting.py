"""Count what a turn uses of the language model, and record the calls that belong to no recorded plan or reply."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from turnloom.models.connections.database import statement
from turnloom.models.contracts.turn import Usage
from turnloom.models.contracts.usage import Allowance
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import usage
from turnloom.models.runtime.settings import settings
from turnloom.planner.agents import AgentProfile
from turnloom.planner.llm.hooked_model import CallOrigin, with_hooks
from turnloom.planner.llm.metering import Meter
from turnloom.planner.llm.recording import Recorder
from turnloom.planner.llm.redaction import redaction_of
from turnloom.workers.broker.app import app
from turnloom.workers.turns.hook_events import hook_recorder
from turnloom.workers.turns.process_parts import llm


@contextmanager
def metered(origin: CallOrigin, allowances: Sequence[Allowance]) -> Iterator[Meter]:
    """Lend the language model for work on a turn.

    The transaction that records the work also records its calls, and then settles the meter. If the work was not
    recorded, because its fence was old or it failed, its calls are recorded here.
    """
    turn_id = origin.turn_id
    recorder = Recorder(redaction_of(settings())) if settings().record_prompts else None
    meter = Meter(with_hooks(llm(), hook_recorder(turn_id), origin), allowances, recorder)
    try:
        yield meter
    except Unavailable:
        meter.settle()  # Postgres is out, and may have recorded them: better not counted than counted twice
        raise
    finally:
        if meter.calls:
            with statement() as db:
                usage.record(db, turn_id, meter.calls)


@app.task(name="sum_usage", send_events=False)
def sum_usage() -> None:
    """Add up the connections' counts, so that a budget check reads few rows."""
    with statement() as db:
        usage.sum_up(db)


def allowances_of(agent: AgentProfile, used: Usage) -> list[Allowance]:
    """Return the limits of an agent's profile on a turn that has used `used`."""
    tokens = used.prompt_tokens + used.completion_tokens
    allowances = []
    if agent.max_cost is not None:
        allowances.append(Allowance("turn", "cost", agent.max_cost, used.cost or 0.0))
    if agent.max_llm_tokens is not None:
        allowances.append(Allowance("turn", "tokens", agent.max_llm_tokens, tokens))
    return allowances
