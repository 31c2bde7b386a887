"""Take conversations over in the ledger, as the API does."""

from typing import Any
from uuid import UUID

from tests.factories import make_tenant
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.takeover import PersonMessage
from turnloom.models.ledger import audit, takeover
from turnloom.models.ledger.takeover import PausedConversation, RecordedMessage
from turnloom.models.runtime.operators import Operator

DANA = Operator(name="Dana")


def pause(conversation: str = "c1", tenant: UUID | None = None) -> PausedConversation:
    tenant = tenant or make_tenant()
    with statement() as db:
        return takeover.pause(db, tenant, conversation, DANA)


def resume(conversation: str = "c1") -> bool:
    tenant = make_tenant()
    with statement() as db:
        return takeover.resume(db, tenant, conversation, DANA)


def write(message: str = "Hello, Dana here", conversation: str = "c1", **fields: Any) -> RecordedMessage:
    tenant = make_tenant()
    with statement() as db:
        return takeover.write(db, tenant, conversation, PersonMessage(message=message, **fields), DANA)


def kinds(conversation: str = "c1") -> list[str]:
    tenant = make_tenant()
    with transaction() as db:
        assert audit.verify(db, tenant, conversation) == []
        return [row.kind for row in audit.page(db, tenant, conversation, 0, 100)]
