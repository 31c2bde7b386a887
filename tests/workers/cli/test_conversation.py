"""A conversation is taken over on the command line, in the ledger itself."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.factories import make_tenant, open_turn, queue_length, work
from tests.models.ledger.channel_turns import CHANNEL, answer, receive
from tests.models.ledger.stopping import end, view
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import audit
from turnloom.workers.cli import main

pytestmark = pytest.mark.usefixtures("database")


def run(command: str, conversation: str = "c1", *arguments: str) -> Result:
    """Run `turnloom conversation COMMAND` for the tenant `acme`."""
    return CliRunner().invoke(main, ["conversation", command, conversation, *arguments, "--tenant", "acme"])


def shown() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("show", "c1", "--json").stdout)
    return found


def test_taking_over_and_handing_back() -> None:
    """Each command says what it has done, and whether there was anything to do."""
    work(open_turn(make_tenant()).turn_id)

    done = [run("pause"), run("pause"), run("say", "c1", "Dana here"), run("resume"), run("resume")]

    assert [each.exit_code for each in done] == [0] * 5, [each.output for each in done]
    first, again, said, resumed, twice = (each.stdout.strip() for each in done)
    assert (first, again) == ("paused c1; turns closed: 0", "c1 was paused already")
    assert said.startswith("written as turn ")
    assert (resumed, twice) == ("resumed c1", "c1 was not paused")


def test_a_turn_in_work_is_ended_and_answered() -> None:
    """The command hands it to a responder."""
    turn_id = open_turn(make_tenant()).turn_id
    before = queue_length("respond")

    done = json.loads(run("pause", "c1", "--json").stdout)

    assert done == {"conversation_id": "c1", "paused": True, "changed": True, "closed": [str(turn_id)]}
    assert (view(turn_id).ending, queue_length("respond")) == ("paused", before + 1)


def test_a_message_on_a_channel_is_to_be_sent() -> None:
    """The command puts it on the queue."""
    answer(receive(1).turn_id)
    before = queue_length("deliver")

    said = run("say", f"{CHANNEL}:u1", "Dana here")

    assert "to be sent on its channel" in said.stdout
    assert queue_length("deliver") == before + 1


def test_what_was_said_is_shown() -> None:
    """With who said it. What was made of a message while a person writes was not said."""
    work(open_turn(make_tenant(), "hello").turn_id)
    run("pause", "c1", "--by", "dana")
    opened = open_turn(make_tenant(), "there?").turn_id
    assert opened is not None
    end(opened, 1)
    run("say", "c1", "Yes", "--author", "Dana of the front desk", "--by", "dana", "--message-id", "d1")

    found = shown()
    table = run("show")

    assert (found["paused_by"], found["agent"], found["channel"]) == ("dana", "generic", "api")
    assert [(line["seq"], line["who"], line["text"]) for line in found["said"]] == [
        (1, "user", "hello"),
        (1, "generic", "done"),
        (2, "user", "there?"),
        (3, "Dana of the front desk", "Yes"),
    ]
    assert "Dana of the front desk" in table.stdout
    tenant = make_tenant()
    with transaction() as db:
        (written,) = audit.page(db, tenant, "c1", 5, 10)
    assert written.content is not None
    assert (written.kind, written.content["by"]) == ("message.written", "dana")


@pytest.mark.parametrize("arguments", [("", ""), ("hi", "--author=a\nb"), ("hi", "--message-id=a b")])
def test_a_wrong_message(arguments: tuple[str, str]) -> None:
    """The refusal names what is wrong."""
    work(open_turn(make_tenant()).turn_id)

    done = run("say", "c1", *filter(None, arguments[1:]), *arguments[:1])

    assert done.exit_code == 1
    assert "message" in done.output or "author" in done.output


@pytest.mark.parametrize("command", ["pause", "resume", "show"])
def test_an_unknown_conversation(command: str) -> None:
    """The error names it."""
    make_tenant()

    done = run(command, "nothing")

    assert (done.exit_code, "nothing" in done.output) == (1, True)
