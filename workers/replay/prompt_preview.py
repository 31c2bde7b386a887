"""A prompt preview shows what a recorded turn's language model would be sent with the texts of today, or with others.

In: a recorded turn, the material of its reply, and texts.  Out: the prompts of its first planning call and of its
reply, before hooks. No language model is asked.
"""

from collections.abc import Sequence
from dataclasses import replace

from turnloom.models.contracts.material import Material
from turnloom.models.contracts.own_texts import PromptChange
from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.recording import SentMessage
from turnloom.planner.draft.planning_prompt import direct_messages, planning_messages
from turnloom.planner.llm.protocol import PromptMessage
from turnloom.planner.reply.reply_input import prepared
from turnloom.planner.reply.reply_prompts import responding_messages
from turnloom.planner.reply.responder import llm_writes
from turnloom.planner.tenant_texts import Tailored
from turnloom.tools.registry import Registry
from turnloom.workers.replay.first_context import first_context, offered_to
from turnloom.workers.replay.past import Past, past_of


class PromptPreview:
    """The prompts of one recorded turn, with the texts of today."""

    def __init__(
        self,
        conversation: RecordedConversation,
        turn: RecordedTurn,
        material: Material,
        tools: Registry,
        today: Tailored,
    ) -> None:
        """`tools` are those of the deployment, of which the agent may have some.

        Raises:
            NotFound: there is no such agent any more.
        """
        self._conversation, self._turn, self._tools = conversation, turn, tools
        self._past: Past = past_of(conversation, turn, tools)
        self._material = replace(material, memory=list(self._past.memory))
        self._today = self._prompts(today)

    def changes(self, after: Tailored) -> list[PromptChange]:
        """Return the prompts with the texts of today, and with these.

        Raises:
            NotFound: there is no such agent with these.
        """
        was, now = self._today, self._prompts(after)
        return [
            PromptChange.model_validate(
                {"purpose": purpose, "before": _sent(was.get(purpose, [])), "after": _sent(now.get(purpose, []))}
            )
            for purpose in ("direct", "plan", "reply")
            if purpose in was or purpose in now
        ]

    def _prompts(self, tailored: Tailored) -> dict[str, Sequence[PromptMessage]]:
        """Return purpose -> the prompt of the call, for the calls that the turn makes."""
        turn = self._turn
        agent = tailored.agents.get(turn.record.agent).asked(turn.llm, turn.manner)
        found: dict[str, Sequence[PromptMessage]] = {}
        if turn.submitted_plan is None:
            offered = offered_to(self._conversation, turn, tailored, self._tools, self._material.tenant_id)
            context = first_context(turn, self._past, tailored, agent, offered)
            if context.mode == "direct" or not context.tools.tools:
                found["direct"] = direct_messages(context)[0]
            else:
                found["plan"] = planning_messages(context)[0]
        given = prepared(self._material, agent, self._tools, tailored)
        if llm_writes(given):
            found["reply"] = responding_messages(given)[0]
        return found


def _sent(messages: Sequence[PromptMessage]) -> list[SentMessage]:
    return [SentMessage.model_validate(message) for message in messages]
