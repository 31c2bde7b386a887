"""Slots for the language model are limited in all and per tenant. A turn that finds none waits without a thread."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from uuid import UUID

from turnloom.models.ledger.free_llm_slots import LlmRoom
from turnloom.models.runtime.ids import new_id
from turnloom.workers.turns.llm_slots import LlmSlots

ONE, OTHER = new_id(), new_id()


class Turns:
    """Turns that take slots, and the turns whose message was sent again."""

    def __init__(self, total: int, per_tenant: int) -> None:
        self.slots = LlmSlots(total, per_tenant)
        self.sent: list[UUID] = []
        self.held: list[UUID] = []

    def begin(self, tenant_id: UUID, turn_id: UUID) -> ExitStack | None:
        """Take a slot until the returned stack is closed. Return None if the turn waits."""
        stack = ExitStack()
        slot = self.slots.slot(tenant_id, turn_id, lambda: self.sent.append(turn_id), self._holding(turn_id))
        return stack if stack.enter_context(slot) else None

    @contextmanager
    def _holding(self, turn_id: UUID) -> Iterator[None]:
        self.held.append(turn_id)
        yield
        self.held.remove(turn_id)


def test_one_tenant_leaves_slots_for_others() -> None:
    """Over its limit a tenant's turn waits, while another tenant's begins."""
    turns = Turns(total=3, per_tenant=2)
    begun = [turns.begin(tenant, new_id()) for tenant in (ONE, ONE, ONE, OTHER, OTHER)]

    assert [each is not None for each in begun] == [True, True, False, True, False]


def test_a_waiting_turn_is_sent_again_when_a_slot_is_free() -> None:
    """The first turn that may have the slot gets it. The hold on a turn is released before its message is sent."""
    turns = Turns(total=2, per_tenant=1)
    first, second, third = new_id(), new_id(), new_id()
    running, another = turns.begin(ONE, new_id()), turns.begin(OTHER, new_id())
    for tenant, turn_id in ((ONE, first), (OTHER, second), (ONE, third)):
        turns.begin(tenant, turn_id)
    assert (turns.held, turns.sent) == ([first, second, third], [])

    assert another is not None
    another.close()
    assert (turns.held, turns.sent) == ([first, third], [second])

    assert running is not None
    running.close()
    assert turns.sent == [second, first]


def test_a_turn_waits_once_however_often_it_comes() -> None:
    """The message of a waiting turn may come twice. The last one counts."""
    turns = Turns(total=1, per_tenant=1)
    turn_id, running = new_id(), turns.begin(ONE, new_id())
    turns.begin(ONE, turn_id)
    turns.begin(ONE, turn_id)
    assert turns.held == [turn_id]

    assert running is not None
    running.close()
    assert (turns.sent, turns.held) == ([turn_id], [])


def test_optional_work_does_not_wait() -> None:
    """Without a message to send again, the work is left out."""
    slots = LlmSlots(total=1, per_tenant=1)
    with slots.slot(ONE, new_id(), None) as has, slots.slot(ONE, new_id(), None) as has_too:
        assert (has, has_too) == (True, False)


def test_a_turn_being_claimed_counts_for_every_tenant() -> None:
    """Until its claim names its tenant, a turn counts for every tenant, so that none gets more than its slots."""
    slots = LlmSlots(total=3, per_tenant=2)
    sent: list[UUID] = []
    first, second, third = new_id(), new_id(), new_id()
    with (
        slots.claiming(first, lambda: sent.append(first)) as one,
        slots.claiming(second, lambda: sent.append(second)) as two,
    ):
        one.take(ONE)
        with slots.claiming(third, lambda: sent.append(third)) as three:
            rooms = [each.room for each in (one, two, three)]
            three.wait(ONE)
        before = list(sent)
        two.take(OTHER)

        assert rooms == [LlmRoom(), LlmRoom(), LlmRoom(crowded=(ONE,))]
        assert (before, sent) == ([], [third])


def test_all_slots_may_be_taken() -> None:
    """While all slots are taken, only turns that need no slot are claimed."""
    turns = Turns(total=1, per_tenant=1)
    running = turns.begin(ONE, new_id())
    with turns.slots.claiming(new_id(), lambda: None) as claiming:
        room = claiming.room

    assert running is not None
    assert room == LlmRoom(may_draft=False, crowded=(ONE,))
