"""Access: whether a tool may act for the user of a call. Pure."""

from typing import TYPE_CHECKING

from pydantic import BaseModel

from turnloom.models.errors import ToolFailed
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import Tool

if TYPE_CHECKING:
    from turnloom.models.ledger.integrations import Account


def require(tool: Tool, query: BaseModel | None, context: ToolContext) -> None:
    """Check that the user has granted the tool's scopes and that the user's account, if there is one, can be used.

    `query` is None if the tool refuses the arguments. The account is then not checked.

    Raises:
        ToolFailed: UNAUTHORIZED, the turn names no user; SCOPES_MISSING; CONNECTION_INACTIVE, the account with the
            outside service is switched off; REAUTH_REQUIRED, the service has refused the account's secret.
    """
    if not tool.scopes:
        return
    if not context.user.get("id"):
        raise ToolFailed(f"{tool.name} acts for a user, but the turn names none", code="UNAUTHORIZED")
    if missing := tool.scopes - context.scopes:
        message = f"the user has not granted {', '.join(sorted(missing))}, which {tool.name} needs"
        raise ToolFailed(message, code="SCOPES_MISSING")

    account = account_of(tool, query, context) if query is not None else None
    if account is None or account.status == "active":
        return
    if account.status == "inactive":
        message = f"the user's account with {account.integration} is switched off"
        raise ToolFailed(message, code="CONNECTION_INACTIVE")
    message = f"{account.integration} refuses the account's credentials: the user must connect the account again"
    raise ToolFailed(message, code="REAUTH_REQUIRED")


def account_of(tool: Tool, query: BaseModel, context: ToolContext) -> "Account | None":
    """Return the user's account with the outside service of a call; None if there is no account or no service."""
    integration = tool.integration_of(query, context)
    return context.accounts.get(integration) if integration else None
