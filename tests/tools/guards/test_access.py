"""Test which users a tool may act for."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from tests.tools.guards.asking import TENANT, Answer, Question, context, made
from turnloom.models.contracts.users import AccountStatus
from turnloom.models.ledger.integrations import Account
from turnloom.tools.context import ToolContext
from turnloom.tools.runner import refusal


def answer(question: Question, context: ToolContext) -> Answer:
    return Answer(said="sunny")


TOOL = made(answer, scopes=frozenset({"calendar.read", "calendar.write"}), integration="caldav")
GRANTED: dict[str, Any] = {"user": {"id": "noa"}, "scopes": frozenset({"calendar.read", "calendar.write", "more"})}


def account(status: AccountStatus, integration: str = "caldav") -> dict[str, Account]:
    made = Account(
        id=UUID(int=TENANT.int + 1),
        integration=integration,
        status=status,
        settings={},
        sealed=None,
        updated_at=datetime.now(UTC),
    )
    return {integration: made}


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({}, "UNAUTHORIZED", "names none"),
        ({"user": {"name": "Noa"}}, "UNAUTHORIZED", "names none"),
        ({"user": {"id": "noa"}}, "SCOPES_MISSING", "calendar.read, calendar.write"),
        ({**GRANTED, "scopes": frozenset({"calendar.read"})}, "SCOPES_MISSING", "not granted calendar.write, which"),
        ({**GRANTED, "accounts": account("inactive")}, "CONNECTION_INACTIVE", "switched off"),
        ({**GRANTED, "accounts": account("reauth_required")}, "REAUTH_REQUIRED", "again"),
    ],
)
def test_what_the_user_has_not_granted_is_refused(given: dict[str, Any], code: str, words: str) -> None:
    refused = refusal(TOOL, {}, context(**given))

    assert refused is not None
    assert refused.error is not None
    assert (refused.error.code, refused.error.retry_at) == (code, None)
    assert words in refused.error.message


@pytest.mark.parametrize("accounts", [{}, account("active"), account("inactive", "another")])
def test_what_the_user_has_granted_may_be_called(accounts: dict[str, Account]) -> None:
    """A service without an account of the user needs none."""
    assert refusal(TOOL, {}, context(**GRANTED, accounts=accounts)) is None


def test_a_tool_without_scopes_is_for_everybody() -> None:
    assert refusal(made(answer), {}, context()) is None
