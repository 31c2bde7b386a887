"""MiniHotel fails by refusals, by passing faults, and by invalid answers."""

import gzip
import time
from collections.abc import Callable
from typing import Any

import pytest
from werkzeug import Response

from tests.tools.packs.hotel.conftest import STAY, data
from tests.tools.packs.hotel.minihotel_server import MiniHotelServer
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.guards import Guards
from turnloom.tools.registry import load_registry
from turnloom.tools.runner import run

pytestmark = pytest.mark.usefixtures("minihotel")

Call = Callable[..., Envelope]

AVAILABILITY = "pms.get_availability"


@pytest.mark.parametrize(
    ("number", "code"),
    [
        ("001", "UPSTREAM_4XX"),
        ("009", "NOT_FOUND"),
        ("010", "NOT_FOUND"),
        *((str(number), "VALIDATION_ERROR") for number in range(101, 109)),
        ("109", "CONNECTION_INACTIVE"),
        ("501", "UPSTREAM_4XX"),
        ("516", "UPSTREAM_4XX"),
        ("863", "UNAUTHORIZED"),
        ("A01", "CONNECTION_INACTIVE"),
        ("777", "UPSTREAM_4XX"),
    ],
)
def test_each_refusal_has_its_code(call: Call, minihotel: MiniHotelServer, number: str, code: str) -> None:
    """The table has MiniHotel's documented refusals and an unknown one. MiniHotel's own text is not passed on."""
    minihotel.refuse(number)

    envelope = call(AVAILABILITY, STAY)

    assert envelope.error
    assert (envelope.error.code, envelope.error.message) == (code, f"MiniHotel refuses the request with ERR {number}")
    assert len(minihotel.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"<Errors><Error code='101' description='x'/></Errors>",
        b"<string>ERR 101: x</string>",
        b"<AvailRaters><error>ERR 101</error></AvailRaters>",
    ],
)
def test_a_refusal_may_come_as_xml(call: Call, minihotel: MiniHotelServer, answer: bytes) -> None:
    """Other interfaces of MiniHotel answer like this."""
    minihotel.answers.append(answer)

    envelope = call(AVAILABILITY, STAY)

    assert envelope.error
    assert envelope.error.code == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    "answers",
    [
        [b"ERR 209: too many"],
        [Response(status=429)],
        [Response(status=500)],
        [b""],
        [b"<AvailRaters>"],
        [b"<html/>", b"ERR 209"],
    ],
)
def test_a_passing_failure_is_tried_again(
    call: Call, minihotel: MiniHotelServer, answers: list[bytes | Response]
) -> None:
    """After too many requests, a failing server or a broken answer, the next try finds the prices."""
    minihotel.answers += answers

    assert data(call(AVAILABILITY, STAY))["options"]
    assert len(minihotel.asked) == 1 + len(answers)


BOMB = (
    b"""<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><AvailRaters>&c;</AvailRaters>"""
)
FILE = b"""<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><AvailRaters><Hotel id="&b;"/></AvailRaters>"""


@pytest.mark.parametrize(
    ("answer", "code", "tries"),
    [
        (b"ERR 209", "RATE_LIMITED", 3),
        (Response(status=503), "UPSTREAM_5XX", 3),
        (b"<AvailRaters", "UPSTREAM_5XX", 3),
        (b"\xff\xfe\x00", "UPSTREAM_5XX", 3),
        (b"<?xml version='1.0' encoding='klingon'?><AvailRaters/>", "UPSTREAM_5XX", 3),
        (BOMB, "UPSTREAM_5XX", 3),
        (FILE, "UPSTREAM_5XX", 3),
        (b"<Everything><is/><fine/></Everything>", "UPSTREAM_5XX", 3),
        (b"<AvailRaters>" + b" " * 3_000_000 + b"</AvailRaters>", "UPSTREAM_5XX", 1),
        (Response(gzip.compress(bytes(30_000_000)), headers={"Content-Encoding": "gzip"}), "UPSTREAM_5XX", 1),
        (Response(status=404), "UPSTREAM_4XX", 1),
        (Response(status=401), "UNAUTHORIZED", 1),
        (Response(status=302, headers={"Location": "/elsewhere"}), "UPSTREAM_4XX", 1),
    ],
)
def test_an_invalid_answer_is_never_a_price(
    call: Call, minihotel: MiniHotelServer, answer: bytes | Response, code: str, tries: int
) -> None:
    """A malformed, hostile, huge or failed answer ends in a code. Nothing of it is used."""
    minihotel.answers += [answer] * 3

    envelope = call(AVAILABILITY, STAY)

    assert envelope.error
    assert (envelope.error.code, len(minihotel.asked)) == (code, tries), envelope.error


def test_a_slow_one_is_not_waited_for(call: Call, minihotel: MiniHotelServer) -> None:
    """The call ends at its deadline."""
    minihotel.is_open.clear()
    began = time.monotonic()

    envelope = call(AVAILABILITY, STAY, time_s=0.3)

    assert envelope.error
    assert envelope.error.code == "TOOL_TIMEOUT"
    assert time.monotonic() - began < 8


@pytest.mark.parametrize(
    ("room", "prices"),
    [
        ("<RoomType><Inventory Allocation='2'/><price board='BB' value='90'/></RoomType>", 0),
        ("<RoomType id='A B'><Inventory Allocation='2'/><price board='BB' value='90'/></RoomType>", 0),
        ("<RoomType id='X'><Inventory Allocation='2'/><price value='90'/></RoomType>", 0),
        ("<RoomType id='X'><Inventory Allocation='2'/><price board='BB' value='1,90'/></RoomType>", 0),
        ("<RoomType id='X'><Inventory Allocation='2'/><price board='BB' value='1e9'/></RoomType>", 0),
        ("<RoomType id='X'><Inventory Allocation='2'/><price board='BB' value='-5'/></RoomType>", 0),
        ("<RoomType id='X'><Inventory Allocation='many'/><price board='BB' value='90'/></RoomType>", 0),
        ("<RoomType id='X'><price board='BB' value='90'/></RoomType>", 0),
        ("<RoomType id='X'><Inventory Allocation='2'/></RoomType>", 0),
        (
            "<n:RoomType xmlns:n='u' id='X'><n:Inventory Allocation='2'/><n:Price board='BB' value='90'/></n:RoomType>",
            1,
        ),
    ],
)
def test_a_room_that_cannot_be_read_is_not_sold(call: Call, minihotel: MiniHotelServer, room: str, prices: int) -> None:
    """Such a room has no code, a price that is no number, or an unknown number of rooms."""
    minihotel.answers.append(f"<AvailRaters><Hotel id='sandbox'/>{room}</AvailRaters>".encode())

    assert len(data(call(AVAILABILITY, STAY))["options"]) == prices


def test_without_credentials_nothing_is_asked(call: Call, minihotel: MiniHotelServer) -> None:
    """The failure names the setting and the missing entry, and shows no secret."""
    # Not the fixture `monkeypatch`: it is undone after the server's own credentials, and would set them for good.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TURNLOOM_MINIHOTEL_CREDENTIALS", '{"other": {"username": "u", "password": "s3cr3t"}}')
        settings.cache_clear()
        envelope = call(AVAILABILITY, STAY)
        shown = repr(settings())

    assert envelope.error
    assert envelope.error.code == "CONNECTION_INACTIVE"
    assert "TURNLOOM_MINIHOTEL_CREDENTIALS has no entry 'gordon'" in envelope.error.message
    assert minihotel.asked == []
    assert "s3cr3t" not in shown


def test_a_service_that_fails_is_left_alone(
    minihotel: MiniHotelServer, make_context: Callable[..., ToolContext]
) -> None:
    """The breaker counts calls of MiniHotel for all its hotels, and does not affect hotels with our own inventory."""
    tool = load_registry(["hotel"]).get(AVAILABILITY)

    def ask(**who: Any) -> Envelope:
        return run(tool, STAY, make_context(**who), guards=Guards(longest_wait_s=0))

    minihotel.answers += [Response(status=503)] * 9
    failed = [ask() for _ in range(3)]
    asked = len(minihotel.asked)

    assert [envelope.error.code for envelope in failed if envelope.error][-1] == "CIRCUIT_OPEN"
    assert asked == 5
    assert ask(tenant_id=new_id()).ok
    assert len(minihotel.asked) == asked
