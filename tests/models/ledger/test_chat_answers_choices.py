"""A message that takes a choice of a question stands for its words."""

from uuid import UUID

import pytest

from tests.models.ledger import channel_turns
from tests.models.ledger.channel_turns import receive
from tests.models.ledger.chat_requests import answer, send_next, yes
from tests.models.ledger.stopping import view
from turnloom.models.connections.database import statement
from turnloom.models.ledger import deliveries

pytestmark = pytest.mark.usefixtures("database")
SHOWN = {"payload": "Blue", "title": "Blue", "number": 1}, {"payload": "Red", "title": "Red", "number": 2}


def message_of(turn_id: UUID | None) -> str:
    return view(turn_id).message


def question(number: int, *offers: dict[str, object]) -> UUID:
    """Return a turn whose reply has been shown with these answers."""
    opened = receive(number)
    channel_turns.answer(opened.turn_id)
    assert opened.turn_id is not None
    with statement() as db:
        deliveries.store_parts(db, opened.turn_id, 1, [{"text": "?"}], offers)
    send_next(opened.turn_id, f"q{number}")
    return opened.turn_id


def test_a_number_stands_for_a_choice_as_it_was_shown() -> None:
    """The turn has the words of the choice. A number that was not shown stays what it is."""
    question(1, *SHOWN)

    chosen, beside = answer(2, "2", number=2), answer(3, "3", number=3)

    assert [chosen.outcome, beside.outcome] == ["opened", "merged"]
    assert message_of(chosen.turn_id) == "Red\n3"


def test_the_words_of_a_choice_come_before_its_number() -> None:
    """Who answers "2" to "2, 3 or 4?" means 2."""
    question(1, *({"payload": str(n), "title": str(n), "number": n - 1} for n in (2, 3, 4)))

    assert message_of(answer(2, "2", number=2).turn_id) == "2"


def test_a_tapped_choice_is_its_words() -> None:
    """Also if its button shows only a number; the button of another message says what it says."""
    question(1, *SHOWN)

    chosen = answer(2, "1", payload="Blue", quoted="q1")
    other = answer(3, "Stop", payload="STOP", quoted="elsewhere")

    assert message_of(chosen.turn_id).splitlines()[0] == "Blue"
    assert other.outcome == "merged"
    assert message_of(chosen.turn_id).splitlines()[1] == "Stop"


def test_a_yes_to_a_question_is_a_message() -> None:
    """Only a request for approval is decided by a word."""
    question(1, *SHOWN)

    assert message_of(yes(2).turn_id) == "yes"
