"""In the ledger, a call that waits for a person holds nothing and is decided once."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import open_turn, running_turn, step
from tests.models.ledger.parking import APPROVED, ask, change, decide, find_lapsed, lapse, row
from tests.models.ledger.stopping import claim, close, record, statuses, view
from turnloom.models.connections.database import transaction
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger import audit, backlog, cancellation, conversations, recovery
from turnloom.models.runtime.settings import ROOT

pytestmark = pytest.mark.usefixtures("database")


def waiting_turn(*others: dict[str, object], **request: object) -> UUID:
    """Return a turn whose step `w` waits for approval."""
    turn = running_turn(APPROVED, *others, **request)
    claim(turn.id, "w")
    assert ask(turn.id).verdict == "asked"
    return turn.id


def kinds(turn_id: UUID) -> list[str]:
    turn = view(turn_id)
    with transaction() as db:
        assert audit.verify(db, turn.tenant_id, turn.conversation_id) == []
        return [record.kind for record in audit.page(db, turn.tenant_id, turn.conversation_id, 0, 100)]


def test_a_call_that_waits_holds_nothing() -> None:
    """It holds no lease and no worker. Its turn waits, is not late and in no backlog, and recovery leaves it alone."""
    turn_id = waiting_turn(step("after", "w"))
    change("UPDATE turns SET deadline_at = deadline_at - interval '1 d', compiled_at = compiled_at - interval '1 d'")

    asked = row(turn_id)
    with transaction() as db:
        found = [cancellation.find_late(db, timedelta(0), 10), recovery.find_lost(db, timedelta(0), [], 10)]
        in_work = backlog.count(db, 10)

    assert (view(turn_id).status, statuses(turn_id)) == (
        "waiting_approval",
        {"w": "waiting_approval", "after": "pending"},
    )
    assert (asked.lease_until, asked.worker, asked.started_at, asked.attempt) == (None, None, None, 1)
    assert (found, in_work) == ([[], []], {})


def test_a_request_shows_what_it_is_about() -> None:
    """The row holds the arguments, the event masks them, and the audit chain has their hash."""
    turn = running_turn(APPROVED)
    claim(turn.id, "w")

    answer = ask(turn.id)

    (event,) = answer.events
    asked = row(turn.id).approval
    assert asked is not None
    assert (asked["args"], asked["args_hash"]) == ({"value": 7}, "h")
    assert (event.type, event.data["args"], event.data["args_hash"]) == ("approval.requested", {"value": "***"}, "h")
    assert event.data["lapses_at"] == asked["lapses_at"]
    assert kinds(turn.id)[-1] == "approval.requested"


def test_copies_of_messages_start_nothing_that_waits() -> None:
    """A claim is refused, and so is any record under the old fence, whether the whole turn waits or only this step."""
    waits, runs = waiting_turn(), waiting_turn(step("r"), conversation_id="c2")

    verdicts = [claim(turn_id, "w").verdict for turn_id in (waits, runs)]

    assert verdicts == ["closed", "busy"]
    assert record(waits, "w").fenced == ["w"]
    assert ask(waits).verdict == "fenced"
    assert row(waits).attempt == 1


def test_an_approved_call_may_be_made_with_these_arguments_and_no_others() -> None:
    """The step is claimed again. With the same hash it is approved; with another hash it waits again."""
    turn_id = waiting_turn()
    decide(turn_id)
    claimed = claim(turn_id, "w")

    same = ask(turn_id, attempt=2)
    other = ask(turn_id, attempt=2, hash_="other")

    assert claimed.verdict == "claimed"
    assert (same.verdict, other.verdict) == ("approved", "asked")
    assert (row(turn_id).approval or {}).keys() == {"args", "shown", "args_hash", "asked_at", "lapses_at"}
    assert view(turn_id).status == "waiting_approval"


def test_waiting_stops_the_deadline() -> None:
    """The deadline moves by the time that the whole turn waited, whatever ended the wait."""
    turns = {name: waiting_turn(conversation_id=name) for name in ("approve", "reject", "cancel")}
    before = {name: view(turn_id).deadline_at for name, turn_id in turns.items()}
    change("UPDATE turns SET waiting_since = waiting_since - interval '1 h'")

    decide(turns["approve"])
    decide(turns["reject"], "reject")
    close(turns["cancel"])

    moved = [view(turn_id).deadline_at - before[name] for name, turn_id in turns.items()]
    assert all(timedelta(hours=1) <= by < timedelta(hours=1, seconds=30) for by in moved)
    assert [view(turn_id).waiting_since for turn_id in turns.values()] == [None] * 3


def test_a_turn_waits_only_when_nothing_else_of_it_can_go_on() -> None:
    """A read beside the step keeps the turn and its deadline running. When it has ended, the turn waits."""
    turn = running_turn(APPROVED, step("r"), step("after", "w", "r"))
    claim(turn.id, "w")
    ask(turn.id)
    seen = [view(turn.id).status]
    claim(turn.id, "r")
    seen.append(view(turn.id).status)

    record(turn.id, "r")

    assert [*seen, view(turn.id).status] == ["running", "running", "waiting_approval"]
    decide(turn.id)
    assert (view(turn.id).status, statuses(turn.id)["w"]) == ("running", "pending")


def test_two_requests_of_a_turn_are_decided_one_by_one() -> None:
    """After the first decision the turn runs. It waits again when only the second is left."""
    turn = running_turn(APPROVED, {**APPROVED, "id": "v"})
    for name in "wv":
        claim(turn.id, name)
        ask(turn.id, name)

    decide(turn.id, "reject")
    waits = view(turn.id).status
    rejected = decide(turn.id, "reject", "v")

    assert (waits, view(turn.id).status) == ("waiting_approval", "responding")
    assert rejected.respond == view(turn.id).attempt


def test_a_rejected_call_has_failed() -> None:
    """Its error says who rejected it and why. Steps that need it are skipped. The chain has the decision."""
    turn_id = waiting_turn(step("after", "w"), step("anyway", "w", on_need_error="run"))

    decided = decide(turn_id, "reject", reason="too dear")

    error = row(turn_id).error or {}
    assert (error["code"], error["message"].endswith(": too dear")) == ("REJECTED", True)
    assert statuses(turn_id) == {"w": "failed", "after": "skipped", "anyway": "pending"}
    assert [(event.type, event.data["step"]) for event in decided.events] == [
        ("step.finished", "w"),
        ("step.finished", "after"),
    ]
    assert (decided.respond, view(turn_id).status, view(turn_id).open_steps) == (None, "running", 1)
    assert kinds(turn_id)[-1] == "approval.decided"


def test_a_rejection_stops_a_turn_that_stops_at_the_first_failure() -> None:
    """With `fail_fast` no other step begins, and another call that waits is cancelled."""
    turn = running_turn(APPROVED, {**APPROVED, "id": "v"}, on_error="fail_fast")
    for name in "wv":
        claim(turn.id, name)
        ask(turn.id, name)

    decided = decide(turn.id, "reject")

    assert statuses(turn.id) == {"w": "failed", "v": "cancelled"}
    assert decided.respond == view(turn.id).attempt


def test_the_first_decision_counts() -> None:
    """The same decision again changes nothing and gets the same answer. The opposite one is a conflict."""
    turn_id = waiting_turn()
    first = decide(turn_id, reason="fine")

    again = decide(turn_id, reason="as I said")

    assert (again.approval, again.is_new, again.events) == (first.approval, False, [])
    with pytest.raises(Conflict) as caught:
        decide(turn_id, "reject")
    assert caught.value.code == "decided_otherwise"
    assert kinds(turn_id).count("approval.decided") == 1


def _not_asked(_: UUID) -> None: ...


def _cancelled(turn_id: UUID) -> None:
    claim(turn_id, "w")
    ask(turn_id)
    close(turn_id)


@pytest.mark.parametrize("arrange", [_not_asked, _cancelled])
def test_only_what_waits_is_decided(arrange: Callable[[UUID], None]) -> None:
    """A step that has not asked, or whose turn was stopped meanwhile, stays as it is."""
    turn = running_turn(APPROVED)
    arrange(turn.id)
    before = statuses(turn.id)

    with pytest.raises(Conflict) as caught:
        decide(turn.id)

    assert (caught.value.code, statuses(turn.id)) == ("not_waiting", before)
    with pytest.raises(NotFound):
        decide(turn.id, name="nobody")


def test_an_undecided_request_lapses() -> None:
    """A request lapses at its time and not before. It is then rejected, once, and an approval comes too late."""
    turn_id = waiting_turn()
    early = (find_lapsed(), lapse(turn_id))
    change("UPDATE steps SET lapses_at = clock_timestamp() - interval '1 s'")

    found, lapsed, again = find_lapsed(), lapse(turn_id), lapse(turn_id)

    assert early == ([], None)
    assert found == [(turn_id, "w")]
    assert lapsed is not None
    assert (lapsed.approval.decision, lapsed.approval.by, again, find_lapsed()) == ("reject", None, None, [])
    assert "in time" in (row(turn_id).error or {})["message"]
    with pytest.raises(Conflict):
        decide(turn_id)


def test_stopping_a_turn_ends_what_waits() -> None:
    """The step is cancelled, the reply is due, and the approval does not lapse later."""
    turn_id = waiting_turn(step("after", "w"))

    closed = close(turn_id)

    assert closed is not None
    assert (closed.respond, statuses(turn_id)) == (view(turn_id).attempt, {"w": "cancelled", "after": "cancelled"})
    assert (view(turn_id).open_steps, find_lapsed()) == (0, [])


def test_a_turn_that_is_stopped_before_it_asks() -> None:
    """The worker of a write under way learns that the call must not be made, and ends the step."""
    turn = running_turn(APPROVED)
    claim(turn.id, "w")
    close(turn.id)

    assert ask(turn.id).verdict == "closed"


def test_the_next_message_interrupts_a_turn_that_waits() -> None:
    """A call that waits has done nothing, so `auto` interrupts its turn."""
    turn_id = waiting_turn()

    second = open_turn(view(turn_id).tenant_id, "never mind")

    assert (view(turn_id).ending, view(turn_id).superseded_by) == ("superseded", second.turn_id)


def test_a_claim_that_was_given_back_is_no_lost_worker() -> None:
    """Attempts that were parked do not count as attempts that killed a worker."""
    turn_id = waiting_turn()
    decide(turn_id)
    claim(turn_id, "w")
    change("UPDATE steps SET lease_until = '-infinity'")

    with transaction() as db:
        recovery.reclaim(db, turn_id, 2, 6_000)

    assert (row(turn_id).status, row(turn_id).attempt) == ("pending", 2)


def test_the_page_about_it_names_its_codes() -> None:
    """The page on approvals explains each error code."""
    page = (ROOT / "docs" / "how-to" / "approvals.md").read_text("utf-8")

    assert [code for code in ("not_waiting", "decided_otherwise", "REJECTED") if f"`{code}`" not in page] == []


def test_erasing_a_conversation_erases_what_was_shown() -> None:
    """The arguments and the reason are erased. The chain stays whole and ends with a record of the erasure."""
    turn_id = waiting_turn()
    closed = close(turn_id)
    assert closed is not None
    change("UPDATE turns SET status = 'cancelled'")
    change("UPDATE conversations SET active_turn_id = NULL")
    turn = view(turn_id)

    with transaction() as db:
        conversations.erase(db, turn.tenant_id, turn.conversation_id)

    assert row(turn_id).approval is None
    with transaction() as db:
        left = db.scalars(text("SELECT kind FROM audit WHERE content IS NOT NULL AND conversation_id <> ''")).all()
    assert left == ["conversation.erased"]
    assert "approval.requested" in kinds(turn_id)
