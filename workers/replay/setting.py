"""The setting of a replay: the texts, agents, tools and language model with which turns are planned and answered."""

from dataclasses import dataclass
from uuid import UUID

from turnloom.models.contracts.recorded import RecordedTurn
from turnloom.planner.agents import AgentProfile
from turnloom.planner.llm.protocol import LanguageModel
from turnloom.planner.tenant_texts import Tailored
from turnloom.tools.registry import Registry


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The texts, tools and language model that a replay plans and answers with."""

    tenant_id: UUID
    tailored: Tailored
    tools: Registry
    llm: LanguageModel
    model: str | None = None
    """The language model that takes the place of those that agents and messages name."""

    repeat: int = 1
    """How often each turn is replayed. What differs between these replays is noise."""

    keeps_plans: bool = False
    """Whether the recorded plans run again. Then no language model is asked for one."""

    def agent_for(self, turn: RecordedTurn) -> AgentProfile:
        """Return the agent of a turn, as it is now.

        Raises:
            NotFound: there is no such agent any more.
        """
        agent = self.tailored.agents.get(turn.record.agent).asked(turn.llm, turn.manner)
        return agent if self.model is None else agent.model_copy(update={"llm": self.model})
