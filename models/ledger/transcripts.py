"""Transcripts are whole conversations that clients send each time. The turns that answered them are found by digest."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import psycopg

from turnloom.models.ledger.turns import OpenedTurn

BLANKS = " \t\r\n"
"""Characters at the ends of a reply that clients may drop."""
RETRIED_WITHIN_S = 900
"""A retry comes within this time. The official client waits up to 600 seconds for an answer."""


class AnsweredTranscript(NamedTuple):
    """A transcript up to a message of the user, and the reply that the client has got."""

    tenant_id: UUID
    digest: bytes
    reply: str


class SentTranscript(NamedTuple):
    """A request with a transcript."""

    tenant_id: UUID
    digest: bytes
    body_hash: bytes


class Continued(NamedTuple):
    """The conversation that a transcript continues, and its last turn."""

    conversation_id: str
    seq: int


# Of the same few words, many may have been said: only the newest are looked at.
_CONTINUED = """
SELECT k.place, found.conversation_id, found.seq
  FROM unnest(%s::uuid[], %s::bytea[], %s::text[]) WITH ORDINALITY AS k (tenant_id, digest, reply, place)
 CROSS JOIN LATERAL (
   SELECT t.conversation_id, t.seq
     FROM (SELECT x.tenant_id, x.id, x.conversation_id, x.seq, x.created_at FROM turns x
            WHERE x.tenant_id = k.tenant_id AND x.transcript_digest = k.digest
            ORDER BY x.created_at DESC LIMIT 50) t
     JOIN conversations c ON c.tenant_id = t.tenant_id AND c.id = t.conversation_id AND c.last_seq = t.seq
     JOIN replies r ON r.tenant_id = t.tenant_id AND r.turn_id = t.id
    WHERE btrim(r.text, %s) = k.reply
    ORDER BY t.created_at DESC LIMIT 1) found
"""
_REPEATED = """
SELECT k.place, found.id, found.conversation_id, found.seq
  FROM unnest(%s::uuid[], %s::bytea[], %s::bytea[]) WITH ORDINALITY AS k (tenant_id, digest, body_hash, place)
 CROSS JOIN LATERAL (
   SELECT t.id, t.conversation_id, t.seq FROM turns t
    WHERE t.tenant_id = k.tenant_id AND t.transcript_digest = k.digest AND t.body_hash = k.body_hash
      AND t.created_at > clock_timestamp() - make_interval(secs => %s)
    ORDER BY t.created_at DESC LIMIT 1) found
"""


def continued(db: psycopg.Connection, said: Sequence[AnsweredTranscript]) -> Mapping[AnsweredTranscript, Continued]:
    """Return the conversations of which these transcripts are the whole so far, those that there are."""
    rows = db.execute(_CONTINUED, (*_columns(said), BLANKS), prepare=True)
    return {said[place - 1]: Continued(conversation_id, seq) for place, conversation_id, seq in rows}


def repeated(db: psycopg.Connection, sent: Sequence[SentTranscript]) -> Mapping[SentTranscript, OpenedTurn]:
    """Return the turns that the same requests have opened lately, those that there are."""
    rows = db.execute(_REPEATED, (*_columns(sent), RETRIED_WITHIN_S), prepare=True)
    return {
        sent[place - 1]: OpenedTurn("repeated", turn_id, conversation_id, seq, is_sent=False, closed=None)
        for place, turn_id, conversation_id, seq in rows
    }


def _columns(keys: Iterable[AnsweredTranscript | SentTranscript]) -> Iterable[list[UUID | bytes | str]]:
    return (list(column) for column in zip(*keys, strict=True))
