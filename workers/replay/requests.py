"""A replay is made from a request: what it replays is chosen and kept, and the texts that it uses are checked."""

import random
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from uuid import UUID

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.foreign import ForeignConversation
from turnloom.models.contracts.override import LARGEST_TEXT, NO_OVERRIDES
from turnloom.models.contracts.replay_request import ReplayOptions, ReplayRequest
from turnloom.models.errors import Invalid, NotFound
from turnloom.models.ledger import foreign, recorded, replays
from turnloom.models.ledger.override_cache import read_overrides
from turnloom.models.ledger.replays import NewConversation
from turnloom.models.runtime.settings import settings
from turnloom.planner.tenant_texts import Tailored, tailor, with_texts
from turnloom.workers.dispatch import send
from turnloom.workers.replay.recorded_turns import recorded_turn

_AT_ONCE = 64
"""Most tasks that work on one replay. Each takes one conversation after another."""
_UNUSED = ("golden", "offline")
"""Folders under prompts/ whose texts no agent is told."""


def make(tenant_id: UUID, request: ReplayRequest, *, by_operator: bool = False) -> UUID:
    """Record a replay and send it to the workers. Returns its id.

    Only an operator may name a language model that the settings do not: it is asked for at the default endpoint.

    Raises:
        Invalid: a text cannot be used, or no agent, or no language model of the settings, has the name.
        NotFound: there is nothing to replay.
        Conflict: the one turn to replay has not ended, or has no reply of an agent's own.
    """
    texts, made = texts_with(tenant_id, request.prompts)
    _check_agent(request, made)
    if not by_operator:
        check_model(request.model)
    request, listed = _chosen(tenant_id, request)
    options = ReplayOptions(
        **request.model_dump(include=set(ReplayOptions.model_fields) & set(ReplayRequest.model_fields)),
        texts=texts,
        changed=sorted(request.prompts),
        source="ledger" if request.conversations is None else "request",
    )
    with transaction(tenant_id) as db:
        replay_id = replays.make(db, tenant_id, options.kept(), listed)
    dispatch(replay_id, len(listed))
    return replay_id


def dispatch(replay_id: UUID, conversations: int) -> None:
    """Send tasks for a replay. If the broker is out, they are sent later."""
    for _ in range(min(conversations, _AT_ONCE)):
        send("replay", replay_id, queue="replay")


def texts_with(tenant_id: UUID, changed: dict[str, str]) -> tuple[dict[str, str], Tailored]:
    """Return the texts of a tenant, with those that a replay changes in place of them, and the agents and prompts.

    Raises:
        Invalid: a changed text cannot be used.
    """
    texts = {name: override.text for name, override in read_overrides(tenant_id).texts.items()} | changed
    made = tailored(texts)
    if refused := [made.refused[name] for name in sorted(changed) if name in made.refused]:
        raise Invalid("; ".join(refused))
    return texts, made


def check_model(name: str | None) -> None:
    """Refuse a language model that the settings do not name.

    Raises:
        Invalid: there is none of this name.
    """
    if name not in (None, *settings().llm_names):
        allowed = ", ".join(settings().llm_names)
        raise Invalid(f"there is no language model {name!r}; TURNLOOM_LLM_MODELS allows {allowed}")


def tailored(texts: Mapping[str, str]) -> Tailored:
    """Return the agents and prompts with these texts over the shipped ones."""
    return with_texts(tailor(NO_OVERRIDES), texts)


def changed_texts(folder: Path) -> dict[str, str]:
    """Return the texts of a folder like prompts/ that differ from the shipped ones.

    Raises:
        Invalid: the folder has no texts, or changes some that no agent is told.
    """
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix in (".j2", ".yaml")]
    if not paths:
        raise Invalid(f"{folder} has no texts; make it like prompts/, such as {folder}/planning/message.j2")
    found = {}
    for path in paths:
        name, text = path.relative_to(folder), _text(path)
        shipped = settings().prompts_dir / name
        if shipped.is_file() and shipped.read_text("utf-8") == text:
            continue
        if name.parts[0] in _UNUSED:
            raise Invalid(f"{path}: a replay cannot change the texts under {name.parts[0]}/")
        found[name.with_suffix("").as_posix()] = text
    return found


def _chosen(tenant_id: UUID, request: ReplayRequest) -> tuple[ReplayRequest, list[NewConversation]]:
    """Return a request, with the id of its turn as we spell it, and the conversations that it means."""
    if request.turn_id is not None:
        conversation, turn = recorded_turn(tenant_id, request.turn_id, earlier=0)
        return request.model_copy(update={"turn_id": turn.turn_id}), [NewConversation(conversation.conversation_id)]
    listed = _sampled(_listed(tenant_id, request), request)
    if not listed:
        raise NotFound("there is no recorded conversation of this time and agent")
    return request, listed


def _listed(tenant_id: UUID, request: ReplayRequest) -> list[NewConversation]:
    if request.conversations is not None:
        return [_foreign(each) for each in request.conversations]
    assert request.since is not None
    when = (request.since, request.until, request.agent)
    with transaction(tenant_id) as db:
        found = recorded.find(db, tenant_id, *when, request.last)
        kept = foreign.kept(db, tenant_id, *when) if request.last is None else []
    return [NewConversation(each) for each in found] + [_foreign(each) for each in kept]


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(LARGEST_TEXT + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} cannot be read: {error}") from error


def _check_agent(request: ReplayRequest, made: Tailored) -> None:
    if request.agent is not None:
        try:
            made.agents.get(request.agent)
        except NotFound as error:
            raise Invalid(str(error)) from error


def _foreign(conversation: ForeignConversation) -> NewConversation:
    return NewConversation(conversation.conversation_id, conversation)


def _sampled(listed: list[NewConversation], request: ReplayRequest) -> list[NewConversation]:
    if request.sample is None or request.sample >= len(listed):
        return listed
    chosen = random.Random(request.seed).sample(range(len(listed)), request.sample)  # noqa: S311 - to be repeatable
    return [listed[place] for place in sorted(chosen)]


def is_in_time(at: datetime, options: ReplayOptions) -> bool:
    """Return whether a turn that was received then is to be replayed."""
    return (options.since is None or at >= options.since) and (options.until is None or at < options.until)
