"""What language models were sent and answered is kept once, read whole, and removed with what it belongs to."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from tests.factories import make_tenant, record_plan, step
from tests.models.ledger.recorded import (
    MADE,
    RULES,
    claimed,
    complete,
    count,
    erase,
    finish,
    finished,
    made,
    prune,
    read,
    said,
    texts,
)
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import conversations, recordings, usage
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.models.runtime.ids import first_id
from turnloom.tools.erasure import erase_user

pytestmark = pytest.mark.usefixtures("database")

_READ = """
SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid)) FROM pg_index WHERE indrelid = 'recorded_texts'::regclass"""
"""The entries of the indexes that a transaction has read."""


def test_calls_are_read_as_they_were_made() -> None:
    """Those of the plan come before those of the reply, and a failed one has its error in place of an answer."""
    turn = claimed(make_tenant())
    record_plan(turn, step("a"), calls=[made("hello", answer=None, finish_reason="llm_timeout"), made("hello")])
    with statement() as db:
        usage.record(db, turn.id, [made("hello", "{}", "again", answer="done", purpose="reply")])

    failed, plan, reply = read(turn)

    assert [call.seq for call in (failed, plan, reply)] == [1, 2, 3]
    assert (failed.answer, failed.error, failed.finish_reason) == (
        None,
        "the language model did not answer in time",
        "llm_timeout",
    )
    assert said(plan) == [("system", RULES), ("user", "hello")]
    assert (plan.answer, plan.response_schema, plan.now) == ("{}", {"title": "plan"}, "2026-11-25T21:30:00+02:00")
    assert plan.parameters == {"model": "gpt-4o", "temperature": 0.1, "form": "schema"}
    assert said(reply)[1:] == [("user", "hello"), ("assistant", "{}"), ("user", "again")]
    assert (reply.purpose, reply.answer) == ("reply", "done")


def test_a_text_is_stored_once() -> None:
    """Rules and schema once for the tenant, a message once for its conversation, an answer that is repeated too."""
    tenant_id = make_tenant()
    finished(tenant_id, made("hello"), made("hello", "{}", "repair it"), conversation_id="c1")
    finished(tenant_id, made("hello", "{}", "and now?", answer="later"), conversation_id="c1")
    finished(tenant_id, made("hello", answer=None), conversation_id="c2")

    assert texts() == [
        ("", "schema"),
        ("", "system"),
        *[("c1", "assistant")] * 2,
        *[("c1", "user")] * 3,
        ("c2", "user"),
    ]
    assert complete()


@pytest.mark.new_database
def test_the_texts_of_other_conversations_are_not_read() -> None:
    """A connection that planned its statements for an empty table keeps these plans."""
    tenant_id = make_tenant()
    for number in range(40):
        finished(tenant_id, made(f"hello {number}"), conversation_id=f"c{number}")
    turn = claimed(tenant_id, conversation_id="another")
    with statement() as db, db.transaction():
        (before,) = db.execute(_READ).fetchone() or (0,)
        usage.record(db, turn.id, [made("hello", "{}", "again", answer="done")])
        (after,) = db.execute(_READ).fetchone() or (0,)

    assert after - before <= 6


def test_calls_without_recordings_are_counted_only() -> None:
    """They keep their place among the others."""
    turn = finished(make_tenant(), MADE, made("hello"))

    assert [call.seq for call in read(turn)] == [2]
    assert count("llm_calls") == 2


def test_another_tenants_texts_are_its_own() -> None:
    """Equal texts of two tenants are two, and each has its calls whole."""
    first, second = (finished(make_tenant(name), made("hello")) for name in ("acme", "other"))

    assert said(read(first)[0]) == said(read(second)[0])
    assert count("recorded_texts") == 8
    erase(first.tenant_id, first.conversation_id)
    assert said(read(second)[0]) == [("system", RULES), ("user", "hello")]


def test_erasing_a_conversation_leaves_what_others_have() -> None:
    """Its calls and texts go in the same commit; rules and schema go with the last conversation that has them."""
    tenant_id = make_tenant()
    finished(tenant_id, made("hello"), made("only here", rules="other rules"), conversation_id="c1")
    stays = finished(tenant_id, made("hello"), conversation_id="c2")

    erase(tenant_id, "c1")

    assert texts() == [("", "schema"), ("", "system"), ("c2", "assistant"), ("c2", "user")]
    assert said(read(stays)[0]) == [("system", RULES), ("user", "hello")]
    erase(tenant_id, "c2")
    assert (texts(), count("recorded_calls"), count("llm_calls")) == ([], 0, 3)


def test_what_is_recorded_after_the_erasure_has_no_texts() -> None:
    """A call that nobody had recorded yet, such as that of a summary, is counted and brings no text back."""
    tenant_id = make_tenant()
    turn = finished(tenant_id, made("hello"), conversation_id="c1")
    erase(tenant_id, "c1")

    with statement() as db:
        usage.record(db, turn.id, [made("hello", purpose="summary")])

    assert (texts(), count("recorded_calls"), count("llm_calls")) == ([], 0, 2)


def test_erasing_a_user_erases_their_recordings() -> None:
    """All their conversations in one commit."""
    tenant_id = make_tenant()
    for conversation_id in ("c1", "c2"):
        finished(tenant_id, made("hello"), conversation_id=conversation_id, user={"id": "u1"})

    with transaction() as db:
        erased = erase_user(db, tenant_id, "u1")

    assert (erased, texts()) == (2, [])


def test_old_recordings_are_pruned_and_their_turns_stay() -> None:
    """Texts that a younger turn has too stay, and so does the whole conversation while one of its turns is in work."""
    tenant_id = make_tenant()
    old = finished(tenant_id, made("hello", answer="old"), conversation_id="c1")
    young = claimed(tenant_id, conversation_id="c1")
    in_work = prune(tenant_id, "c1", young.id)
    finish(young, made("hello", answer="young"))

    removed = prune(tenant_id, "c1", young.id)

    assert (in_work, removed) == (0, 1)
    assert read(old) == []
    assert (read(young)[0].answer, count("llm_calls")) == ("young", 2)
    assert texts() == [("", "schema"), ("", "system"), ("c1", "assistant"), ("c1", "user")]
    assert prune(tenant_id, "c1", first_id(datetime.now(UTC) + timedelta(days=1))) == 1
    assert texts() == []


def test_conversations_with_old_recordings_are_found() -> None:
    """Of all tenants, each once, and only those."""
    for name, conversation_id in (("acme", "c1"), ("acme", "c2"), ("other", "c1")):
        finished(make_tenant(name), made("hello"), made("hello"), conversation_id=conversation_id)
    bound = first_id(datetime.now(UTC) + timedelta(days=1))
    finished(make_tenant(), conversation_id="c3")

    with transaction() as db:
        found = recordings.aged(db, bound, 10)
        fewer = recordings.aged(db, bound, 2)
        none = recordings.aged(db, first_id(datetime.now(UTC) - timedelta(days=1)), 10)

    assert sorted(conversation_id for _, conversation_id in found) == ["c1", "c1", "c2"]
    assert len({tenant_id for tenant_id, _ in found}) == 2
    assert (len(fewer), none) == (2, [])


def test_a_turn_that_ends_while_shared_texts_are_removed_keeps_its_own() -> None:
    """It does not wait for whoever removes them, and its call is whole afterwards."""
    tenant_id = make_tenant()
    finished(tenant_id, made("hello"), conversation_id="c1")
    turn = claimed(tenant_id, conversation_id="c2")
    with transaction() as db:
        conversations.erase(db, tenant_id, "c1")
        with ThreadPoolExecutor(1) as other:
            other.submit(finish, turn, made("hi")).result(10)

    assert said(read(turn)[0]) == [("system", RULES), ("user", "hi")]
    assert {conversation_id for conversation_id, _ in texts()} == {"c2"}
    erase(tenant_id, "c2")
    assert texts() == []


def test_turns_and_erasures_at_the_same_time_leave_nothing_behind() -> None:
    """Whatever their order: no call loses a text, and no text outlives its calls."""
    tenant_id = make_tenant()
    ready = [claimed(tenant_id, conversation_id=f"c{number}") for number in range(24)]
    start = threading.Barrier(8)

    def work(share: list[ClaimedTurn]) -> None:
        start.wait()
        for turn in share:
            number = int(turn.conversation_id[1:])
            finish(turn, made("hello", rules=f"rules {number % 3}"), made("again", rules=f"rules {number % 5}"))
            if number % 2:
                erase(tenant_id, turn.conversation_id)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, ready[place::8]) for place in range(8)]:
            done.result(60)

    assert complete()
    assert count("recorded_calls") == 24
    assert [len(read(turn)) for turn in ready] == [2, 0] * 12
