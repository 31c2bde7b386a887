"""Erasing a conversation reaches the tables of every pack."""

from datetime import UTC, date, datetime
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import select, text

from tests.factories import make_tenant, open_turn, work
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.turn import User
from turnloom.models.contracts.users import Profile
from turnloom.models.errors import Conflict, NotFound, Unavailable
from turnloom.models.ledger.notifications import Notice, notify
from turnloom.models.ledger.users import connect, put_user
from turnloom.models.runtime.settings import settings
from turnloom.models.tables.base import Row
from turnloom.tools.erasure import erase_conversation, erase_user
from turnloom.tools.pack_index import shipped_packs
from turnloom.tools.packs.hotel.tables import HoldRow
from turnloom.tools.packs.research.tables import NoteRow
from turnloom.tools.packs.sim.tables import SimWriteRow

pytestmark = pytest.mark.usefixtures("database")


def hold(tenant_id: UUID, conversation_id: str) -> HoldRow:
    return HoldRow(
        tenant_id=tenant_id,
        hotel_id="demo",
        conversation_id=conversation_id,
        key=conversation_id,
        check_in=date(2030, 1, 1),
        check_out=date(2030, 1, 2),
        room_type="double",
        board="breakfast",
        rate_code="standard",
        price=100,
        currency="EUR",
        cancellable=True,
        free=1,
        expires_at=datetime(2030, 1, 1, tzinfo=UTC),
    )


def test_packs_erase_their_part_even_if_they_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Holds, notes and written values of the conversation are gone. Those of another conversation stay."""
    monkeypatch.setenv("TURNLOOM_PACKS", '["dates"]')
    settings.cache_clear()
    tenant_id = make_tenant()
    for conversation_id in ("c1", "c2"):
        turn_id = open_turn(tenant_id, conversation_id=conversation_id).turn_id
        work(turn_id)
        with transaction() as db:
            db.add(hold(tenant_id, conversation_id))
            note = {"key": conversation_id, "text": "secret", "about": "secret"}
            db.add(NoteRow(tenant_id=tenant_id, conversation_id=conversation_id, **note))
            written = {"key": conversation_id, "step_id": "s1", "value": "secret"}
            db.add(SimWriteRow(tenant_id=tenant_id, turn_id=turn_id, **written))

    with transaction() as db:
        erase_conversation(db, tenant_id, "c1")

    with transaction() as db:
        left = [db.scalars(select(table.conversation_id)).all() for table in (HoldRow, NoteRow)]
        values = {row.key: row.value for row in db.scalars(select(SimWriteRow))}
    assert (left, values) == ([["c2"], ["c2"]], {"c1": None, "c2": "secret"})


def test_each_pack_that_knows_conversations_erases_them() -> None:
    """A pack with a table that names conversations has a function to erase them."""
    silent = []
    for pack in shipped_packs():
        pack.part("tables")
        names = {mapper.class_.__module__ for mapper in Row.registry.mappers if "conversation_id" in mapper.columns}
        if f"{pack.module}.tables" in names and not hasattr(pack.part("store"), "erase"):
            silent.append(pack.name)

    assert silent == []


def test_nothing_is_erased_while_a_pack_is_missing() -> None:
    """The tables of a missing pack may have more of it, so a process without the pack does not erase half."""
    tenant_id = make_tenant()
    work(open_turn(tenant_id, conversation_id="c1").turn_id)
    owner_url = settings().owner_database_url
    assert owner_url
    with psycopg.connect(owner_url) as db:
        db.execute("INSERT INTO alembic_version VALUES ('acme_0001')")

    with transaction() as db, pytest.raises(Unavailable, match="tables of acme"):
        erase_conversation(db, tenant_id, "c1")


def written_by(tenant_id: UUID, person: str, conversation_id: str, *, is_final: bool = True) -> None:
    turn_id = open_turn(
        tenant_id, f"secret of {person}", conversation_id=conversation_id, user=User(id=person, name=f"secret {person}")
    ).turn_id
    if is_final:
        work(turn_id)


def rows_with(needle: str) -> list[str]:
    """Return the names of all tables that hold a text."""
    with transaction() as db:
        tables = db.scalars(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).all()
        return [
            name for name in tables if db.scalar(text(f"SELECT count(*) FROM {name} t WHERE t::text LIKE '%{needle}%'"))
        ]


def test_a_user_is_erased_from_every_table() -> None:
    """Also from conversations that others have gone on with. What others wrote elsewhere stays."""
    tenant_id = make_tenant()
    for person, conversation_id in (("noa", "c1"), ("noa", "c2"), ("dan", "c2"), ("dan", "c3")):
        written_by(tenant_id, person, conversation_id)
    with transaction() as db:
        for person in ("noa", "dan"):
            put_user(db, tenant_id, person, Profile(name=f"secret {person}"))
        connect(db, tenant_id, "noa", "dan")
        notify(
            db,
            tenant_id,
            Notice(user_id="noa", kind="k", title="secret noa", body="secret noa", about={}, conversation_id=None),
        )

    with transaction() as db:
        erased = erase_user(db, tenant_id, "noa")

    assert erased == 2
    assert rows_with("secret of noa") == rows_with("secret noa") == []
    assert rows_with("secret of dan") != []
    with transaction() as db, pytest.raises(NotFound):
        erase_user(db, tenant_id, "noa")


def test_a_user_in_work_is_not_erased() -> None:
    """All or nothing: no other conversation is erased either."""
    tenant_id = make_tenant()
    written_by(tenant_id, "noa", "c1")
    written_by(tenant_id, "noa", "c2", is_final=False)

    with pytest.raises(Conflict), transaction() as db:
        erase_user(db, tenant_id, "noa")

    assert "turns" in rows_with("secret of noa")
