"""Access: whether a tool may act for whoever asks. Pure."""

from typing import TYPE_CHECKING

from pydantic import BaseModel

from models.errors import ToolFailed
from tools.context import ToolContext
from tools.registry import Tool

if TYPE_CHECKING:
    from models.ledger.integrations import Account


def require(tool: Tool, query: BaseModel | None, context: ToolContext) -> None:
    """Pass where the user of a call has granted its tool's scopes, and no account stands in the way.

    `query`: the arguments, None where the tool refuses them.

    Raises:
        ToolFailed: UNAUTHORIZED, nobody is named to act for; SCOPES_MISSING; CONNECTION_INACTIVE, the account with the
            outside service is switched off; REAUTH_REQUIRED, the service has refused its secret.
    """
    if not tool.scopes:
        return
    if not context.user.get("id"):
        raise ToolFailed(f"{tool.name} acts for a user, and the turn names none", code="UNAUTHORIZED")
    if missing := tool.scopes - context.scopes:
        message = f"the user has not granted {', '.join(sorted(missing))}, which {tool.name} needs"
        raise ToolFailed(message, code="SCOPES_MISSING")

    account = account_of(tool, query, context) if query is not None else None
    if account is None or account.status == "active":
        return
    if account.status == "inactive":
        message = f"the user's account with {account.integration} is switched off"
        raise ToolFailed(message, code="CONNECTION_INACTIVE")
    message = f"{account.integration} refuses us: the user must connect the account again"
    raise ToolFailed(message, code="REAUTH_REQUIRED")


def account_of(tool: Tool, query: BaseModel, context: ToolContext) -> "Account | None":
    """Return the user's account with the outside service that a call talks to; None where there is none."""
    integration = tool.integration_of(query, context)
    return context.accounts.get(integration) if integration else None
