"""A summary shortens a long conversation's older messages to a few lines, so that turns do not become more costly.

Nobody waits for it: it covers final turns while another one is worked on. If it is missing or late, packing handles the
older messages.
"""

from uuid import UUID

from turnloom.models.connections.database import statement
from turnloom.models.contracts.memory import Exchange
from turnloom.models.ledger import memory
from turnloom.models.ledger.memory import Unsummarised
from turnloom.models.runtime.logging import log
from turnloom.planner.agents import AgentProfile
from turnloom.planner.draft.packing import older, wants_summary
from turnloom.planner.llm.hooked_model import CallOrigin
from turnloom.planner.memory.summary import summed_up
from turnloom.planner.prompts import Prompts
from turnloom.workers.broker.app import app
from turnloom.workers.turns.accounting import metered
from turnloom.workers.turns.llm_slots import llm_slots
from turnloom.workers.turns.process_parts import tailored

_AT_ONCE = 40
"""Most exchanges that are read."""


@app.task(name="summarise")
def summarise(turn_id: str) -> None:
    """Summarise the older messages of a turn's conversation, if many are not covered yet."""
    with statement() as db:
        found = memory.unsummarised(db, UUID(turn_id), _AT_ONCE)
    if found is None:
        return
    mine = tailored(found.tenant_id, found.conversation_id)
    agent = mine.agents.profiles.get(found.agent)
    if agent is not None:
        _summarise(turn_id, found, agent, mine.prompts)


def _summarise(turn_id: str, found: Unsummarised, agent: AgentProfile, prompts: Prompts) -> None:
    history = [Exchange(**each) for each in found.history]
    if not wants_summary(history, agent):
        return
    past = older(history, agent)
    origin = CallOrigin(
        tenant_id=found.tenant_id, conversation_id=found.conversation_id, turn_id=UUID(turn_id), agent=found.agent
    )
    with (
        llm_slots().slot(found.tenant_id, UUID(turn_id), None) as is_mine,
        metered(origin, found.allowances) as meter,
    ):
        summary = summed_up(found.summary, past, agent, prompts, meter) if is_mine else None
    if summary is None:
        return
    with statement() as db:
        kept = memory.summarise(db, found, summary, found.history[len(past) - 1]["seq"])
    log.info("conversation.summarised", turn_id=turn_id, exchanges=len(past), kept=kept)
