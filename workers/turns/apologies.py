"""An apology ends a turn that got no plan."""

from typing import Any

from turnloom.models.errors import TurnloomError
from turnloom.models.ledger.turns import ClaimedTurn, Ending
from turnloom.planner.prompts import Prompts
from turnloom.planner.reply.apologies import Apology, Trouble, apology, disambiguation
from turnloom.planner.reply.suggestions import openers
from turnloom.planner.tenant_texts import Tailored
from turnloom.workers.responding import finish
from turnloom.workers.turns.process_parts import tailored


def apologise(turn: ClaimedTurn, trouble: Trouble, error: TurnloomError) -> None:
    """End a turn with an apology, before anything was planned."""
    finish(turn.id, turn.attempt, excused(turn, trouble, error, {}))


def excused(turn: ClaimedTurn, trouble: Trouble, error: TurnloomError, failure: dict[str, Any]) -> Ending:
    """Return the ending of a turn that got no plan. `failure`: the trace of its planning."""
    texts = tailored(turn.tenant_id, turn.conversation_id)
    word = word_for(texts, texts.prompts_for(turn.person, turn.message), turn.agent, trouble)
    used = [*failure.get("prompts", ()), word.source]
    trace = {**failure, "written_by": f"template:{word.source}", "prompts": used}
    return Ending("failed", word.reply, trace, error=reason_of(error))


def word_for(texts: Tailored, prompts: Prompts, agent_name: str, trouble: Trouble) -> Apology:
    """Return what a turn without a plan says: a choice of what an agent can do if its plan was refused."""
    agent = texts.agents.profiles.get(agent_name)
    choices = openers(agent, prompts.language) if agent and trouble == "invalid_plan" else []
    return disambiguation(choices, prompts) if len(choices) > 1 else apology(trouble, prompts)


def reason_of(error: TurnloomError) -> dict[str, str]:
    """Return an error in the form that the ledger keeps."""
    return {"code": error.code, "message": str(error)}
