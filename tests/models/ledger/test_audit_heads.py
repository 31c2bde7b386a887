"""The signed heads reveal changes by somebody who can write everything in the database but lacks the key."""

import hashlib
import hmac
from datetime import UTC

import psycopg
import pytest
from psycopg import sql

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import audit, audit_heads, conversations
from turnloom.models.ledger.audit import Scope
from turnloom.models.ledger.audit_heads import Anchor, Head
from turnloom.models.runtime.settings import settings
from turnloom.models.schema import functions

KEY = b"a key that the database does not have"

CUT = """
    DELETE FROM audit WHERE conversation_id = 'c1' AND seq > {left};
    UPDATE conversations c SET audit_seq = {left},
           audit_hash = coalesce((SELECT hash FROM audit WHERE conversation_id = 'c1' AND seq = {left}), '')
     WHERE id = 'c1'
"""
FORGE = """
    INSERT INTO audit_heads
    SELECT tenant_id, 4, at, conversations, seqs, hashes, signature FROM audit_heads WHERE number = 3
"""
REWRITE = """
    DO $$
    DECLARE
      r audit;
      v_before bytea := '';
    BEGIN
      UPDATE audit SET content = content || '{"forged": 1}' WHERE conversation_id = 'c1' AND seq = 2;
      FOR r IN SELECT * FROM audit WHERE conversation_id = 'c1' ORDER BY seq LOOP
        r.digest := sha256(convert_to(r.content::text, 'UTF8'));
        r.hash := hot.audit_hash(r.tenant_id, r.conversation_id, r.seq, r.turn_id, r.kind, r.at, r.digest, v_before);
        UPDATE audit SET digest = r.digest, hash = r.hash WHERE conversation_id = 'c1' AND seq = r.seq;
        v_before := r.hash;
      END LOOP;
      UPDATE conversations SET audit_hash = v_before WHERE id = 'c1';
    END $$
"""


def one_turn(conversation_id: str = "c1") -> None:
    turn = claim_turn(open_turn(make_tenant(), conversation_id=conversation_id).turn_id)
    assert turn is not None
    finish_turn(turn)


def seal() -> list[Head]:
    with transaction() as db:
        return audit_heads.seal(db, KEY)


@pytest.fixture
def owner(database: str) -> str:
    """Make two conversations of three turns (six records), and heads. Yield the URL of a role that may tamper."""
    for _ in range(3):
        for conversation_id in ("c1", "c2"):
            one_turn(conversation_id)
        assert len(seal()) == 1
    url = settings().owner_database_url
    assert url is not None
    return url


def faults(anchors: list[Head] | None = None, key: bytes | None = KEY) -> list[tuple[str, int]]:
    """Verify as the command does. Return each fault's conversation (empty for a head) and number."""
    with transaction() as db:
        found = audit_heads.compare(db, [Anchor(each.tenant_id, each.number, each.signature) for each in anchors or []])
        for tenant_id in audit_heads.sealed_tenants(db):
            more, head = audit_heads.verify_heads(db, tenant_id, None, key)
            while head is not None:
                found += more
                more, head = audit_heads.verify_heads(db, tenant_id, head, key)
        found += audit.verify_chains(db, audit.chains(db, Scope(), None, 100))
    return [(fault.conversation_id, fault.seq) for fault in found]


def tampered(owner: str, statement: str) -> None:
    with psycopg.connect(owner) as db:
        db.execute(statement.replace("hot.", f"{functions.schema()}.").encode())


def test_untouched_records_verify(owner: str) -> None:
    """Turns that no head covers yet verify too. A head is made only if there is something new."""
    one_turn()

    assert faults() == []
    assert [head.number for head in seal()] == [4]
    assert seal() == []
    assert faults() == []


@pytest.mark.parametrize(
    ("tamper", "found"),
    [
        (CUT.format(left=5), [("c1", 6)]),
        (CUT.format(left=0), [("c1", 2)]),
        ("DELETE FROM audit WHERE conversation_id = 'c1'; DELETE FROM conversations WHERE id = 'c1'", [("c1", 2)]),
        ("DELETE FROM conversations; DELETE FROM audit", [("c1", 2), ("c2", 2)]),
        (REWRITE, [("c1", 2)]),
        ("UPDATE audit SET content = NULL WHERE conversation_id = 'c1' AND seq = 3", [("c1", 3)]),
        ("UPDATE audit SET content = NULL", [(name, seq) for name in ("c1", "c2") for seq in range(1, 7)]),
        ("DELETE FROM tenants", [("c1", 7), ("c2", 7)]),
    ],
    ids=["cut", "emptied", "removed", "all removed", "rewritten", "blanked", "all blanked", "tenant"],
)
def test_a_careful_change_by_a_superuser_is_found(owner: str, tamper: str, found: list[tuple[str, int]]) -> None:
    """The heads reveal the change although the chains that are left are consistent."""
    tampered(owner, tamper)

    assert set(found) <= set(faults())


def test_a_chain_that_was_cut_and_went_on_is_found(owner: str) -> None:
    """The cut is found even if a later head has sealed the new end of the chain."""
    tampered(owner, CUT.format(left=4))
    one_turn()
    one_turn()
    seal()

    assert ("c1", 6) in faults()


@pytest.mark.parametrize(
    ("tamper", "found"),
    [
        ("DELETE FROM audit_heads WHERE number = 2", [("", 2), ("", 3)]),
        ("DELETE FROM audit_heads WHERE number = 1", [("", 1), ("", 2)]),
        ("UPDATE audit_heads SET seqs[1] = 1 WHERE number = 3", [("", 3)]),
        ("UPDATE audit_heads SET at = at + interval '1 s' WHERE number = 3", [("", 3)]),
        ("UPDATE audit_heads SET conversations = '{}', seqs = '{}', hashes = '{}' WHERE number = 2", [("", 2)]),
        ("UPDATE audit_heads SET seqs = '{}' WHERE number = 3", [("", 3)]),
        ("UPDATE audit_heads SET hashes = array_fill(NULL::bytea, ARRAY[2, 2]) WHERE number = 3", [("", 3)]),
        (FORGE, [("", 4)]),
        ("UPDATE audit_heads SET number = 9 - number; UPDATE audit_heads SET number = number - 5", [("", 1), ("", 3)]),
    ],
    ids=["missing", "first", "entry", "time", "emptied", "shorter", "of another shape", "forged", "reordered"],
)
def test_a_head_that_is_touched_is_found(owner: str, tamper: str, found: list[tuple[str, int]]) -> None:
    """Each head is signed together with the one before it."""
    tampered(owner, tamper)

    assert set(found) <= set(faults())


def sign_as_before(owner: str) -> None:
    """Give the heads the signatures that an earlier release gave them: HMAC, over the lines of their entries."""
    before = b""
    with psycopg.connect(owner) as db:
        rows = db.execute("SELECT tenant_id, number, at, conversations, seqs, hashes FROM audit_heads ORDER BY number")
        for tenant_id, number, at, *columns in rows.fetchall():
            lines = "\n".join(f"{name} {seq} {hashed.hex()}" for name, seq, hashed in zip(*columns, strict=True))
            digest = hashlib.sha256(lines.encode()).hexdigest()
            told = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
            message = f"{tenant_id}|{number}|{told}|{digest}|{before.hex()}"
            before = hmac.new(KEY, message.encode(), hashlib.sha256).digest()
            db.execute("UPDATE audit_heads SET signature = %s WHERE number = %s", (before, number))


def test_heads_of_an_earlier_release_verify(owner: str) -> None:
    """They are signed in another way, and so are protected as before. New heads follow them."""
    sign_as_before(owner)
    one_turn()

    assert [head.number for head in seal()] == [4]
    assert faults() == []
    tampered(owner, "UPDATE audit_heads SET seqs[1] = 1 WHERE number = 2")
    assert ("", 2) in faults()


def test_a_head_signed_with_another_key_is_found(owner: str) -> None:
    """Nobody can make a head without the key. Without a key, verification still compares the content of each head."""
    other = KEY + b"!"

    assert faults(key=other) == [("", 1), ("", 2), ("", 3)]
    assert faults(key=None) == []


def test_an_anchor_reveals_records_cut_with_their_heads(owner: str) -> None:
    """The log up to the second head is consistent. Only an anchor of the third head shows that records are missing."""
    with transaction() as db:
        kept = audit_heads.last_heads(db)
    tampered(owner, CUT.format(left=4) + "; DELETE FROM audit_heads WHERE number = 3")
    tampered(owner, CUT.format(left=4).replace("'c1'", "'c2'"))

    assert faults() == []
    assert faults(kept) == [("", 3)]


def test_an_anchor_is_compared_by_its_signature(owner: str) -> None:
    """Heads that somebody with the key has rewritten differ from the anchor."""
    with transaction() as db:
        kept = audit_heads.last_heads(db)
    tampered(owner, "DELETE FROM audit_heads")
    for _ in range(3):
        one_turn("c3")
        seal()

    assert faults(kept) == [("", 3)]


def test_a_tenant_with_many_conversations_gets_several_heads(owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each follows from the one before, and all are verified, page by page."""
    monkeypatch.setattr(audit_heads, "_ENTRIES", 2)
    monkeypatch.setattr(audit_heads, "_PAGE", 2)
    for number in range(5):
        one_turn(f"many-{number}")

    assert [head.number for head in seal()] == [4, 5, 6]
    assert faults() == []
    tampered(owner, "DELETE FROM audit WHERE conversation_id = 'many-4'")
    assert ("many-4", 2) in faults()


def test_a_record_that_is_committed_late_is_sealed_by_the_next_head(owner: str, database: str) -> None:
    """Its time is before that of the head that could not see it."""
    hot = sql.Identifier(functions.schema())
    append = sql.SQL("SELECT {}.append_audit(%s, 'c1', NULL, 'late', '{{}}')").format(hot)
    with psycopg.connect(database) as db:
        db.execute(append, [make_tenant()])
        missed = seal()
        db.commit()

    assert missed == []
    assert [head.number for head in seal()] == [4]
    tampered(owner, CUT.format(left=6))
    assert faults() == [("c1", 7)]


def test_tenants_have_heads_of_their_own(owner: str) -> None:
    """Each tenant's heads are numbered from one."""
    other = make_tenant("other")
    open_turn(other)

    assert [(head.tenant_id, head.number) for head in seal()] == [(other, 1)]


@pytest.mark.parametrize("again", [False, True])
def test_an_erasure_is_a_record(owner: str, again: bool) -> None:
    """Erased content verifies; content that somebody blanks later does not."""
    tenant_id = make_tenant()
    for _ in range(2 if again else 1):
        with transaction() as db:
            conversations.erase(db, tenant_id, "c1")
        one_turn()
    last = 12 if again else 9
    with transaction() as db:
        records = audit.page(db, tenant_id, "c1", 0, 100)

    erased = [record for record in records if record.kind == "conversation.erased"]
    assert [record.content for record in erased] == ([{"through": 6}, {"through": 9}] if again else [{"through": 6}])
    assert len(records) == last
    assert faults() == []
    tampered(owner, f"UPDATE audit SET content = NULL WHERE conversation_id = 'c1' AND seq = {last}")
    assert faults() == [("c1", last)]


@pytest.mark.parametrize("content", ['{"through": 6}', '{"through": "x"}', "7", "{}"])
def test_an_erasure_that_nobody_made_is_found(owner: str, content: str) -> None:
    """A record of an erasure that was inserted without the functions does not follow from the chain."""
    tampered(
        owner,
        f"""INSERT INTO audit (tenant_id, conversation_id, seq, kind, content, digest, hash)
           SELECT tenant_id, 'c1', 7, 'conversation.erased', '{content}', digest, hash FROM audit
            WHERE conversation_id = 'c1' AND seq = 6;
           UPDATE audit SET content = NULL WHERE conversation_id = 'c1' AND seq < 7""",
    )

    assert ("c1", 7) in faults()


def test_the_erasing_function_erases_no_conversation_in_work(owner: str, database: str) -> None:
    """It refuses an unknown one too. Content changes in no other way, and each erasure leaves a record."""
    tenant_id = make_tenant()
    open_turn(tenant_id)
    erase = sql.SQL("SELECT {}.erase_audit(%s, %s, NULL, NULL)").format(sql.Identifier(functions.schema()))

    for conversation_id in ("c1", "nobody"):
        with psycopg.connect(database) as db, pytest.raises(psycopg.errors.NoDataFound):
            db.execute(erase, [tenant_id, conversation_id])
