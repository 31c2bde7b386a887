"""A hotel's catalogue file: its rooms and their prices on the days of every year, or the system that knows them.

In: YAML such as data/demo.yaml.  Out: rows for the inventory. Money is a Decimal from the file to the table. A file
with `system` describes a hotel whose rooms and prices are in another system.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import available_timezones

import yaml
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from turnloom.models.contracts.base import Contract
from turnloom.models.errors import Invalid
from turnloom.tools.packs.hotel.offers import NOT_REFUNDABLE
from turnloom.tools.packs.hotel.store.inventory import HotelCatalogue

_A_LEAP_YEAR = date(2024, 1, 1)

Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,32}$")]
Currency = Annotated[str, Field(pattern="^[A-Z]{3}$")]
Tag = Annotated[str, Field(pattern="^[a-z]{2,3}$")]
Price = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=2)]
BedKind = Literal["double", "single", "bunk", "sofa"]


def _days(text: Any) -> Any:
    """Read `MM-DD` or `MM-DD/MM-DD` as intervals within a year. One that crosses the end of the year becomes two."""
    if not isinstance(text, str):
        return text
    first, _, last = text.partition("/")
    starts, ends = _month_day(first), _month_day(last or first)
    return [(starts, ends)] if starts <= ends else [(starts, 1231), (101, ends)]


def _month_day(text: str) -> int:
    day = date.fromisoformat(f"{_A_LEAP_YEAR.year}-{text.strip()}")
    return day.month * 100 + day.day


def _known_timezone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError("not an IANA time zone; write one such as Asia/Jerusalem")
    return name


Days = Annotated[list[tuple[int, int]], BeforeValidator(_days)]


class Bed(Contract):
    """Beds of one kind."""

    kind: BedKind
    count: int = Field(ge=1, le=20)
    """Number of these beds."""


class _Board(Contract):
    """The extra price of a board per night, for each adult and each child."""

    adult: Price
    child: Price


class _Rate(Contract):
    currency: Currency
    cancellable: bool
    factor: Decimal = Field(Decimal(1), gt=0, le=1000)
    """The file's prices are multiplied by this factor and rounded to whole units."""


class _RoomType(Contract):
    code: Code
    name: str
    beds: list[Bed]
    sleeps: int = Field(ge=1, le=50)
    included: int = Field(2, ge=1, le=50)
    rooms: int = Field(ge=0, le=10_000)
    boards: list[Code] | None = None
    """Codes of the room type's boards. If absent, it has all of the hotel's."""
    amenities: list[Code]
    prices: dict[str, Price]
    extra_adult: Price
    child: Price


class _Allotment(Contract):
    room_types: list[Code]
    days: Days
    rooms: int = Field(ge=0, le=10_000)


class _Answer(Contract):
    topic: Code
    question: str
    answer: str
    translations: dict[Tag, str] = Field(default_factory=dict)
    """Language -> the same answer in it."""


class _Hotel(Contract):
    id: Code
    name: str
    timezone: Annotated[str, AfterValidator(_known_timezone)]
    currency: Currency
    booking_url: str = Field(pattern=r"^https://[^?#\s]+$")
    faq: list[_Answer] = Field(default_factory=list)
    link_needs: list[Literal["name", "phone"]] = Field(default_factory=list)


class _File(_Hotel):
    longest_stay_nights: int = Field(30, ge=1, le=365)
    seasons: dict[str, list[Days]]
    boards: dict[Code, _Board]
    rates: dict[Code, _Rate]
    room_types: list[_RoomType] = Field(min_length=1)
    allotments: list[_Allotment] = Field(default_factory=list)

    @model_validator(mode="after")
    def every_day_has_one_season(self) -> Self:
        """Refuse a file in which a day of the year is in no season, or in several."""
        days = [_A_LEAP_YEAR + timedelta(days=number) for number in range(366)]
        found = Counter(day for _, first, last in _parts(self.seasons) for day in days if first <= _number(day) <= last)
        for day in days:
            if found[day] != 1:
                raise ValueError(f"{day:%m-%d} lies in {found[day]} seasons; each day of the year needs exactly one")
        return self

    @model_validator(mode="after")
    def names_are_known(self) -> Self:
        """Refuse duplicate room types, and references to a room type, board, season or currency that is missing."""
        codes = {room.code for room in self.room_types}
        if len(codes) != len(self.room_types):
            raise ValueError("two room types have the same code")
        if self.currency not in {rate.currency for rate in self.rates.values()}:
            raise ValueError(f"no rate is in the hotel's own currency {self.currency}")
        for room in self.room_types:
            if room.prices.keys() != self.seasons.keys() or set(room.boards or ()) - self.boards.keys():
                raise ValueError(f"room type {room.code} needs a price for each season, and only boards of the file")
        unknown = {code for allotment in self.allotments for code in allotment.room_types} - codes
        if unknown:
            raise ValueError(f"allotments name unknown room types: {', '.join(sorted(unknown))}")
        return self


class _DescribedRoom(Contract):
    code: Code
    name: str | None = None
    beds: list[Bed] = Field(default_factory=list)
    sleeps: int | None = Field(None, ge=1, le=50)
    boards: list[Code] | None = None
    amenities: list[Code] = Field(default_factory=list)


class _System(Contract):
    kind: Literal["minihotel"]
    url: str = Field(pattern=r"^(https://|http://(localhost|127\.0\.0\.1)[:/])[^?#\s]+$")
    hotel_id: str = Field(min_length=1, max_length=64)
    credentials: str = Field(min_length=1, max_length=64)


class _SystemFile(_Hotel):
    longest_stay_nights: int = Field(20, ge=1, le=20)
    system: _System
    rates: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,24}$")], Currency] = Field(min_length=1)
    room_types: list[_DescribedRoom] = Field(default_factory=list)

    @model_validator(mode="after")
    def rates_can_be_told_apart(self) -> Self:
        """Refuse a file without a rate in the hotel's own currency, and a rate that ends like a non-refundable one."""
        if self.currency not in self.rates.values():
            raise ValueError(f"no rate is in the hotel's own currency {self.currency}")
        if marked := [code for code in self.rates if code.endswith(NOT_REFUNDABLE)]:
            raise ValueError(f"rate {marked[0]} must not end with {NOT_REFUNDABLE}, the mark of a non-refundable price")
        return self


def read_catalogue(path: Path) -> HotelCatalogue:
    """Read a hotel's file.

    Raises:
        Invalid: the file does not describe a hotel. The message names each fault.
    """
    text = path.read_bytes()
    digest = hashlib.sha256(text).hexdigest()
    try:
        read = yaml.safe_load(text)
        if isinstance(read, dict) and "system" in read:
            return _of_system(_SystemFile.model_validate(read), digest)
        return _of_inventory(_File.model_validate(read), digest)
    except (ValidationError, yaml.YAMLError) as error:
        raise Invalid(f"{path.name} does not describe a hotel: {error}") from error


def _of_system(file: _SystemFile, digest: str) -> HotelCatalogue:
    """Return a hotel without an inventory. Each rate is quoted twice: with free cancellation and as non-refundable."""
    rates = {code: currency for rate, currency in file.rates.items() for code in (rate, rate + NOT_REFUNDABLE)}
    described = {room.code: room.model_dump(mode="json", exclude={"code"}) for room in file.room_types}
    system = {**file.system.model_dump(), "rates": rates, "room_types": described}
    hotel = {**_hotel(file, digest), "system": system}
    return HotelCatalogue(hotel=hotel, room_types=[], seasons=[], rates=[], allotments=[])


def _of_inventory(file: _File, digest: str) -> HotelCatalogue:
    return HotelCatalogue(
        hotel={**_hotel(file, digest), "system": None},
        room_types=[_room_type(room, file) for room in file.room_types],
        seasons=[{"season": name, "starts": first, "ends": last} for name, first, last in _parts(file.seasons)],
        rates=[rate for room in file.room_types for rate in _rates(room, file)],
        allotments=[
            {"room_type": code, "starts": first, "ends": last, "rooms": allotment.rooms}
            for allotment in file.allotments
            for code in allotment.room_types
            for first, last in allotment.days
        ],
    )


def _hotel(file: _File | _SystemFile, digest: str) -> dict[str, Any]:
    own = file.model_dump(
        include={"id", "name", "timezone", "currency", "booking_url", "longest_stay_nights", "faq", "link_needs"}
    )
    return own | {"digest": digest}


def _room_type(room: _RoomType, file: _File) -> dict[str, Any]:
    own = room.model_dump(include={"code", "name", "beds", "sleeps", "included", "amenities", "rooms"})
    return own | {"boards": room.boards or list(file.boards)}


def _rates(room: _RoomType, file: _File) -> Iterator[dict[str, Any]]:
    """Yield a row for each season, board and rate. A board adds its price for each guest."""
    for season, price in room.prices.items():
        for board in room.boards or file.boards:
            adds = file.boards[board]
            for code, rate in file.rates.items():
                yield {
                    "room_type": room.code,
                    "season": season,
                    "board": board,
                    "rate_code": code,
                    "currency": rate.currency,
                    "cancellable": rate.cancellable,
                    "price": _whole((price + room.included * adds.adult) * rate.factor),
                    "extra_adult": _whole((room.extra_adult + adds.adult) * rate.factor),
                    "child": _whole((room.child + adds.child) * rate.factor),
                }


def _whole(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal(1), ROUND_HALF_UP)


def _parts(seasons: dict[str, list[Days]]) -> Iterator[tuple[str, int, int]]:
    for name, parts in seasons.items():
        for days in parts:
            for first, last in days:
                yield name, first, last


def _number(day: date) -> int:
    return day.month * 100 + day.day
