"""Criticise a reply before it counts if there is reason to doubt it: an unsure planner, a failed step, unknown names.

In: the input of a reply, and a text that may become its reply.  Out: a criticism; if there is none, the text stands.
A text is criticised at most once and rewritten at most once.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field, ValidationError

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.turn import Usage
from turnloom.models.errors import InvalidPlan, Unavailable
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.planner.llm.json_object import read_object
from turnloom.planner.llm.protocol import LanguageModel, PromptMessage
from turnloom.planner.llm.schema import strict_schema
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.reply_prompts import ReplyDraft, shown
from turnloom.planner.reply.unknown_names import unknown_names

Verdict = Literal["ok", "revise", "ask"]

_MOST_S = 30.0


class Judgement(Contract):
    """A critic's judgement of a draft."""

    verdict: Verdict
    reasons: list[str] = Field(max_length=10)
    """The faults of the draft, one sentence each."""
    fix: str | None = None
    """What the reply should say instead; with the verdict `ask`, the question to the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criticism:
    """A critic's judgement of a text, and what it cost."""

    judgement: Judgement
    usage: Usage
    duration_ms: int
    prompts: tuple[str, ...]
    """`name@version` of every prompt rendered for it."""

    def trace(self) -> dict[str, Any]:
        """Return the criticism as it is stored with the reply."""
        used = {"prompt_tokens": self.usage.prompt_tokens, "completion_tokens": self.usage.completion_tokens}
        return {**self.judgement.model_dump(), **used, "cost": self.usage.cost, "duration_ms": self.duration_ms}


def _is_allowed(given: ReplyInput) -> bool:
    """Return whether a critic may judge the reply."""
    if settings().critic == "off" or given.agent.critic == "off":
        return False
    # Otherwise no language model may be called, only the user can help, or no step succeeded.
    material = given.material
    return not (material.has_fixed_plan or material.ending or given.missing() or _came_to_nothing(given))


def is_due(given: ReplyInput) -> bool:
    """Return whether a critic should judge the reply, whatever it says."""
    agent, material = given.agent, given.material
    if not _is_allowed(given):
        return False
    unsure = material.confidence is not None and material.confidence < agent.critic_below
    return agent.critic == "always" or unsure or any(step.status in ("failed", "unknown") for step in material.steps)


def doubtful_names(given: ReplyInput, draft: ReplyDraft) -> list[str]:
    """Return the unknown names in a text of the language model, for which a critic should judge it."""
    is_in_doubt = draft.written_by.startswith("llm:") and _is_allowed(given)
    return unknown_names(given, draft.text) if is_in_doubt else []


def _came_to_nothing(given: ReplyInput) -> bool:
    steps = given.material.steps
    return bool(steps) and not any(step.status == "succeeded" for step in steps)


def criticise(
    given: ReplyInput, text: str, names: Sequence[str], llm: LanguageModel, timeout_s: float
) -> Criticism | None:
    """Let a language model judge a text, in which these names are unknown.

    Return None if it is unavailable or its answer cannot be used.
    """
    messages, prompts = critic_messages(given, text, names)
    began = time.monotonic()
    try:
        generation = llm.generate(
            messages,
            purpose="critic",
            model=given.agent.llm,
            schema=critic_schema(),
            timeout_s=min(timeout_s, _MOST_S),
        )
        judgement = Judgement.model_validate(read_object(generation.text))
    except Unavailable as error:
        log.warning("critic.skipped", code=error.code)
        return None
    except (InvalidPlan, ValidationError) as error:
        log.warning("critic.refused", error=type(error).__name__)
        return None
    duration_ms = round((time.monotonic() - began) * 1000)
    return Criticism(judgement=judgement, usage=generation.usage, duration_ms=duration_ms, prompts=prompts)


def critic_messages(given: ReplyInput, text: str, names: Sequence[str]) -> tuple[list[PromptMessage], tuple[str, ...]]:
    """Return the prompt of a critic's call, and `name@version` of its parts."""
    render, material = given.prompts.render, given.material
    safety = render("fragments/safety")
    system = render("system/critic", safety=safety.text)
    asked = render(
        "responding/critic",
        message=material.message,
        action=material.action,
        confidence=material.confidence,
        steps=[shown(step) for step in material.steps],
        text=text,
        names=names,
    )
    messages: list[PromptMessage] = [
        {"role": "system", "content": system.text},
        {"role": "user", "content": asked.text},
    ]
    return messages, (system.source, safety.source, asked.source)


@lru_cache
def critic_schema() -> dict[str, Any]:
    """Return the response schema of a critic's call."""
    return strict_schema(Judgement, "judgement")
