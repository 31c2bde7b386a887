"""`turnloom audit export` writes a proof bundle, which a script without our code verifies in a bare interpreter."""

import hashlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner, Result

from tests.factories import make_tenant, open_turn, running_turn, step
from tests.models.ledger.parking import APPROVED, ask, decide
from tests.models.ledger.stopping import claim, end, record
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import conversations
from turnloom.models.runtime.settings import ROOT, settings
from turnloom.workers.cli import main

Bundle = dict[str, Any]


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["audit", *words])


@pytest.fixture
def tenant(database: str, monkeypatch: pytest.MonkeyPatch) -> UUID:
    """A tenant with the key of the audit log, and a conversation with a call and a reply beside another one."""
    monkeypatch.setenv("TURNLOOM_AUDIT_KEY", "a key that the database has not got")
    settings.cache_clear()
    open_turn(make_tenant(), "a secret of somebody else's", conversation_id="another")
    turn = running_turn(step("a", args={"ms": 5}))
    claim(turn.id, "a")
    record(turn.id, "a")
    end(turn.id, turn.attempt + 1)
    return make_tenant()


@pytest.fixture
def bundle(tenant: UUID, tmp_path: Path) -> Bundle:
    """The exported bundle, unpacked beside its script."""
    done = run("export", "--conversation", "c1", "--out", str(tmp_path / "proof.zip"))
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(tmp_path / "proof.zip") as archive:
        assert archive.namelist() == ["bundle.json", "verify.py"]
        archive.extractall(tmp_path)
    found: Bundle = json.loads((tmp_path / "bundle.json").read_bytes())
    return found


@pytest.fixture
def verify(bundle: Bundle, tmp_path: Path) -> Callable[..., tuple[int, list[str]]]:
    """Write a bundle and run the script that came with it. Returns its exit code and its lines."""

    def run_script(changed: Any, *key: str) -> tuple[int, list[str]]:
        (tmp_path / "bundle.json").write_text(json.dumps(changed))
        command = [sys.executable, "-I", "-S", str(tmp_path / "verify.py"), str(tmp_path / "bundle.json"), *key]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()

    return run_script


def test_a_bundle_verifies_with_the_public_key(bundle: Bundle, verify: Callable[..., Any]) -> None:
    """The export itself is the last record. The key is the one that the command shows."""
    key = run("public-key").stdout.strip()

    code, lines = verify(bundle, key)

    assert (code, len(lines)) == (0, 1)
    assert lines[0].startswith(f"the {len(bundle['records'])} records are as they were written, signed on ")
    assert key in lines[0]
    assert verify(bundle)[0] == 0
    assert [each["kind"] for each in bundle["records"]] == [
        "turn.received",
        "plan.recorded",
        "calls.ended",
        "turn.finished",
        "conversation.exported",
    ]


def test_a_bundle_has_the_texts_of_its_digests(bundle: Bundle) -> None:
    """Of the message, the plan, the arguments, the result and the reply; and nothing of other conversations."""
    texts = set(bundle["texts"].values())

    assert {"hello", "stopped", '{"ms": 5}', "{}"} <= texts
    assert any('"tool": "sim.wait"' in text for text in texts)
    assert "secret of somebody" not in json.dumps(bundle)
    assert "another" not in json.dumps(bundle)
    assert len(bundle["head"]["entries"]) == 3  # those of both conversations and of the tenant itself


def edited(bundle: Bundle) -> None:
    content = json.loads(bundle["records"][2]["content"])
    content["calls"][0]["tool"] = "sim.echo"
    bundle["records"][2]["content"] = json.dumps(content)


def retold(bundle: Bundle) -> None:
    """Edit a content and its digest."""
    edited(bundle)
    bundle["records"][2]["digest"] = hashlib.sha256(bundle["records"][2]["content"].encode()).hexdigest()


def rewritten(bundle: Bundle) -> None:
    """Edit a content and compute the whole chain anew, as its owner could."""
    retold(bundle)
    before = ""
    for each in bundle["records"]:
        of = [bundle["tenant_id"], bundle["conversation_id"], str(each["seq"]), each["turn_id"], each["kind"]]
        fields = [field for field in [*of, each["at"]] if field is not None]
        each["hash"] = before = hashlib.sha256("|".join([*fields, each["digest"], before]).encode()).hexdigest()


def resealed(bundle: Bundle) -> None:
    """Rewrite the chain and name its new end in the head."""
    rewritten(bundle)
    last = bundle["records"][-1]
    line = f"{bundle['conversation_id']} {last['seq']} {last['hash']}"
    bundle["head"]["entries"] = [hashlib.sha256(line.encode()).hexdigest()]


def swapped(bundle: Bundle) -> None:
    records = bundle["records"]
    records[1], records[2] = records[2], records[1]


def blanked(bundle: Bundle) -> None:
    bundle["records"][2]["content"] = None


def other_words(bundle: Bundle) -> None:
    name = next(name for name, text in bundle["texts"].items() if text == "stopped")
    bundle["texts"][name] = "You may have the room for nothing."


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (edited, ["the content of record 3 was changed"]),
        (retold, ["record 3 does not follow from the one before it"]),
        (rewritten, ["the signed head does not name record 5 as the last: the end was cut off, or rewritten"]),
        (lambda bundle: bundle["records"].pop(1), ["record 2 is missing", "record 3 does not follow"]),
        (swapped, ["record 2 is missing", "record 2 is out of order", "record 3 is missing"]),
        (lambda bundle: bundle["records"].pop(), ["the signed head does not name record 4 as the last"]),
        (blanked, ["the content of record 3 is gone, and no record says that it was erased"]),
        (other_words, ["text "]),
        (resealed, ["the head is not signed with the key"]),
        (lambda bundle: bundle["head"].update(at="2020-01-01T00:00:00.000000Z"), ["the head is not signed"]),
        (lambda bundle: bundle.update(tenant_id=str(UUID(int=1))), ["record 1 does not follow", "the head is not"]),
        (lambda bundle: bundle.update(records=[]), ["this is no proof bundle"]),
        (lambda bundle: bundle["head"].update(signature="00" * 64), ["the head is not signed"]),
        (lambda bundle: bundle["head"].update(signature="ff" * 64), ["this is no proof bundle"]),
        (lambda bundle: bundle.clear(), ["this is no proof bundle"]),
    ],
)
def test_a_bundle_that_was_touched_is_refused(
    bundle: Bundle, verify: Callable[..., Any], tamper: Callable[[Bundle], object], said: list[str]
) -> None:
    """An edit, a gap, another order, a cut tail, other words, another head: each is named, and the exit code is 1."""
    tamper(bundle)

    code, lines = verify(bundle)

    assert code == 1
    assert all(any(line.startswith(each) for line in lines) for each in said), lines


def test_a_bundle_signed_by_somebody_else_is_refused(bundle: Bundle, verify: Callable[..., Any]) -> None:
    """Whoever names the key that they trust is not deceived by the key in the bundle."""
    key = bundle["public_key"]
    other = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"  # of RFC 8032's first example

    assert verify(bundle, key)[0] == 0
    assert verify(bundle, other) == (1, [f"the head is not signed with the key {other}"])


def test_an_export_is_a_record(bundle: Bundle, tmp_path: Path) -> None:
    """So a new head names the conversation, whatever signed the ones before."""
    again = run("export", "--conversation", "c1", "--out", str(tmp_path / "again.zip"), "--json")

    assert again.exit_code == 0
    assert json.loads(again.stdout)["records"] == len(bundle["records"]) + 1


def test_an_erased_conversation_is_exported_as_its_skeleton(tenant: UUID, tmp_path: Path) -> None:
    """Its records verify, without contents and texts."""
    with transaction() as db:
        conversations.erase(db, tenant, "c1")
    done = run("export", "--conversation", "c1", "--out", str(tmp_path / "proof.zip"), "--json")

    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["texts"] == 0
    with zipfile.ZipFile(tmp_path / "proof.zip") as archive:
        archive.extractall(tmp_path)
    command = [sys.executable, "-I", "-S", str(tmp_path / "verify.py"), str(tmp_path / "bundle.json")]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0


def test_the_arguments_that_were_approved_are_among_the_texts(tenant: UUID, tmp_path: Path) -> None:
    """What a person approved can be read, and its digest is the one that bound the approval."""
    turn = running_turn(APPROVED, conversation_id="approved")
    claim(turn.id, "w")
    said = 'sim.approve|{"value":7}'
    ask(turn.id, hash_=hashlib.sha256(said.encode()).hexdigest())
    decide(turn.id)
    run("export", "--conversation", "approved", "--out", str(tmp_path / "proof.zip"))

    with zipfile.ZipFile(tmp_path / "proof.zip") as archive:
        assert said in json.loads(archive.read("bundle.json"))["texts"].values()


def test_a_conversation_must_be_known(tenant: UUID, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that several tenants have needs a tenant, and without the key nothing is signed."""
    out = ("--out", str(tmp_path / "proof.zip"))
    nobody = run("export", "--conversation", "nobody", *out)
    open_turn(make_tenant("other"))
    several = run("export", "--conversation", "c1", *out)
    theirs = run("export", "--conversation", "c1", "--tenant", "other", *out)
    monkeypatch.delenv("TURNLOOM_AUDIT_KEY")
    settings.cache_clear()
    unsigned = run("export", "--conversation", "c1", "--tenant", "other", *out)

    assert (nobody.exit_code, "no conversation 'nobody'" in nobody.stderr) == (1, True)
    assert (several.exit_code, "--tenant" in several.stderr) == (1, True)
    assert theirs.exit_code == 0
    assert (unsigned.exit_code, "TURNLOOM_AUDIT_KEY" in unsigned.stderr) == (1, True)


def test_the_verifier_is_short() -> None:
    """Whoever is to trust it can read it."""
    assert len((ROOT / "workers" / "cli" / "verify_bundle.py").read_text().splitlines()) <= 100
