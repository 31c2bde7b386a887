"""A worker's spending on a turn is in the turn's usage, whether its work is recorded or not."""

import pytest

from tests.factories import claim_turn, make_tenant, open_turn
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.turn import Usage
from turnloom.models.contracts.usage import Allowance
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import turns
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.models.ledger.usage import read_usage
from turnloom.models.runtime.settings import settings
from turnloom.planner.agents import load_agents
from turnloom.planner.llm.hooked_model import CallOrigin
from turnloom.planner.llm.metering import Meter
from turnloom.planner.llm.protocol import PromptMessage
from turnloom.workers.turns.accounting import allowances_of, metered

HELLO: list[PromptMessage] = [{"role": "user", "content": "hello"}]


@pytest.fixture
def turn(database: str) -> ClaimedTurn:
    claimed = claim_turn(open_turn(make_tenant()).turn_id)
    assert claimed is not None
    return claimed


def origin_of(turn: ClaimedTurn) -> CallOrigin:
    return CallOrigin(tenant_id=turn.tenant_id, conversation_id=turn.conversation_id, turn_id=turn.id, agent=turn.agent)


def spend(meter: Meter) -> None:
    meter.generate(HELLO, purpose="plan")


def fail(turn: ClaimedTurn, error: Exception) -> None:
    with metered(origin_of(turn), []) as meter:
        spend(meter)
        raise error


def calls(turn: ClaimedTurn) -> int:
    with transaction() as db:
        row = turns.get(db, turn.id)
        assert row is not None
        return read_usage(row.usage).llm_calls


def test_unrecorded_calls_are_recorded_at_the_end(turn: ClaimedTurn) -> None:
    """Calls count even if the work ended without a record, because of a lost fence or our own error."""
    with metered(origin_of(turn), []) as meter:
        spend(meter)
    with pytest.raises(RuntimeError):
        fail(turn, RuntimeError("ours"))

    assert calls(turn) == 2


def test_calls_that_were_recorded_are_not_recorded_again(turn: ClaimedTurn) -> None:
    """Settled calls are not counted twice. If Postgres goes down meanwhile, they are not counted at all."""
    with metered(origin_of(turn), []) as meter:
        spend(meter)
        meter.settle()
    with pytest.raises(Unavailable):
        fail(turn, Unavailable("Postgres went away"))

    assert calls(turn) == 0


def test_an_agents_file_limits_its_turns() -> None:
    """The limits in dollars and tokens hold if the file has them, less what the turn has used."""
    agent = load_agents(settings().prompts_dir / "agents").get("generic")
    bounded = agent.model_copy(update={"max_cost": 0.5, "max_llm_tokens": 900})
    used = Usage(prompt_tokens=100, completion_tokens=20, cost=0.2)

    assert allowances_of(agent.model_copy(update={"max_cost": None, "max_llm_tokens": None}), used) == []
    assert allowances_of(bounded, used) == [Allowance("turn", "cost", 0.5, 0.2), Allowance("turn", "tokens", 900, 120)]
