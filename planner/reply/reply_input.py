"""The input of a reply, and the facts that follow from it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnloom.models.contracts.material import Material
from turnloom.models.contracts.memory import RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Bound, Question
from turnloom.models.runtime.local_time import local_now
from turnloom.planner.agents import AgentProfile
from turnloom.planner.memory.slot_state import settled, shown
from turnloom.planner.prompts import Prompts
from turnloom.planner.reply.grounding import Evidence, UserWords, gather
from turnloom.planner.reply.raw_text import is_raw
from turnloom.planner.tenant_texts import Tailored
from turnloom.tools.registry import Registry


def prepared(material: Material, agent: AgentProfile, tools: Registry, tailored: Tailored) -> "ReplyInput":
    """Return the input of a reply that is written now, with a tenant's texts."""
    return ReplyInput(
        material=material,
        agent=agent,
        tools=tools,
        prompts=tailored.prompts_for(material.person, material.message, material.history),
        now=local_now(material.person),
        slots=shown(settled(material.slots, material.steps, agent.slots), agent.slots),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyInput:
    """The material of a reply, and the agent that replies."""

    material: Material
    agent: AgentProfile
    tools: Registry
    prompts: Prompts
    """The prompts, with the tenant's own texts."""
    now: datetime
    """In the user's time zone."""
    slots: Mapping[str, Any]
    """The material's slots as prompts see them, with those that its results settle."""
    bound: Bound | None = None
    """The limit that kept the turn from being planned again."""

    @property
    def is_direct(self) -> bool:
        """Whether there are no results, of this turn or an earlier one, to trace a figure to."""
        return not self.material.steps and not self.material.memory

    @property
    def is_written(self) -> bool:
        """Whether the planner itself has written a reply that can be sent."""
        reply = self.material.reply
        return bool(reply) and not self.material.ending and not is_raw(str(reply), self.internal_names)

    @property
    def internal_names(self) -> set[str]:
        """The names of tools and scopes, which no reply says."""
        tools = self.tools.tools
        return {*tools, *(scope for tool in tools.values() for scope in tool.scopes)}

    def formatted(self) -> StepResult | None:
        """Return the last formatter step that succeeded and had something to join, if any."""
        return next((step for step in reversed(self.done()) if self._is_formatter(step)), None)

    def done(self) -> list[StepResult]:
        """Return the steps that brought something: those that succeeded, without formatters of failures only."""
        by_id = {step.id: step for step in self.material.steps}
        found = []
        for step in self.material.steps:
            joined = {by_id[name].status for name in step.refers_to if name in by_id}
            is_vain = self._is_formatter(step) and joined and "succeeded" not in joined
            if step.status == "succeeded" and not is_vain:
                found.append(step)
        return found

    def succeeded(self) -> Iterator[StepResult]:
        """Yield the steps that succeeded and are not formatters."""
        steps = self.material.steps
        return (step for step in steps if step.status == "succeeded" and not self._is_formatter(step))

    def recounted(self) -> list[StepResult]:
        """Return the results of earlier turns that a reply without steps words again.

        They are the newest ones of the tools that the hinted template words.
        """
        name = f"responding/{self.material.synthesis_hint}"
        if self.material.steps or self.material.synthesis_hint not in self.agent.hints or not self.prompts.has(name):
            return []
        newest = self._newest_remembered()
        found = [newest[tool] for tool in self.prompts.in_effect(name).words_of if tool in newest]
        return [
            StepResult(id=entry.step, tool=entry.tool, args=entry.args, status="succeeded", result=entry.result)
            for entry in found
        ]

    def results(self) -> dict[str, Any]:
        """Return the last result of each tool: this turn's if there is one, otherwise the newest remembered one."""
        remembered = {tool: entry.result for tool, entry in self._newest_remembered().items()}
        return remembered | {step.tool: step.result for step in self.material.steps if step.status == "succeeded"}

    def _newest_remembered(self) -> dict[str, RecalledResult]:
        """Return the newest remembered entry of each tool; of two of the same second, the one that stands first."""
        newest: dict[str, RecalledResult] = {}
        for entry in sorted(self.material.memory, key=lambda entry: entry.age_s):
            newest.setdefault(entry.tool, entry)
        return newest

    def missing(self) -> dict[str, Any]:
        """Return the fields that steps lack, each with its choices, or True. Only the user can give them."""
        return {name: choices for step in self.material.steps for name, choices in (step.asks or {}).items()}

    def readings(self) -> dict[str, list[Any]]:
        """Return the readings of the user's words, by field, where a step has built on the first of several."""
        found: dict[str, list[Any]] = {}
        if self.missing():
            return found  # one question at a time
        built_on = {needed for step in self.succeeded() for needed in step.needs}
        for step in self.succeeded():
            tool = self.tools.tools.get(step.tool)
            if step.id in built_on and tool is not None and tool.readings is not None:
                found |= tool.readings(tool.output.model_validate(step.result, by_name=True))
        return found

    def question(self) -> Question | None:
        """Return the question that only the user can answer; None if nothing is missing or ambiguous."""
        needs = self.missing() or self.readings()
        choices = {name: options for name, options in needs.items() if isinstance(options, list)}
        return Question(fields=sorted(needs), choices=choices) if needs else None

    def evidence(self) -> Evidence:
        """Gather the evidence for the reply."""
        material = self.material
        return gather(
            self.agent,
            self.tools,
            self.now,
            steps=material.steps,
            memory=material.memory,
            said=UserWords(material.message, self.slots, material.person, material.history),
        )

    def _is_formatter(self, step: StepResult) -> bool:
        tool = self.tools.tools.get(step.tool)
        return step.status == "succeeded" and tool is not None and tool.formatter
