"""Judge a run: what the ledger says of each message against what the provider took."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

from turnloom.models.ledger.channel_answers import AnsweredMessage
from turnloom.workers.simulator.protocol import WrittenMessage
from turnloom.workers.simulator.provider import TakenMessage


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The counts of a run. A message that was merged into another's turn is answered with it."""

    sent: int
    accepted: int
    answered_once: int
    answered_twice: int
    unanswered: int
    out_of_order: int

    @property
    def is_good(self) -> bool:
        """Whether every message was answered once, in order."""
        return not (self.answered_twice or self.unanswered or self.out_of_order)

    def counts(self) -> dict[str, int]:
        """Return the counts by name."""
        return asdict(self)


def judge(
    written: Sequence[WrittenMessage],
    accepted: set[str],
    taken: Sequence[TakenMessage],
    answered: Mapping[str, AnsweredMessage],
) -> RunVerdict:
    """Return the verdict. `answered` has the messages that the ledger knows, by id."""
    places = {message.provider_id: message.place for message in taken}
    firsts = {name: _first_place(answer, places) for name, answer in answered.items()}
    templates = {message.place for message in taken if message.sending.is_template}
    unanswered = sum(firsts.get(message.id) is None for message in written)
    twice = _twice(taken, answered)
    return RunVerdict(
        sent=len(written),
        accepted=len(accepted),
        answered_once=len(written) - unanswered - twice,
        answered_twice=twice,
        unanswered=unanswered,
        out_of_order=_out_of_order(
            written, answered, {name: None if place in templates else place for name, place in firsts.items()}
        ),
    )


def _first_place(answer: AnsweredMessage, places: Mapping[str, int]) -> int | None:
    """Return where the answer stands among all that the provider took; None if it is not there."""
    found = [places[part.provider_id] for part in answer.parts if part.provider_id and part.provider_id in places]
    return min(found, default=None)


def _twice(taken: Sequence[TakenMessage], answered: Mapping[str, AnsweredMessage]) -> int:
    """Return how many more messages people got than there are parts: each was sent again."""
    parts = {
        (answer.turn_id, part.number): answer.recipient
        for answer in answered.values()
        for part in answer.parts
        if part.is_out
    }
    meant = Counter(parts.values())
    got = Counter(message.sending.recipient for message in taken)
    return sum(max(0, number - meant[recipient]) for recipient, number in got.items())


def _out_of_order(
    written: Sequence[WrittenMessage], answered: Mapping[str, AnsweredMessage], firsts: Mapping[str, int | None]
) -> int:
    """Return how many messages were answered after one that was written later.

    A message that arrived when the work on the later one had begun cannot be answered before it, and is not counted.
    Nor is one that is answered with a template: the provider may have told late that the window was closed.
    """
    by_person: dict[str, list[WrittenMessage]] = defaultdict(list)
    for message in written:
        by_person[message.person].append(message)
    pairs = [pair for theirs in by_person.values() for pair in pairwise(theirs)]
    return sum(_is_late(earlier, later, answered, firsts) for earlier, later in pairs)


def _is_late(
    earlier: WrittenMessage,
    later: WrittenMessage,
    answered: Mapping[str, AnsweredMessage],
    firsts: Mapping[str, int | None],
) -> bool:
    one, other = firsts.get(earlier.id), firsts.get(later.id)
    if one is None or other is None or one <= other:
        return False
    begun_at = answered[later.id].begun_at
    return begun_at is None or answered[earlier.id].accepted_at < begun_at
