"""The language models that the settings name: the default one and further ones, each at its own endpoint."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnloom.models.runtime.settings import Settings
from turnloom.planner.llm.delegating_model import DelegatingModel
from turnloom.planner.llm.protocol import Generation, LanguageModel, OnDelta, PromptMessage, Purpose


def settings_of(config: Settings, name: str) -> Settings:
    """Return settings whose default language model is the one of that name.

    The key of the default endpoint goes to no other endpoint.
    """
    named = config.llm_models[name]
    own: dict[str, Any] = {
        "llm_model": named.model or name,
        "openai_base_url": named.base_url or config.openai_base_url,
        "openai_api_key": named.api_key or (None if named.base_url else config.openai_api_key),
        "llm_models": {},
    }
    return config.model_copy(update=own)


class NamedModels(DelegatingModel):
    """A language model that lets the one answer whose name a call gives; the default if it gives none of these."""

    def __init__(self, default: LanguageModel, named: Mapping[str, LanguageModel]) -> None:
        super().__init__(default)
        self._named = named

    def generate(
        self,
        messages: Sequence[PromptMessage],
        *,
        purpose: Purpose,
        model: str | None = None,
        schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Generation:
        """Return the whole answer."""
        llm, own = self._chosen(model)
        return llm.generate(messages, purpose=purpose, model=own, schema=schema, timeout_s=timeout_s)

    def stream(
        self,
        messages: Sequence[PromptMessage],
        on_delta: OnDelta,
        *,
        purpose: Purpose,
        model: str | None = None,
        schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Generation:
        """Hand on each piece as it comes, and return the whole answer."""
        llm, own = self._chosen(model)
        return llm.stream(messages, on_delta, purpose=purpose, model=own, schema=schema, timeout_s=timeout_s)

    def _chosen(self, model: str | None) -> tuple[LanguageModel, str | None]:
        """Return the language model for a call, and the name that it is told."""
        named = self._named.get(model) if model else None
        return (named, None) if named else (self._llm, model)
