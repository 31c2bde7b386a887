"""The override cache holds each tenant's own texts, which replace those under prompts/.

The texts come from the ledger (`turnloom prompts set`) and from a folder per tenant in TURNLOOM_TENANT_PROMPTS_DIR. If
both have a name, the ledger wins. A cached value is valid for two seconds; then one statement and a look at the folder
tell whether anything has changed. While nothing has, the same object is returned, so that callers can cache what they
derive from it. One caller looks for all; the others use the old texts meanwhile, for at most another two seconds.

A conversation that a running rollout takes has the rollout's text over these. Conversations with the same rollouts get
the same object.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.override import LARGEST_TEXT, NO_OVERRIDES, Override, Overrides
from turnloom.models.contracts.rollout import RunningRollout
from turnloom.models.ledger import overrides, rollouts
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.models.runtime.ttl_cache import TtlCache

_FRESH_S, _KEPT_S = 2.0, 4.0
_REMEMBERED = 1_000
"""Most tenants that a process caches."""


class _File(NamedTuple):
    path: Path
    changed_at: int
    size: int


class _Stand(NamedTuple):
    """The state of all sources of overrides. It differs as soon as one of them changes."""

    version: int
    rollouts: tuple[UUID, ...]
    folder: Path | None
    files: tuple[_File, ...]


class _Known(NamedTuple):
    stand: _Stand
    overrides: Overrides
    rollouts: Sequence[RunningRollout]
    variants: dict[tuple[UUID, ...], Overrides]
    """The overrides with the texts of these rollouts, as far as a conversation has needed them."""

    def of(self, conversation_id: str) -> Overrides:
        """Return the texts of a conversation."""
        taking = [each for each in self.rollouts if each.takes(conversation_id)]
        if not taking:
            return self.overrides
        texts = {each.name: Override(each.text, "rollout") for each in taking}
        # Threads that come at the same time get the same object.
        return self.variants.setdefault(tuple(each.id for each in taking), Overrides({**self.overrides.texts, **texts}))


def overrides_of(tenant_id: UUID, conversation_id: str | None = None) -> Overrides:
    """Return a tenant's own texts, at most a few seconds old; with a conversation, those that it has.

    Raises:
        Unavailable: Postgres does not answer.
    """
    known = _known.get(tenant_id)
    assert known is not None
    return known.overrides if conversation_id is None else known.of(conversation_id)


def read_overrides(tenant_id: UUID) -> Overrides:
    """Return a tenant's own texts as they are now."""
    return _read(tenant_id, _stand(tenant_id))


def _look(tenant_id: UUID, before: _Known | None) -> _Known:
    stand = _stand(tenant_id)
    if before and before.stand == stand:
        return before
    return _Known(stand, _read(tenant_id, stand), _running(tenant_id, stand), {})


_known: TtlCache[UUID, _Known] = TtlCache(_look, fresh_s=_FRESH_S, kept_s=_KEPT_S, at_most=_REMEMBERED)


def _stand(tenant_id: UUID) -> _Stand:
    with statement([tenant_id]) as db:
        name, version, running = overrides.stand(db, tenant_id)
    folder = _folder(tenant_id, name)
    return _Stand(version, tuple(running), folder, tuple(sorted(_listed(folder))) if folder else ())


def _folder(tenant_id: UUID, name: str) -> Path | None:
    """Return a tenant's folder, which is named by its id or its name."""
    parent = settings().tenant_prompts_dir
    if parent is None:
        return None
    folders = [parent / str(tenant_id)]
    if name not in ("", ".", "..") and Path(name).name == name:
        folders.append(parent / name)
    return next((folder for folder in folders if folder.is_dir()), None)


def _listed(folder: Path) -> Iterator[_File]:
    for path in folder.rglob("*"):
        if path.suffix in (".j2", ".yaml"):
            try:
                stat = path.stat()
            except FileNotFoundError:
                continue  # removed since it was listed
            yield _File(path, stat.st_mtime_ns, stat.st_size)


def _read(tenant_id: UUID, stand: _Stand) -> Overrides:
    texts = {}
    for file in stand.files:
        assert stand.folder is not None
        text = _text(file.path)
        if text is not None:
            texts[file.path.relative_to(stand.folder).with_suffix("").as_posix()] = Override(text, "file")
    if stand.version:
        with transaction(tenant_id) as db:
            texts |= {name: Override(text, "ledger") for name, text in overrides.active(db, tenant_id).items()}
    return Overrides(texts) if texts else NO_OVERRIDES


def _running(tenant_id: UUID, stand: _Stand) -> Sequence[RunningRollout]:
    if not stand.rollouts:
        return ()
    with transaction(tenant_id) as db:
        return rollouts.running(db, tenant_id)


def _text(path: Path) -> str | None:
    """Return a file's text, cut off if too long, with wrong bytes kept: its reader refuses both."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return file.read(LARGEST_TEXT + 1)
    except OSError as error:
        log.warning("override.unreadable", path=str(path), error=str(error))
        return None
