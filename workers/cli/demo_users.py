"""Fill the directory of the embedded stack's tenant with the demo's people, from demo_users.yaml."""

from pathlib import Path
from typing import Any
from uuid import UUID

import yaml

from turnloom.models.connections.database import Transaction
from turnloom.models.contracts.users import AccountRequest, Profile
from turnloom.models.ledger import integrations, notifications, users
from turnloom.models.ledger.notifications import Notice

_FILE = Path(__file__).parent / "demo_users.yaml"


def put_demo_users(db: Transaction, tenant_id: UUID) -> None:
    """Put the demo's people into a tenant's directory. People who are there already stay as they are."""
    read: dict[str, Any] = yaml.safe_load(_FILE.read_text("utf-8"))
    new = {user_id for user_id in read["users"] if users.find_user(db, tenant_id, user_id) is None}
    for user_id in sorted(new):
        users.put_user(db, tenant_id, user_id, Profile.model_validate(read["users"][user_id]))
    for connection in read["connections"]:
        if new.intersection(connection["users"]):
            one, other = connection["users"]
            users.connect(db, tenant_id, one, other, connection.get("status", "active"))
    for given in read["accounts"]:
        if given["user"] in new:
            request = AccountRequest(settings=given["settings"])
            made = integrations.put_account(db, tenant_id, given["user"], given["integration"], request)
            integrations.needs_reauth(db, tenant_id, made.id, made.updated_at)
    for given in read["notifications"]:
        if given["user"] in new:
            told = {name: given[name] for name in ("kind", "title", "body")}
            notice = Notice(user_id=given["user"], about={}, conversation_id=None, **told)
            notifications.notify(db, tenant_id, notice)
