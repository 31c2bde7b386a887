"""`pms.compare_options`: compare a few options of one stay."""

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from turnloom.models.contracts.artifact import Comparison, ComparisonArtifact
from turnloom.models.contracts.field_descriptions import Described
from turnloom.models.errors import ToolFailed
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.hotel.catalogue import Bed
from turnloom.tools.packs.hotel.stays import QUOTE_GOOD_S, Option, Party, StayQuery, option_of, party_of, read_stay
from turnloom.tools.packs.hotel.store.inventory import Quote
from turnloom.tools.packs.hotel.systems import SYSTEM_ERRORS, open_hotel, service_of
from turnloom.tools.packs.hotel.terms import counted, name_of
from turnloom.tools.registry import tool

Criterion = Literal["price", "board", "beds", "amenities", "cancellation", "guests"]


class Choice(Described, BaseModel):
    """An option, named by its three codes."""

    # Ignore other fields, so that a plan can pass an option of `pms.get_availability` as it is.
    model_config = ConfigDict(extra="ignore", frozen=True)

    room_type_code: str
    """Code of the room type."""
    board_code: str
    """Code of the board."""
    rate_code: str
    """Code of the rate."""


class StayComparisonQuery(StayQuery):
    """The options of a stay to compare."""

    model_config = ConfigDict(title="ComparisonQuery")

    choices: list[Choice] = Field(min_length=2, max_length=4)
    """The options, as pms.get_availability returned them."""
    criteria: list[Criterion] = Field(default_factory=list)
    """The criteria to compare. If empty, all are compared."""


class ComparedOption(Option):
    """An option with details of its room."""

    beds: list[Bed]
    """The beds in the room."""
    sleeps: int | None
    """The most guests of 2 years or older; null if the hotel does not say."""
    amenities: list[str]
    """Codes of the room's amenities."""


class ComparedOptions(Party):
    """The compared options."""

    options: list[ComparedOption]
    """The options, in the order of the choices."""
    criteria: list[Criterion]
    """The criteria that were compared."""


def _comparison(found: ComparedOptions) -> ComparisonArtifact:
    options = [
        {"name": option.room_name} | {criterion: _value(option, criterion) for criterion in found.criteria}
        for option in found.options
    ]
    title = " · ".join(dict.fromkeys(option.room_name for option in found.options))
    return ComparisonArtifact(title=title, data=Comparison(criteria=list(found.criteria), options=options))


@tool(
    "pms.compare_options",
    effect="read",
    integration=service_of,
    remember_s=QUOTE_GOOD_S,
    artifact=_comparison,
    errors=("NOT_FOUND", "VALIDATION_ERROR", *SYSTEM_ERRORS),
    asks=("hotel_id", "dates", "check_out"),
)
def compare_options(query: StayComparisonQuery, context: ToolContext) -> ComparedOptions:
    """Compare two to four options of a stay: price, board, beds, amenities, cancellation.

    Raises:
        NeedsInput: the user must name the dates or the hotel.
        ToolFailed: NOT_FOUND, there is no such hotel or option; VALIDATION_ERROR, the dates are invalid.
    """
    system = open_hotel(query.hotel_id, context)
    stay = read_stay(query, system.hotel)
    quotes = system.quotes(stay, sorted({choice.rate_code for choice in query.choices}))
    chosen = [find_quote(quotes, choice) for choice in query.choices]
    rooms = {room.code: room for room in system.room_types()}
    options = [
        {
            **option_of(quote, rooms),
            "beds": rooms[quote.room_type].beds,
            "sleeps": rooms[quote.room_type].sleeps,
            "amenities": list(rooms[quote.room_type].amenities),
        }
        for quote in chosen
    ]
    criteria = query.criteria or get_args(Criterion)
    return ComparedOptions.model_validate({**party_of(stay), "options": options, "criteria": criteria})


def find_quote(quotes: list[Quote], choice: Choice) -> Quote:
    """Return the quote of an option.

    Raises:
        ToolFailed: NOT_FOUND, no quote has this room, board and rate.
    """
    wanted = (choice.room_type_code, choice.board_code, choice.rate_code)
    for quote in quotes:
        if (quote.room_type, quote.board, quote.rate_code) == wanted:
            return quote
    raise ToolFailed(f"there is no room {wanted[0]!r} with board {wanted[1]!r} at rate {wanted[2]!r}", code="NOT_FOUND")


def _value(option: ComparedOption, criterion: Criterion) -> Any:
    values: dict[Criterion, Any] = {
        "price": f"{option.price_total} {option.currency}",
        "board": name_of(option.board_code),
        "beds": ", ".join(counted(bed.kind, bed.count) for bed in option.beds),
        "amenities": ", ".join(name_of(code) for code in option.amenities),
        "cancellation": "free" if option.cancellable else "not refunded",
        "guests": option.sleeps or "not said",
    }
    return values[criterion]
