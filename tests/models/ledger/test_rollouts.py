"""A rollout gives some conversations its text, for as long as it runs."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest

from tests.factories import make_tenant
from tests.facts import wait_for
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.rollout import RolloutRequest, RunningRollout, bucket
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger import overrides, rollouts
from turnloom.models.ledger.override_cache import overrides_of, read_overrides
from turnloom.models.ledger.rollouts import AT_ONCE, RolloutEnd

CONVERSATIONS = [f"c{number}" for number in range(64)]


def start(tenant_id: UUID, name: str = "styles/brief", share: float = 0.5) -> UUID:
    asked = RolloutRequest(name=name, text="new", share=share)
    with transaction() as db:
        return rollouts.start(db, tenant_id, asked, "new", "ada").id


def end(tenant_id: UUID, rollout_id: UUID, outcome: str) -> None:
    with transaction() as db:
        rollouts.end_by_hand(db, tenant_id, rollout_id, RolloutEnd(outcome, "bo"))  # type: ignore[arg-type]


def text_of(tenant_id: UUID, conversation_id: str | None, name: str = "styles/brief") -> str | None:
    own = overrides_of(tenant_id, conversation_id).texts.get(name)
    return own and own.text


def taken(tenant_id: UUID) -> set[str]:
    return {each for each in CONVERSATIONS if text_of(tenant_id, each) == "new"}


def test_a_share_of_conversations_gets_the_text(database: str) -> None:
    """It depends on the id alone, and what belongs to no conversation keeps the old text. Promoted, all have it."""
    acme, other = make_tenant(), make_tenant("other")
    with transaction() as db:
        overrides.write(db, acme, "styles/brief", "old", "ada")
    assert text_of(acme, "c1") == "old"
    rollout_id = start(acme)
    expected = {each for each in CONVERSATIONS if bucket(rollout_id, each) < 2**31}

    wait_for(lambda: taken(acme) == expected, within_s=10)
    assert 0 < len(expected) < len(CONVERSATIONS)
    assert text_of(acme, None) == "old"
    assert text_of(other, min(expected)) is None
    assert read_overrides(acme).texts["styles/brief"].text == "old"
    end(acme, rollout_id, "promoted")
    wait_for(lambda: taken(acme) == set(CONVERSATIONS), within_s=10)
    assert text_of(acme, None) == "new"


def test_stopped_it_gives_nobody_its_text(database: str) -> None:
    """All conversations fall to the old text, and the history tells who ended it."""
    acme = make_tenant()
    rollout_id = start(acme)
    wait_for(lambda: taken(acme) != set(), within_s=10)

    end(acme, rollout_id, "stopped")

    wait_for(lambda: taken(acme) == set(), within_s=10)
    with transaction() as db:
        (row,) = rollouts.listed(db, acme, 10)
    assert (row.outcome, row.ended_by, row.created_by) == ("stopped", "bo", "ada")


def test_conversations_with_the_same_rollouts_share_an_object(database: str) -> None:
    """Callers cache what they make of it: several rollouts make as many objects as there are combinations."""
    acme = make_tenant()
    start(acme)
    start(acme, "styles/default")

    wait_for(lambda: len({id(overrides_of(acme, each)) for each in CONVERSATIONS}) == 4, within_s=10)


def test_shares_are_kept_and_independent() -> None:
    """About as many conversations are taken as asked for, and one rollout says nothing about another."""
    first, second = (RunningRollout(UUID(int=number), "a", "", 0.25) for number in (1, 2))
    many = [f"conversation {number}" for number in range(4_000)]

    both = [(first.takes(each), second.takes(each)) for each in many]

    assert 900 < sum(one for one, _ in both) < 1_100
    assert 200 < sum(one and other for one, other in both) < 300


def test_one_of_a_name_runs_at_a_time(database: str) -> None:
    """Of several that start at once one wins, and so it is until it ends. The number of all is bounded."""
    acme = make_tenant()

    def try_to_start(_: int) -> UUID | None:
        try:
            return start(acme)
        except Conflict:
            return None

    with ThreadPoolExecutor(4) as pool:
        (first,) = filter(None, pool.map(try_to_start, range(8)))
    with pytest.raises(Conflict, match=str(first)):
        start(acme)
    end(acme, first, "stopped")
    with pytest.raises(Conflict, match="stopped"):
        end(acme, first, "promoted")
    for number in range(AT_ONCE):
        start(acme, f"styles/s{number}")
    with pytest.raises(Conflict, match=f"{AT_ONCE} rollouts"):
        start(acme)


def test_a_rollout_is_its_tenants_own(database: str) -> None:
    """Another tenant neither finds it nor ends it."""
    acme, other = make_tenant(), make_tenant("other")
    rollout_id = start(acme)

    with pytest.raises(NotFound):
        end(other, rollout_id, "stopped")
    with pytest.raises(NotFound):
        end(acme, uuid4(), "stopped")
    with transaction() as db:
        assert rollouts.listed(db, other, 10) == []
        assert [each.id for each in rollouts.running(db, acme)] == [rollout_id]
