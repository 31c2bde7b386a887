"""A sign-in at the console."""

from pydantic import Field

from turnloom.models.contracts.base import Contract, Moment


class SignIn(Contract):
    """A key to sign in with."""

    key: str | None = Field(None, min_length=1, max_length=200)
    """A key to the API. A page of the embedded stack that was opened on this machine needs none."""


class ConsoleSessionView(Contract):
    """The person at the console: what their session may do, until when."""

    tenant: str
    """The tenant's name."""
    scopes: list[str]
    """The rights of the key with which they signed in. Without any that writes, the console only shows."""
    operator: bool
    """Whether they may see what belongs to all tenants: the scope `operations:read`."""
    csrf: str
    """Send it as the header `X-CSRF-Token` with every request that changes something."""
    flower_url: str | None
    """Where Flower is, if the deployment says so and they are an operator."""
    expires_at: Moment
