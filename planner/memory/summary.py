"""Summarise: one language-model call condenses older exchanges of a conversation into a few lines."""

from collections.abc import Sequence

from turnloom.models.contracts.memory import Exchange
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.logging import log
from turnloom.planner.agents import AgentProfile
from turnloom.planner.draft.packing import cut, summary_tokens
from turnloom.planner.llm.protocol import LanguageModel
from turnloom.planner.prompts import Prompts

_WORDS_PER_TOKEN = 0.6
_EXCHANGE_TOKENS = 300
"""Most tokens that are kept of each message and of each reply."""
_TIMEOUT_S = 60.0


def summed_up(
    summary: str | None, exchanges: Sequence[Exchange], agent: AgentProfile, prompts: Prompts, llm: LanguageModel
) -> str | None:
    """Return a summary that replaces the previous one and these exchanges.

    Return None if the language model is unavailable or its text cannot be used.
    """
    said = [
        {"message": cut(each.message, _EXCHANGE_TOKENS), "reply": cut(each.told, _EXCHANGE_TOKENS)}
        for each in exchanges
    ]
    words = round(summary_tokens(agent) * _WORDS_PER_TOKEN)
    asked = prompts.render("planning/summary", summary=summary, exchanges=said, words=words)
    try:
        generation = llm.generate(
            [{"role": "user", "content": asked.text}], purpose="summary", model=agent.llm, timeout_s=_TIMEOUT_S
        )
    except Unavailable as error:
        log.warning("summary.failed", code=error.code)
        return None
    text = generation.text.strip()
    if generation.finish_reason != "stop" or not text:
        log.warning("summary.refused", code=generation.finish_reason)
        return None
    return str(cut(text, summary_tokens(agent)))
