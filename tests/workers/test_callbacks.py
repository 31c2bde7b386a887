"""The document of a final turn is posted to the address that its caller gave, signed, until it is taken."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import HTTPServer
from itertools import pairwise
from typing import Any

import pytest
from werkzeug import Response

from tests.factories import make_tenant, queue_length
from tests.facts import wait_for
from tests.workers.calling_back import Receiver, final_turn, let_pass, of_turn, receiver, send_due
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import callback_secrets, callbacks, conversations
from turnloom.models.ledger.callbacks import CallbackOutcome
from turnloom.models.runtime.secrets import new_key
from turnloom.models.runtime.settings import settings
from turnloom.tools.http import addresses
from turnloom.workers import callbacks as sending
from turnloom.workers.callbacks import call_back, gap_s, sign
from turnloom.workers.recovery import sweep

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture(autouse=True)
def allowed(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow receivers on this machine, and a key for the secrets."""
    monkeypatch.setenv("TURNLOOM_ALLOWED_HOSTS", '["127.0.0.0/8"]')
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps([new_key()]))
    settings.cache_clear()


@pytest.fixture
def there() -> Iterator[Receiver]:
    """A receiver."""
    with receiver() as made:
        yield made


def test_the_vector_of_standard_webhooks() -> None:
    """The signature is that which the project's own libraries make and verify."""
    secret, callback_id = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"

    made = sign(secret, callback_id, 1614265330, b'{"test": 2432232314}')

    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_final_document_arrives_signed(there: Receiver) -> None:
    """The receiver gets the turn with its reply, and can verify the tenant's signature."""
    turn_id = final_turn(there.url)

    sent = send_due(turn_id)

    tenant_id = make_tenant()
    with transaction() as db:
        secret = callback_secrets.reveal(db, tenant_id)
    headers, body = there.got[0]
    timestamp = int(headers["webhook-timestamp"])
    assert (sent.status, sent.answer, sent.attempt, sent.due_at) == ("delivered", 204, 1, None)
    assert (there.document()["turn_id"], there.document()["reply"]["text"]) == (str(turn_id), "done")
    assert (headers["webhook-id"], headers["content-type"]) == (str(turn_id), "application/json")
    assert headers["webhook-signature"] == sign(secret, str(turn_id), timestamp, body)


def test_both_secrets_sign_during_a_rotation(there: Receiver) -> None:
    """A receiver that still has the old secret can verify as well as one that has the new one."""
    tenant_id = make_tenant()
    with transaction() as db:
        old = callback_secrets.reveal(db, tenant_id)
        new = callback_secrets.rotate(db, tenant_id)
    turn_id = final_turn(there.url)

    send_due(turn_id)

    headers, body = there.got[0]
    timestamp = int(headers["webhook-timestamp"])
    signatures = [sign(secret, str(turn_id), timestamp, body) for secret in (new, old)]
    assert headers["webhook-signature"].split() == signatures


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 429, 500, 503])
def test_what_is_refused_is_sent_again_with_the_same_id(there: Receiver, status: int) -> None:
    """An answer other than 2xx and 410 is a failure that may pass; a redirect is not followed."""
    there.answers = [Response(status=status, headers={"Location": there.url})]
    turn_id = final_turn(there.url)
    first = send_due(turn_id)
    early = send_due(turn_id)
    let_pass(hours=1)

    second = send_due(turn_id)

    assert (first.status, first.answer, early.attempt) == ("pending", status, 1)
    assert (second.status, second.error, second.finished_at is None) == ("delivered", None, False)
    assert there.ids == [str(turn_id)] * 2


def test_a_receiver_that_is_gone_gets_no_more(there: Receiver) -> None:
    """410 ends the callback at once."""
    there.answers = [Response(status=410)]

    sent = send_due(final_turn(there.url))

    assert (sent.status, sent.answer, (sent.error or {})["code"]) == ("failed", 410, "gone")


def test_a_receiver_that_is_down_is_tried_for_a_day() -> None:
    """The last attempt comes after a day. Then the callback is given up."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    turn_id = final_turn(url)
    tried = [send_due(turn_id)]
    for _ in range(2):
        let_pass(hours=12)
        tried.append(send_due(turn_id))

    assert [each.status for each in tried] == ["pending", "pending", "failed"]
    assert [(each.error or {})["code"] for each in tried] == ["upstream_5xx"] * 3


def test_gaps_grow() -> None:
    """Each pause is longer than the one before, up to some hours. A receiver may ask for a longer one."""
    gaps = [gap_s(failures) for failures in range(14)]

    assert 4 <= gaps[0] <= 6
    assert all(later > earlier for earlier, later in pairwise(gaps[:8]))
    assert max(gaps) < 5 * 3600
    assert sum(gaps) > 24 * 3600
    assert gap_s(0, 600) == 600


def test_a_pause_that_the_receiver_asks_for_is_kept(there: Receiver) -> None:
    """The answer's Retry-After counts if it is longer than our own pause."""
    there.answers = [Response(status=429, headers={"Retry-After": "1800"})]
    turn_id = final_turn(there.url)
    send_due(turn_id)
    let_pass(hours=0.4)
    early = send_due(turn_id).attempt
    let_pass(hours=0.2)

    assert (early, send_due(turn_id).attempt) == (1, 2)


def test_a_name_that_changes_its_address_is_checked_again(there: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A private address is refused at each call, whatever the name was when the message came. Nothing is sent."""
    monkeypatch.setattr(settings(), "allowed_hosts", [])
    resolved = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))]
    monkeypatch.setattr(addresses, "getaddrinfo", lambda *_, **__: resolved)

    sent = send_due(final_turn(there.url.replace("127.0.0.1", "rebound.example")))

    assert (sent.status, (sent.error or {})["code"], there.got) == ("failed", "url_not_allowed", [])


def test_a_redirect_to_a_private_address_is_not_followed(there: Receiver) -> None:
    """The second address gets no request, allowed or not."""
    with receiver("127.0.0.2") as inside:
        there.answers = [Response(status=307, headers={"Location": inside.url})]

        sent = send_due(final_turn(there.url))

        assert ((sent.error or {})["code"], len(there.got), inside.got) == ("redirected", 1, [])


def test_a_slow_receiver_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that sends one byte of its header after the other is not waited for beyond the limit."""
    monkeypatch.setattr(sending, "LIMIT_S", 0.4)
    is_over = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not is_over.wait(0.02):
                try:
                    connection.sendall(b"x")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=[listener], daemon=True)
        thread.start()
        sent = send_due(final_turn(f"http://127.0.0.1:{listener.getsockname()[1]}/"))
        is_over.set()
        thread.join(5)

    assert (sent.status, (sent.error or {})["code"]) == ("pending", "timeout")


def test_a_slow_receiver_does_not_block_others(there: Receiver) -> None:
    """While one receiver holds as many requests as it may, callbacks to another one are sent."""
    gate = threading.Event()

    def held() -> Response:
        gate.wait(8)
        return Response(status=204)

    with receiver("127.0.0.2") as slow:
        slow.answers = [held, held, held]
        waiting = [final_turn(slow.url, conversation_id=f"slow{n}") for n in range(3)]
        tasks = [threading.Thread(target=call_back, args=[str(turn_id)]) for turn_id in waiting]
        for task in tasks:
            task.start()
        wait_for(lambda: len(slow.got) == 2)

        other = send_due(final_turn(there.url, conversation_id="other"))

        taken = len(slow.got)
        gate.set()
        for task in tasks:
            task.join(8)
    assert (other.status, taken) == ("delivered", 2)
    assert [of_turn(turn_id).status for turn_id in waiting] == ["delivered"] * 3


def test_a_huge_answer_is_not_read(there: Receiver) -> None:
    """Only the status counts."""
    there.answers = [Response(b"x" * 20_000_000, status=200)]

    assert send_due(final_turn(there.url)).status == "delivered"


def test_a_sender_that_comes_too_late_records_nothing(there: Receiver) -> None:
    """After its lease another worker may have sent the callback. The old claim has no say any more."""
    turn_id = final_turn(there.url)
    with statement() as db:
        stale = callbacks.claim(db, [], 20_000)
    held = send_due(turn_id).attempt
    let_pass(hours=1)
    send_due(turn_id)
    assert stale is not None

    with statement() as db:
        recorded = callbacks.record(db, turn_id, stale.attempt, CallbackOutcome("failed", 500))

    assert (held, recorded, of_turn(turn_id).status, there.ids) == (1, None, "delivered", [str(turn_id)])


def test_the_sweep_wakes_a_worker_for_a_callback_that_is_due(there: Receiver) -> None:
    """A callback whose message was lost is found in the ledger."""
    final_turn(there.url)
    before = queue_length("deliver")

    sweep()

    assert (before, queue_length("deliver")) == (0, 1)


def test_erasing_a_conversation_ends_its_callbacks(there: Receiver) -> None:
    """Nothing of an erased conversation is sent, and the address is forgotten."""
    turn_id, tenant_id = final_turn(there.url), make_tenant()
    with transaction() as db:
        conversations.erase(db, tenant_id, "c1")

    call_back(str(turn_id))

    with transaction() as db:
        assert callbacks.of_turn(db, tenant_id, turn_id) is None
    assert there.got == []


def test_a_secret_that_cannot_be_read_loses_no_callback(there: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the key that encrypted the secret the callback waits until the key is back."""
    tenant_id = make_tenant()
    with transaction() as db:
        callback_secrets.ensure(db, tenant_id)
    keys = settings().secret_keys
    monkeypatch.setattr(settings(), "secret_keys", [new_key()])
    turn_id = final_turn(there.url)
    without = send_due(turn_id)
    monkeypatch.setattr(settings(), "secret_keys", keys)
    let_pass(hours=1)

    assert (without.status, (without.error or {})["code"]) == ("pending", "connection_inactive")
    assert send_due(turn_id).status == "delivered"


def test_the_receiver_of_the_page_tells_ours_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes what we have sent, and refuses what somebody else has changed."""
    tenant_id = make_tenant()
    with transaction() as db:
        monkeypatch.setenv("CALLBACK_SECRET", callback_secrets.reveal(db, tenant_id))
    page = (settings().prompts_dir.parent / "docs/how-to/receive-callbacks.md").read_text("utf-8")
    written: dict[str, Any] = {}
    exec(page.partition("```python receiver.py\n")[2].partition("```")[0], written)
    with HTTPServer(("127.0.0.1", 0), written["Receiver"]) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()

        sent = send_due(final_turn(f"http://127.0.0.1:{server.server_port}/"))

        server.shutdown()
    forged = {"webhook-id": "1", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,AAAA"}
    assert sent.status == "delivered"
    assert not written["is_genuine"](forged, b"{}")
