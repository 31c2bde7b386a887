"""A server that speaks MiniHotel's XML for one hotel, or answers as a test wants."""

import json
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from werkzeug import Request, Response

from tests.tools.conftest import TENANT
from tests.tools.serving import LocalServer
from turnloom.models.connections.database import transaction
from turnloom.models.runtime.settings import settings
from turnloom.tools.packs.hotel.catalogue import read_catalogue
from turnloom.tools.packs.hotel.store import inventory

CATALOGUE = """
id: gordon
name: Gordon House
timezone: Asia/Jerusalem
currency: ILS
booking_url: https://frame1.hotelpms.example/BookingFrameClient/hotel/4999DC/e2d8af9e/book/rooms
system: {kind: minihotel, url: "URL", hotel_id: sandbox, credentials: gordon}
rates: {ILS: ILS, USD: USD}
room_types:
  - {code: DBL, name: Garden Double, sleeps: 3, beds: [{kind: double, count: 1}], amenities: [sea_view]}
faq:
  - {topic: parking, question: "Where do we park?", answer: In the street.}
"""
"""A hotel on the server, as a tenant's catalogue has it. URL stands for the address of the server."""

ROOMS = {
    "DBL": {"name": "Double", "free": 3, "nights": 0, "prices": [("RO", "720.00", "648.00"), ("BB", "800.50", "")]},
    "SUI": {"name": "Grand  Suite", "free": 1, "nights": 3, "prices": [("BB", "1900", "1700")]},
    "TWN": {"name": "Twin", "free": 0, "nights": 0, "prices": [("RO", "640", "0")]},
}
"""The rooms of the hotel. `free` 0 is sold out. A price that is empty or 0 is not offered."""


@dataclass
class MiniHotelServer:
    """A server that answers as MiniHotel does, and keeps the requests."""

    asked: list[ET.Element] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    """The content types of the requests."""
    answers: list[bytes | Response] = field(default_factory=list)
    """The answers to the next requests, in place of prices."""
    spelling: Any = str
    """The function that spells the names of elements and attributes."""
    is_open: threading.Event = field(default_factory=threading.Event)
    """The event without which no request is answered."""

    def __call__(self, request: Request) -> Response:
        """Answer a request."""
        self.is_open.wait(10)
        self.types.append(request.content_type or "")
        root = ET.fromstring(request.get_data())
        self.asked.append(root)
        if self.answers:
            answer = self.answers.pop(0)
            return answer if isinstance(answer, Response) else Response(answer, content_type="text/html")
        return Response(self._prices(root), content_type="text/xml; charset=utf-8")

    def refuse(self, number: str) -> None:
        """Refuse the next request as MiniHotel does: in plain text, with HTTP 200."""
        self.answers.append(f"ERR {number}: whatever it says about it".encode())

    def _prices(self, asked: ET.Element) -> bytes:
        own = self.spelling
        # The currency is the hotel's, whatever the requested rate.
        root = ET.Element(own("AvailRaters"))
        hotel = ET.SubElement(root, own("Hotel"), {own("id"): "sandbox", own("Currency"): "USD"})
        for code, room in ROOMS.items():
            described = {"id": code, "Name_e": room["name"], "Name_h": "חדר", "MinimumNights": str(room["nights"])}
            element = ET.SubElement(hotel, own("RoomType"), {own(name): value for name, value in described.items()})
            ET.SubElement(element, own("Inventory"), {own("Allocation"): str(room["free"]), own("maxavail"): "9"})
            for board, value, value_nrf in self._boards(asked, room["prices"]):
                price = {"board": board, "boardDesc": board, "value": value, "value_nrf": value_nrf}
                ET.SubElement(element, own("price"), {own(name): text for name, text in price.items()})
        return ET.tostring(root, encoding="utf-8", xml_declaration=True)

    @staticmethod
    def _boards(asked: ET.Element, prices: Any) -> Any:
        (board,) = (each.get("boardCode") for each in asked.iter("Price"))
        return prices if board == "*ALL*" else prices[:1]


@contextmanager
def gordon_house() -> Iterator[MiniHotelServer]:
    """Run the server. Its hotel is the only one of the tenant."""
    minihotel = MiniHotelServer()
    minihotel.is_open.set()
    with LocalServer() as server, TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        secrets = {"gordon": {"username": "ada & co", "password": "p<w"}}
        patch.setenv("TURNLOOM_MINIHOTEL_CREDENTIALS", json.dumps(secrets))
        settings.cache_clear()
        server.expect_request("/gds", method="POST").respond_with_handler(minihotel)
        file = Path(folder, "gordon.yaml")
        file.write_text(CATALOGUE.replace("URL", server.url_for("/gds")), "utf-8")
        with transaction() as db:
            inventory.load(db, TENANT, read_catalogue(file))
        yield minihotel
        minihotel.is_open.set()
    settings.cache_clear()
