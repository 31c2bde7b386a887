"""List, show and erase conversations, and list the audit records of one."""

from datetime import UTC, datetime
from typing import Annotated

from apiflask import APIBlueprint
from flask import Response
from pydantic import Field, TypeAdapter

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.base import rfc3339
from turnloom.models.contracts.knowledge import KnowledgePage
from turnloom.models.contracts.listing import AuditPage, ConversationPage, ConversationView, TurnPage
from turnloom.models.contracts.memory import MemoryView
from turnloom.models.contracts.turn import Identifier
from turnloom.models.ledger import audit, knowledge, memory
from turnloom.models.ledger import conversations as ledger
from turnloom.models.ledger.tenant_audit import CHAIN
from turnloom.models.runtime.logging import log
from turnloom.planner.knowledge.graph import recalled
from turnloom.planner.knowledge.relevance import score
from turnloom.tools.erasure import erase_conversation
from turnloom.web.auth import caller, requires
from turnloom.web.catalogue import catalogue
from turnloom.web.conversation_view import audit_view, conversation_view, memory_view, turn_summary
from turnloom.web.json_body import json_response
from turnloom.web.knowledge_view import knowledge_page
from turnloom.web.paging import PageQuery, cut, read_cursor
from turnloom.web.url_ids import known_id

_LAST_TOUCHED: TypeAdapter[tuple[datetime, str]] = TypeAdapter(tuple[datetime, Identifier])
_ENTITY: TypeAdapter[str] = TypeAdapter(Annotated[str, Field(min_length=1)])
_SEQ: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(ge=0, lt=2**31)])

blueprint = APIBlueprint("conversations", __name__, url_prefix="/v1", tag="Conversations")


class AuditQuery(PageQuery):
    """The conversation whose audit records to list, and the page."""

    conversation_id: Identifier | None = None
    """If it is left out, the tenant's own records are listed: what was done to it and belongs to no conversation."""


@blueprint.get("/conversations")
@requires("admin")
@blueprint.input(PageQuery, location="query")
@blueprint.output(ConversationPage)
@blueprint.doc(operation_id="list_conversations")
def conversations(query_data: PageQuery) -> Response:
    """List the tenant's conversations, the most recently updated first."""
    before = read_cursor(_LAST_TOUCHED, query_data.cursor)
    with transaction(caller().tenant_id) as db:
        rows = ledger.page(db, caller().tenant_id, before, query_data.limit + 1)
        items = [conversation_view(row) for row in rows]
    items, cursor = cut(items, query_data.limit, lambda item: [rfc3339(item.updated_at), item.conversation_id])
    return json_response(ConversationPage(items=items, next_cursor=cursor))


@blueprint.get("/conversations/<conversation:conversation_id>")
@requires("turns:read")
@blueprint.output(ConversationView)
@blueprint.doc(operation_id="get_conversation")
def conversation(conversation_id: str) -> Response:
    """Show a conversation."""
    with transaction(caller().tenant_id) as db:
        row = ledger.get(db, caller().tenant_id, known_id(conversation_id, "conversation"))
        return json_response(conversation_view(row))


@blueprint.get("/conversations/<conversation:conversation_id>/turns")
@requires("turns:read")
@blueprint.input(PageQuery, location="query")
@blueprint.output(TurnPage)
@blueprint.doc(operation_id="list_turns")
def turns_of(conversation_id: str, query_data: PageQuery) -> Response:
    """List a conversation's turns with their replies, oldest first."""
    after = read_cursor(_SEQ, query_data.cursor) or 0
    with transaction(caller().tenant_id) as db:
        ledger.get(db, caller().tenant_id, known_id(conversation_id, "conversation"))
        rows = ledger.turns_of(db, caller().tenant_id, conversation_id, after, query_data.limit + 1)
        items = [turn_summary(turn, reply) for turn, reply in rows]
    items, cursor = cut(items, query_data.limit, lambda item: item.seq)
    return json_response(TurnPage(items=items, next_cursor=cursor))


@blueprint.get("/conversations/<conversation:conversation_id>/memory")
@requires("turns:read")
@blueprint.output(MemoryView)
@blueprint.doc(operation_id="get_memory")
def memory_of(conversation_id: str) -> Response:
    """Show what a conversation keeps from turn to turn: settled slots, results that are still valid, a summary."""
    with transaction(caller().tenant_id) as db:
        row = ledger.get(db, caller().tenant_id, known_id(conversation_id, "conversation"))
        results = memory.of_conversation(db, caller().tenant_id, conversation_id)
    return json_response(memory_view(row, results, catalogue().agents))


@blueprint.get("/conversations/<conversation:conversation_id>/knowledge")
@requires("turns:read")
@blueprint.input(PageQuery, location="query")
@blueprint.output(KnowledgePage)
@blueprint.doc(operation_id="get_knowledge")
def knowledge_of(conversation_id: str, query_data: PageQuery) -> Response:
    """Show what a conversation knows: entities with scores, relationships, contradictions and hypotheses."""
    after = read_cursor(_ENTITY, query_data.cursor) or ""
    with transaction(caller().tenant_id) as db:
        row = ledger.get(db, caller().tenant_id, known_id(conversation_id, "conversation"))
        held = knowledge.load(db, caller().tenant_id, conversation_id)
        latest = ledger.turns_of(db, caller().tenant_id, conversation_id, row.last_seq - 1, 1)
    known = recalled(held.items, held.undone)
    scores = score(known, latest[0][0].message if latest else "", datetime.now(UTC))
    entities = [entity for name, entity in known.entities.items() if name > after]
    entities, cursor = cut(entities, query_data.limit, lambda entity: entity.id)
    return json_response(knowledge_page(known, entities, scores, cursor))


@blueprint.delete("/conversations/<conversation:conversation_id>")
@requires("admin")
@blueprint.output({}, 204, description="Erased")
@blueprint.doc(operation_id="erase_conversation")
def erase(conversation_id: str) -> Response:
    """Erase a conversation's content. Its turns, statuses, times and audit chain stay, without any text."""
    with transaction(caller().tenant_id) as db:
        erase_conversation(db, caller().tenant_id, known_id(conversation_id, "conversation"))
    log.info("conversation.erased", conversation_id=conversation_id, key_id=str(caller().key_id))
    return Response(status=204)


@blueprint.get("/audit")
@requires("admin")
@blueprint.input(AuditQuery, location="query")
@blueprint.output(AuditPage)
@blueprint.doc(operation_id="list_audit", tags=["Audit"])
def audit_records(query_data: AuditQuery) -> Response:
    """List the audit records of a conversation, or of the tenant itself, oldest first."""
    after = read_cursor(_SEQ, query_data.cursor) or 0
    with transaction(caller().tenant_id) as db:
        if query_data.conversation_id is not None:
            ledger.get(db, caller().tenant_id, query_data.conversation_id)
        chain = query_data.conversation_id or CHAIN
        rows = audit.page(db, caller().tenant_id, chain, after, query_data.limit + 1)
        items = [audit_view(row) for row in rows]
    items, cursor = cut(items, query_data.limit, lambda item: item.seq)
    return json_response(AuditPage(items=items, next_cursor=cursor))
