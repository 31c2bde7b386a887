"""A recorded turn is found with as much of its conversation as is asked for."""

from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import make_tenant, open_turn, work
from turnloom.models.connections.database import transaction
from turnloom.models.errors import Conflict
from turnloom.workers.replay.recorded_turns import recorded_turn

pytestmark = pytest.mark.usefixtures("database")


def answered(tenant_id: UUID, count: int) -> list[UUID]:
    """Return the turns of a conversation that have ended."""
    opened = []
    for number in range(1, count + 1):
        turn_id = open_turn(tenant_id, f"message {number}", conversation_id="c1").turn_id
        assert turn_id is not None
        work(turn_id)
        opened.append(turn_id)
    return opened


def test_only_so_many_turns_before_it_are_read() -> None:
    """And none after it: a long conversation is not read whole for one of its turns."""
    tenant_id = make_tenant()
    _, _, third, _ = answered(tenant_id, 4)

    found = [recorded_turn(tenant_id, str(third), earlier=number) for number in (0, 1, 7)]
    whole, turn = recorded_turn(tenant_id, str(third))

    assert [[each.seq for each in conversation.turns] for conversation, _ in found] == [[3], [2, 3], [1, 2, 3]]
    assert {each.turn_id for _, each in found} == {turn.turn_id} == {str(third)}
    assert [each.seq for each in whole.turns] == [1, 2, 3, 4]


def test_its_id_may_be_spelled_in_other_ways() -> None:
    """In capitals, or without hyphens as a trace has it. What is found has the usual spelling."""
    tenant_id = make_tenant()
    (turn_id,) = answered(tenant_id, 1)

    found = [recorded_turn(tenant_id, spelled)[1] for spelled in (str(turn_id).upper(), turn_id.hex)]

    assert [each.turn_id for each in found] == [str(turn_id)] * 2


def test_why_a_turn_cannot_be_run_again_is_told() -> None:
    """It has not ended, or has no reply of an agent's own."""
    tenant_id = make_tenant()
    opened = open_turn(tenant_id).turn_id
    assert opened is not None

    with pytest.raises(Conflict, match="has not ended") as refused:
        recorded_turn(tenant_id, str(opened), earlier=0)
    work(opened)
    with transaction() as db:
        db.execute(text("UPDATE turns SET author = 'Dana'"))
    with pytest.raises(Conflict, match="Dana wrote its reply"):
        recorded_turn(tenant_id, str(opened), earlier=0)

    assert refused.value.code == "turn_not_finished"
