"""A wrapper is a language model around another one; it leaves the other's properties as they are."""

from turnloom.planner.llm.protocol import LanguageModel


class Wrapping:
    """A language model that lets another one answer."""

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
