"""`pms.get_room_types`: list a hotel's room types."""

from turnloom.models.contracts.artifact import Table, TableArtifact
from turnloom.models.contracts.base import Contract
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.hotel.catalogue import Bed
from turnloom.tools.packs.hotel.stays import HotelId
from turnloom.tools.packs.hotel.systems import SYSTEM_ERRORS, open_hotel, service_of
from turnloom.tools.packs.hotel.terms import counted, name_of
from turnloom.tools.registry import tool


class HotelQuery(Contract):
    """The hotel to ask about."""

    hotel_id: HotelId = None
    """Id of the hotel; leave it out if there is only one."""


class HotelRoom(Contract):
    """A room type."""

    code: str
    """Code of the room type. Other tools take it."""
    name: str
    """Name of the room type for guests."""
    beds: list[Bed]
    sleeps: int | None
    """The most guests of 2 years or older; null if the hotel does not say."""
    board_options: list[str]
    """Codes of the boards with which it can be booked."""
    amenities: list[str]
    """Codes of the room's amenities."""


class HotelRooms(Contract):
    """A hotel's room types."""

    room_types: list[HotelRoom]
    """The room types, sorted by code."""


def _table(found: HotelRooms) -> TableArtifact:
    rows: list[list[str | int | float | bool | None]] = [
        [
            room.name,
            ", ".join(counted(bed.kind, bed.count) for bed in room.beds),
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
