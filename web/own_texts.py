"""Show the prompts, agents and other texts that a tenant has in effect; try, set, roll back and remove its own."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from apiflask import APIBlueprint
from flask import Response
from pydantic import Field

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.override import NO_OVERRIDES, Overrides
from turnloom.models.contracts.own_texts import (
    OldText,
    TextChange,
    TextCheck,
    TextDetail,
    TextEdit,
    TextInEffect,
    TextList,
    TextSet,
    TextTrial,
)
from turnloom.models.errors import Invalid, NotFound
from turnloom.models.ledger import overrides
from turnloom.models.ledger.override_cache import read_overrides
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.models.tables.overrides import OverrideRow
from turnloom.planner.tenant_texts import Tailored, assemble, unsaid_texts
from turnloom.web.auth import caller, requires
from turnloom.web.json_body import json_response
from turnloom.web.text_trials import tried

_MOST_CHANGES = 100

_Made = tuple[str, datetime]
"""Who made a change, and when."""

blueprint = APIBlueprint("own_texts", __name__, url_prefix="/v1/prompts", tag="Prompts")


class TextQuery(Contract):
    """The version to show."""

    version: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    """A version of the tenant's own texts; without it, the text in effect."""


@blueprint.get("")
@requires("admin")
@blueprint.output(TextList)
@blueprint.doc(operation_id="list_texts")
def texts() -> Response:
    """List the prompts, agents, playbooks and languages in effect for the tenant: whose, by whom, since when."""
    own, tailored = _in_effect()
    changed = _newest()
    return json_response(TextList(items=[_shown(name, own, tailored, changed.get(name)) for name in tailored.names()]))


@blueprint.get("/<path:name>")
@requires("admin")
@blueprint.input(TextQuery, location="query")
@blueprint.output(TextDetail)
@blueprint.doc(operation_id="get_text")
def text(name: str, query_data: TextQuery) -> Response:
    """Show a text with what is shipped and its history, or the text that a version has set."""
    if query_data.version is not None:
        return json_response(OldText(name=name, version=query_data.version, text=_old(name, query_data.version)))
    own, tailored = _in_effect()
    if name not in tailored.names():
        raise NotFound(f"there is no text {name!r}; GET /v1/prompts lists them")
    with transaction(caller().tenant_id) as db:
        rows = overrides.history(db, caller().tenant_id, name)[:_MOST_CHANGES]
        history = [_change(row) for row in rows]
    shown = _shown(name, own, tailored, (history[0].by, history[0].at) if history else None)
    detail = {"text": _found(tailored.text, name), "shipped": _found(_shipped().text, name), "history": history}
    return json_response(TextDetail(**shown.model_dump(), **detail))


@blueprint.post("/check")
@requires("admin")
@blueprint.input(TextTrial)
@blueprint.output(TextCheck)
@blueprint.doc(operation_id="check_text")
def check(json_data: TextTrial) -> Response:
    """Try a text as the tenant's own, without setting it: whether it can be used, and what it says or changes.

    With a recorded turn: what a template of replies says about it; of other texts, the prompts of its first plan and of
    its reply, without the change and with it. No language model is asked.
    """
    return json_response(tried(_in_effect()[1], json_data))


@blueprint.put("/<path:name>")
@requires("admin")
@blueprint.input(TextEdit)
@blueprint.output(TextSet)
@blueprint.doc(operation_id="put_text")
def put_text(name: str, json_data: TextEdit) -> Response:
    """Set the tenant's own text, or roll back to an earlier one. It is checked first, and counts within seconds."""
    if (json_data.text is None) == (json_data.version is None):
        raise Invalid("give either `text` or `version`")
    new = json_data.text if json_data.version is None else _old(name, json_data.version)
    assert new is not None
    tailored = _in_effect()[1].with_text(name, new)
    warnings = unsaid_texts(name, new, tailored)
    return json_response(
        TextSet(name=name, version=_write(name, new), source=_found(tailored.source, name), warnings=warnings)
    )


@blueprint.delete("/<path:name>")
@requires("admin")
@blueprint.output(TextSet)
@blueprint.doc(operation_id="remove_text")
def remove(name: str) -> Response:
    """Remove the tenant's own text, so that the shipped one counts again. The history keeps it."""
    found = read_overrides(caller().tenant_id).texts.get(name)
    if found is None or found.origin != "ledger":
        raise NotFound(f"the ledger has no text of this tenant for {name!r}")
    version = _write(name, None)
    return json_response(TextSet(name=name, version=version, source=_found(_in_effect()[1].source, name)))


def _in_effect() -> tuple[Overrides, Tailored]:
    """Return the tenant's own texts, and all that is in effect for it, as they are now."""
    own = read_overrides(caller().tenant_id)
    return own, assemble(own, settings().prompts_dir)


def _shipped() -> Tailored:
    return assemble(NO_OVERRIDES, settings().prompts_dir)


def _newest() -> dict[str, _Made]:
    with transaction(caller().tenant_id) as db:
        return {row.name: (row.created_by, row.created_at) for row in overrides.newest(db, caller().tenant_id)}


def _old(name: str, version: int) -> str:
    with transaction(caller().tenant_id) as db:
        return overrides.at_version(db, caller().tenant_id, name, version).text or ""


def _write(name: str, new: str | None) -> int:
    by = f"key {caller().key_id}"
    with transaction(caller().tenant_id) as db:
        version = overrides.write(db, caller().tenant_id, name, new, by)
    log.info("override.set" if new is not None else "override.removed", name=name, version=version, by=by)
    return version


def _shown(name: str, own: Overrides, tailored: Tailored, last: _Made | None) -> TextInEffect:
    refused = tailored.refused.get(name)
    return TextInEffect(
        name=name,
        source=_found(tailored.source, name),
        origin=own.texts[name].origin if name in own.texts and not refused else "shipped",
        refused=refused,
        set_by=last[0] if last else None,
        set_at=last[1] if last else None,
    )


def _change(row: OverrideRow) -> TextChange:
    change = "removed" if row.text is None else "set"
    return TextChange.model_validate(
        {"version": row.version, "change": change, "by": row.created_by, "at": row.created_at}
    )


def _found(read: Callable[[str], str], name: str) -> str | None:
    """Return what is read of the text in effect; None if there is none."""
    try:
        return read(name)
    except NotFound:
        return None
