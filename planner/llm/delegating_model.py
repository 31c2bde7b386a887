"""A delegating model is a language model that lets another one answer, with the other's properties."""

from turnloom.planner.llm.protocol import LanguageModel


class DelegatingModel:
    """The base of language models that let another one answer."""

    def __init__(self, llm: LanguageModel) -> None:
        self._llm = llm

    @property
    def supports_structured_output(self) -> bool:
        """See `LanguageModel`."""
        return self._llm.supports_structured_output

    @property
    def supports_function_calling(self) -> bool:
        """See `LanguageModel`."""
        return self._llm.supports_function_calling

    def available(self) -> bool:
        """See `LanguageModel`."""
        return self._llm.available()
