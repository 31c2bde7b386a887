"""`pms.get_room_types`: the kinds of rooms a hotel has."""

from models.contracts.artifact import Table, TableArtifact
from models.contracts.base import Contract
from tools.context import ToolContext
from tools.hotel.catalogue import Bed
from tools.hotel.stays import HotelId
from tools.hotel.systems import SYSTEM_ERRORS, open_hotel, service_of
from tools.hotel.terms import name_of
from tools.registry import tool


class HotelQuery(Contract):
    """The hotel to ask about."""

    hotel_id: HotelId = None
    """Id of the hotel; leave it out where there is only one."""


class HotelRoom(Contract):
    """A kind of room."""

    code: str
    """Its code, for other tools."""
    name: str
    """Its name for guests."""
    beds: list[Bed]
    sleeps: int | None
    """Guests from two years on, at most; null where the hotel does not say."""
    board_options: list[str]
    """Codes of the boards that it can be booked with."""
    amenities: list[str]
    """Codes of what it has."""


class HotelRooms(Contract):
    """The kinds of rooms a hotel has."""

    room_types: list[HotelRoom]
    """By code."""


def _table(found: HotelRooms) -> TableArtifact:
    rows: list[list[str | int | float | bool | None]] = [
        [
            room.name,
            ", ".join(f"{bed.count} {name_of(bed.kind)}" for bed in room.beds),
            room.sleeps or "not said",
            ", ".join(name_of(code) for code in room.board_options),
            ", ".join(name_of(code) for code in room.amenities),
        ]
        for room in found.room_types
    ]
    columns = ["Room", "Beds", "Guests", "Boards", "Amenities"]
    return TableArtifact(title="Rooms", data=Table(columns=columns, rows=rows))


@tool(
    "pms.get_room_types",
    effect="read",
    integration=service_of,
    remember_s=3_600,
    artifact=_table,
    errors=("NOT_FOUND", *SYSTEM_ERRORS),
    asks=("hotel_id",),
)
def get_room_types(query: HotelQuery, context: ToolContext) -> HotelRooms:
    """List a hotel's room types with beds, boards and amenities; no prices."""
    return HotelRooms(
        room_types=[
            HotelRoom(
                code=room.code,
                name=room.name,
                beds=[Bed.model_validate(bed) for bed in room.beds],
                sleeps=room.sleeps,
                board_options=list(room.boards),
                amenities=list(room.amenities),
            )
            for room in open_hotel(query.hotel_id, context).room_types()
        ]
    )
