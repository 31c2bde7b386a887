"""A language model that messages and agents may name, and its endpoint. Only settings name endpoints and keys."""

from pydantic import Field

from turnloom.models.contracts.base import Contract
from turnloom.models.runtime.service_urls import ServiceUrl


class LlmEndpoint(Contract):
    """A language model under a name of ours."""

    model: str | None = None
    """Its name at the endpoint; if absent, the name of ours."""
    base_url: ServiceUrl | None = None
    """If absent, the endpoint of the default language model."""
    api_key: str | None = Field(None, repr=False)
    """If absent, no key; at the endpoint of the default language model, its key."""
