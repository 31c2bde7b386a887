"""The requests and answers of MiniHotel's XML interface ("Immediate ARI").

Names of elements and attributes come back in any case, so case is ignored. The documentation is no longer public. Code
that follows it but was never seen to work is marked as unverified.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from turnloom.models.contracts.envelope import ErrorCode
from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.tools.packs.hotel.store.inventory import StayRequest

ALL, CHEAPEST = "*ALL*", "*MIN*"
"""Placeholders for any code, and for the code with the lowest price."""

_OUT = re.compile(r"\s*ERR\s*([A-Z0-9]{1,5})\b")
_PRICE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,4})?")
_CODE = re.compile(r"[^\s\x00-\x1f]{1,32}")
_LONGEST_NAME = 100

_REFUSALS: dict[ErrorCode, str] = {
    "UPSTREAM_4XX": "001 003 004 005 006 501 516",  # MiniHotel cannot read the request; 003-006 unverified
    "NOT_FOUND": "009 010 204 205 308 309",  # no such hotel or rate; 204 and later unverified
    "VALIDATION_ERROR": "101 102 103 104 105 106 107 108",  # dates; 104: too few nights, 105: no arrival, 107: over 20
    "CONNECTION_INACTIVE": "109 A01",  # the user is not linked to the hotel; our address is not known (unverified)
    "UNAUTHORIZED": "002 210 863",  # unverified
    "RATE_LIMITED": "209",
}
_CODES = {number: code for code, numbers in _REFUSALS.items() for number in numbers.split()}


class Credentials(NamedTuple):
    """The login for MiniHotel."""

    username: str
    password: str


class BoardPrice(NamedTuple):
    """The price of a whole stay in a room with a board."""

    board: str
    value: Decimal | None
    """The price with free cancellation; None if there is none."""
    value_nrf: Decimal | None
    """The price that is not refundable; None if there is none."""


@dataclass(frozen=True, slots=True)
class Room:
    """A room type in an answer."""

    code: str
    name: str
    free: int = 0
    minimum_nights: int = 1
    prices: tuple[BoardPrice, ...] = ()


def availability_request(
    credentials: Credentials, hotel_id: str, stay: StayRequest, rate_code: str, board: str = ALL
) -> bytes:
    """Write the request for the prices of a stay in all room types, at one rate.

    `board` is `ALL` for every board, or `CHEAPEST` for the cheapest board of each room type.
    """
    root = ET.Element("AvailRaterq")
    # MinimumNights asks for that attribute in the answer (unverified).
    ET.SubElement(root, "Authentication", {**credentials._asdict(), "MinimumNights": "YES"})
    ET.SubElement(root, "Hotel", {"id": hotel_id})
    ET.SubElement(root, "DateRange", {"from": str(stay.check_in), "to": str(stay.check_out)})
    guests = {"adults": stay.adults, "child": stay.children, "babies": stay.babies}
    ET.SubElement(root, "Guests", {kind: str(count) for kind, count in guests.items()})
    ET.SubElement(ET.SubElement(root, "RoomTypes"), "RoomType", {"id": ALL})
    ET.SubElement(ET.SubElement(root, "Prices", {"rateCode": rate_code}), "Price", {"boardCode": board})
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def read_availability(body: bytes) -> list[Room]:
    """Return the room types of an answer, those sold out included.

    Raises:
        ToolFailed: MiniHotel refuses the request. The code follows from MiniHotel's own.
        Unavailable: RATE_LIMITED, we call MiniHotel too often; UPSTREAM_5XX, the answer is not plain XML or names no
            hotel.
    """
    root = _parsed(body)
    hotels = list(_elements(root, "hotel"))
    rooms = [room for element in _elements(root, "roomtype") if (room := _room(element)) is not None]
    if not (hotels or rooms):
        raise Unavailable("MiniHotel answered with XML that names no hotel", code="UPSTREAM_5XX")
    return rooms


def _parsed(body: bytes) -> ET.Element:
    # Import it here: every process loads this pack, but few call MiniHotel.
    from defusedxml import DefusedXmlException, ElementTree  # noqa: PLC0415 - see above

    # Errors come as plain text with HTTP 200. Errors as elements are unverified.
    _refuse_error(body[:1000].decode("utf-8", "replace"))
    try:
        root: ET.Element = ElementTree.fromstring(body, forbid_dtd=True)
    except (ET.ParseError, DefusedXmlException, ValueError, LookupError) as error:
        message = f"MiniHotel answered with something that is not plain XML: {type(error).__name__}"
        raise Unavailable(message, code="UPSTREAM_5XX") from None
    for element in (root, *_elements(root, "error")):
        code = _attributes(element).get("code")
        _refuse_error(f"ERR {code}" if code and element is not root else element.text or "")
    return root


def _refuse_error(text: str) -> None:
    found = _OUT.match(text)
    if found is None:
        return
    number = found[1]
    code = _CODES.get(number, "UPSTREAM_4XX")
    message = f"MiniHotel refuses the request with ERR {number}"
    if code == "RATE_LIMITED":
        raise Unavailable(message, code=code)
    raise ToolFailed(message, code=code)


def _room(element: ET.Element) -> Room | None:
    """Read a room type. None if it has no usable code, because then it cannot be requested."""
    own = _attributes(element)
    code = own.get("id", "").strip()
    if not _CODE.fullmatch(code):
        return None
    inventory = next((_attributes(inner) for inner in _elements(element, "inventory")), {})
    prices = [_attributes(inner) for inner in _elements(element, "price")]
    return Room(
        code=code,
        name=" ".join((own.get("name_e") or own.get("name_h") or code).split())[:_LONGEST_NAME],
        free=_count(inventory.get("allocation")),
        minimum_nights=max(1, _count(own.get("minimumnights"))),
        prices=tuple(
            BoardPrice(price["board"], _amount(price.get("value")), _amount(price.get("value_nrf")))
            for price in prices
            if _CODE.fullmatch(price.get("board", ""))
        ),
    )


def _elements(root: ET.Element, name: str) -> Iterator[ET.Element]:
    """Return an iterator over the elements with a name, whatever their case and namespace."""
    return (each for each in root.iter() if str(each.tag).rpartition("}")[2].casefold() == name)


def _attributes(element: ET.Element) -> dict[str, str]:
    return {name.casefold(): value for name, value in element.attrib.items()}


def _count(text: str | None) -> int:
    """Read a number. Anything else counts as 0: a room without a known number is not sold."""
    return int(text) if text and re.fullmatch("[0-9]{1,6}", text) else 0


def _amount(text: str | None) -> Decimal | None:
    """Read a price. A missing, unreadable or zero price gives None, so that no room is given away by mistake."""
    return Decimal(text) if text and _PRICE.fullmatch(text) and Decimal(text) > 0 else None
