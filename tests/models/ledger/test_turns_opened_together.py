"""Messages opened in one commit end up as if each had come alone. None waits for another."""

import random
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.factories import make_tenant, open_turn
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.turn import TurnRequest
from turnloom.models.ledger import audit, conversations, turns
from turnloom.models.ledger.turns import NewTurn, OpenedTurn
from turnloom.models.runtime.ids import new_id
from turnloom.models.schema.functions import of_this_version

pytestmark = pytest.mark.usefixtures("database")


def _message(conversation_id: str, *, body: bytes = b"body", **request: Any) -> NewTurn:
    return NewTurn(
        id=new_id(),
        tenant_id=make_tenant(),
        conversation_id=conversation_id,
        channel="api",
        body_hash=body,
        default_agent="generic",
        deadline_ms=60_000,
        request=TurnRequest(message="hello", **request),
    )


def _open(*news: NewTurn) -> list[OpenedTurn]:
    with statement() as db:
        return turns.open_turns(db, news)


@pytest.fixture
def elsewhere(database: str) -> Iterator[psycopg.Connection]:
    """A transaction of another client."""
    with psycopg.connect(database) as connection:
        yield connection


def test_messages_are_opened_in_one_commit() -> None:
    """Each gets its own turn. Conversations are made in a fixed order, so two commits cannot block each other."""
    news = [_message(name) for name in ("c2", "c3", "c1")]

    opened = _open(*news)

    with statement() as db:
        commits = db.execute("SELECT count(DISTINCT xmin::text), count(*) FROM turns").fetchone()
        made = db.execute("SELECT string_agg(id, ' ' ORDER BY created_at) FROM conversations").fetchone()
    assert [(each.outcome, each.turn_id, each.conversation_id, each.seq) for each in opened] == [
        ("opened", new.id, new.conversation_id, 1) for new in news
    ]
    assert (commits, made) == ((1, 3), ("c1 c2 c3",))


def test_a_message_is_recognised_in_the_same_commit() -> None:
    """The same id gives the same turn within a commit too. With another body it is refused."""
    first, again, other = (
        _message(name, message_id="m1", body=body) for name, body in (("c1", b"x"), ("c2", b"x"), ("c3", b"y"))
    )

    opened = _open(first, again, other)

    assert [each.outcome for each in opened] == ["opened", "repeated", "mismatched"]
    assert {each.turn_id for each in opened} == {first.id}


def test_a_message_to_a_busy_conversation_is_left() -> None:
    """This also holds if the other turn was opened just before. Nothing of the message is recorded."""
    tenant_id = make_tenant()
    open_turn(tenant_id, conversation_id="c1")

    opened = _open(_message("c1"), _message("c2"), _message("c2"))

    with transaction() as db:
        recorded = [len(conversations.turns_of(db, tenant_id, name, 0, 9)) for name in ("c1", "c2")]
    assert [each.outcome for each in opened] == ["later", "opened", "later"]
    assert recorded == [1, 1]


def test_what_another_transaction_holds_is_left(elsewhere: psycopg.Connection) -> None:
    """No commit waits for a conversation or a message that another transaction holds."""
    open_turn(make_tenant(), conversation_id="c1", message_id="m0")
    with statement() as db:
        db.execute("UPDATE conversations SET active_turn_id = NULL")
    elsewhere.execute("SELECT FROM conversations FOR UPDATE")
    elsewhere.execute(
        of_this_version(
            "SELECT pg_advisory_xact_lock(hot.message_lock(jsonb_populate_record(null::turns,"
            " jsonb_build_object('tenant_id', %s::text, 'channel', 'api', 'message_id', 'm2'))))"
        ),
        (make_tenant(),),
    )

    opened = _open(_message("c1"), _message("c2", message_id="m2"), _message("c3", message_id="m3"))

    assert [each.outcome for each in opened] == ["later", "later", "opened"]


def test_commits_do_not_block_each_other() -> None:
    """Parallel commits to the same new conversations lose and double nothing.

    The messages come in any order, with ids that repeat. A message that a commit leaves is opened by itself. Every
    conversation counts its turns without a gap.
    """
    rng, tenant = random.Random(7), make_tenant()
    policies = ("enqueue", "interrupt", "merge")
    messages = [
        _message(f"c{n // 20}-{rng.randrange(8)}", message_id=f"m{n - n % 3}", on_busy=rng.choice(policies))
        for n in range(240)
    ]
    rng.shuffle(messages)

    def send(some: list[NewTurn]) -> list[OpenedTurn]:
        with statement() as db:
            told = zip(some, turns.open_turns(db, some), strict=True)
            return [turns.open_turn(db, new) if each.outcome == "later" else each for new, each in told]

    with ThreadPoolExecutor(8) as threads:
        told = [each for some in threads.map(send, [messages[n : n + 10] for n in range(0, 240, 10)]) for each in some]

    turn_of: dict[str | None, set[Any]] = defaultdict(set)
    for new, each in zip(messages, told, strict=True):
        turn_of[new.request.message_id].add(each.turn_id)
    assert {each.outcome for each in told} <= {"opened", "merged", "repeated"}
    assert (len(turn_of), max(map(len, turn_of.values()))) == (80, 1)
    with transaction() as db:
        for name in {each.conversation_id for each in told}:
            seqs = [turn.seq for turn, _ in conversations.turns_of(db, tenant, name, 0, 999)]
            assert seqs == list(range(1, len(seqs) + 1))
            assert audit.verify(db, tenant, name) == []
