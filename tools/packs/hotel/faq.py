"""`faq.get_rooms_and_pricing`: the hotel's answers to common questions."""

from pydantic import Field

from turnloom.models.contracts.base import Contract
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.hotel.stays import HotelId
from turnloom.tools.packs.hotel.systems import open_hotel
from turnloom.tools.packs.hotel.terms import find_terms, name_of
from turnloom.tools.registry import tool


class FaqQuery(Contract):
    """The topic of a question about the hotel."""

    topic: str | None = Field(None, min_length=1, max_length=200)
    """A word or two, such as "sea view", "parking and pets" or "cancellation". Leave it out for all topics."""
    hotel_id: HotelId = None
    """Id of the hotel; leave it out if there is only one."""


class Answer(Contract):
    """One answer of the hotel."""

    topic: str
    """Code of the topic."""
    question: str
    """The question, as guests ask it."""
    answer: str
    """The hotel's answer, in the language of the user's locale if the hotel wrote it in that language too."""
    translations: dict[str, str] = Field(default_factory=dict)
    """Language, such as fr -> the answer in it. They are left out where the user's locale is known."""


class Faq(Contract):
    """The hotel's information on a topic."""

    topics: list[str]
    """Names of the topics that were understood. Empty if no topic was given or none is known."""
    answers: list[Answer]
    """The hotel's answers about these topics. Without a topic, all answers."""
    rooms: list[str]
    """Names of the rooms that have all the amenities and beds in the topic."""


@tool(
    "faq.get_rooms_and_pricing",
    effect="read",
    remember_s=3_600,
    public=frozenset({"answer"}),
    errors=("NOT_FOUND",),
    asks=("hotel_id",),
)
def get_rooms_and_pricing(query: FaqQuery, context: ToolContext) -> Faq:
    """Answer a common question about the hotel: rooms, amenities, boards, prices in general, house rules."""
    system = open_hotel(query.hotel_id, context)
    answers = [_in_language(Answer.model_validate(answer), context.language) for answer in system.hotel.faq]
    if query.topic is None:
        return Faq(topics=[], answers=answers, rooms=[])
    features = set(find_terms(query.topic, "amenities", "beds"))
    topics = list(dict.fromkeys([*find_terms(query.topic, "topics", "amenities"), *sorted(features)]))
    return Faq(
        topics=[name_of(code) for code in topics],
        answers=[answer for answer in answers if answer.topic in topics],
        rooms=[room.name for room in system.described_rooms() if features and features <= room.features],
    )


def _in_language(answer: Answer, language: str | None) -> Answer:
    """Return an answer in the language; with all its translations if the language is not known."""
    if language is None:
        return answer
    spoken = answer.translations.get(language, answer.answer)
    return answer.model_copy(update={"answer": spoken, "translations": {}})
