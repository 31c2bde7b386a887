"""Open the turn for a transcript: in the conversation that it continues, or in a new one that knows what was said.

A transcript continues a conversation if it is the whole of it: the same messages of the same user, and the reply that
the last turn got. If the conversation has gone on meanwhile, or anything differs, a new conversation begins, with the
transcript as its past.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from flask import request

from turnloom.models.connections.database import statement
from turnloom.models.contracts.manner import Manner
from turnloom.models.contracts.turn import TurnAccepted, TurnRequest
from turnloom.models.ledger import transcripts
from turnloom.models.ledger.transcripts import BLANKS, AnsweredTranscript, Continued, SentTranscript
from turnloom.models.ledger.turns import NewTurn, OpenedTurn
from turnloom.models.runtime.ids import new_id
from turnloom.web import backlog
from turnloom.web.ingest import open_turn
from turnloom.web.message_checks import new_turn
from turnloom.web.openai_front.transcript import Transcript
from turnloom.web.shared_reads import read
from turnloom.web.turn_answers import answer_for


def open_transcript(
    transcript: Transcript, message: TurnRequest, manner: Manner | None = None
) -> tuple[TurnAccepted, OpenedTurn]:
    """Record the message of a transcript as a turn. The caller hands the turn on.

    Raises:
        Conflict: the request's `Idempotency-Key` came before with another body.
        Invalid: the message asks for something that we do not support.
        Unavailable: the backlog is full, Postgres does not answer, or too many are waiting.
    """
    with backlog.asking(message.priority) as asked:
        new = _new_turn(transcript, message, manner, may_open=asked.may_open)
        opened = _opened_before(new) or _opened(new)
        asked.is_opened = opened.outcome == "opened"
    return answer_for(new, opened, asked.full), opened


def _new_turn(transcript: Transcript, message: TurnRequest, manner: Manner | None, *, may_open: bool) -> NewTurn:
    user_id = message.user.id if message.user else None
    new, digest = new_turn(message, may_open=may_open), transcript.digest(user_id)
    wanted = manner.model_dump_json().encode() if manner else b""
    new = replace(
        new,
        body_hash=hashlib.sha256(new.body_hash + digest + wanted).digest(),
        manner=manner,
        transcript_digest=digest,
        past=transcript.past,
    )
    found = _continued(new, transcript, user_id) if message.conversation_id is None else None
    return replace(new, conversation_id=found.conversation_id, after_seq=found.seq) if found else new


def _continued(new: NewTurn, transcript: Transcript, user_id: str | None) -> Continued | None:
    if transcript.last_reply is None:
        return None
    digest, reply = transcript.digest_before_reply(user_id), transcript.last_reply.strip(BLANKS)
    return read(_conversations, AnsweredTranscript(new.tenant_id, digest, reply))


def _opened_before(new: NewTurn) -> OpenedTurn | None:
    """Return the turn that an earlier attempt of this request has opened.

    OpenAI's client numbers its attempts and sends no key with them. With a key, the ledger knows the message itself.
    """
    is_retry = request.headers.get("X-Stainless-Retry-Count", "0") != "0"
    if not is_retry or new.request.message_id is not None or new.transcript_digest is None:
        return None
    return read(_turns, SentTranscript(new.tenant_id, new.transcript_digest, new.body_hash))


def _opened(new: NewTurn) -> OpenedTurn:
    opened = open_turn(new)
    if opened.outcome == "moved":
        opened = open_turn(replace(new, conversation_id=str(new_id()), after_seq=None))
    return opened


def _conversations(said: Sequence[AnsweredTranscript]) -> Mapping[AnsweredTranscript, Continued]:
    with statement({each.tenant_id for each in said}) as db:
        return transcripts.continued(db, said)


def _turns(sent: Sequence[SentTranscript]) -> Mapping[SentTranscript, OpenedTurn]:
    with statement({each.tenant_id for each in sent}) as db:
        return transcripts.repeated(db, sent)
