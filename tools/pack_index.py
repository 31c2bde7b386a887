"""Packs: where tools come from, and what belongs to them.

A pack is a package under `tools/packs/`, or a module that an installed distribution names in the entry-point group
`turnloom.packs`. A pack is loaded only if TURNLOOM_PACKS names it. What it owns beside its tools lies in its package
under these names; it may lack any of them:

    settings  its settings, a subclass of `models.runtime.environment_settings.EnvironmentSettings`
    tables    its tables, subclasses of `models.tables.base.Row`
    store     all SQL on them; the function `erase(db, tenant_id, conversation_id)` erases a conversation's content
    samples   the function `load()`, which `turnloom migrate` calls, brings data for tenants that have none of their own
    commands  click groups, which become commands of `turnloom`. Only the command line imports this module
    migrations/  the Alembic branch that makes its tables. Those of shipped packs are in the tree's own migrations/
    prompts/  texts, in folders like those of the tree's prompts/: reply templates, agents, playbooks, offline rules
"""

import importlib
import pkgutil
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from turnloom.models.errors import Conflict, NotFound
from turnloom.tools import packs

GROUP = "turnloom.packs"
"""The entry-point group: the name of each entry is the name of a pack."""

_names: dict[str, str] = {"turnloom.tools.mcp": "mcp"}
"""Module of each pack that has been loaded -> its name."""


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack that can be enabled."""

    name: str
    module: str
    """A module, or a package whose modules are all loaded."""
    distribution: str | None
    """The installed distribution that contains it; None for packs under `tools/packs/`."""

    def part(self, name: str) -> ModuleType | None:
        """Import a module of the pack, such as `store`; None if the pack has none of this name.

        Raises:
            NotFound: it cannot be imported. The message names the pack and the fault.
        """
        with _importing(self):
            package = importlib.import_module(self.module)
            module = f"{self.module}.{name}"
            is_there = hasattr(package, "__path__") and find_spec(module) is not None
            return importlib.import_module(module) if is_there else None

    def folder(self, name: str) -> Path | None:
        """Return a folder in the pack's package, such as `migrations`; None if it has none of this name.

        Raises:
            NotFound: the package cannot be imported. The message names the pack and the fault.
        """
        with _importing(self):
            package = importlib.import_module(self.module)
        places = (Path(place) / name for place in getattr(package, "__path__", ()))
        return next((place for place in places if place.is_dir()), None)

    def __str__(self) -> str:
        return f"{self.module} of {self.distribution}" if self.distribution else self.module


def shipped_packs() -> list[Pack]:
    """Return the packs under `tools/packs/`."""
    names = sorted(module.name for module in pkgutil.iter_modules(packs.__path__))
    return [Pack(name, f"{packs.__name__}.{name}", None) for name in names]


def find_packs(names: Iterable[str]) -> list[Pack]:
    """Return the packs with these names, loaded or not.

    Raises:
        NotFound: no pack has one of the names.
        Conflict: several packs have one of the names.
    """
    installed = defaultdict(list)
    for pack in [*shipped_packs(), *_plug_ins(tuple(sys.path))]:
        installed[pack.name].append(pack)
    found = []
    for name in names:
        match installed.get(name, []):
            case [pack]:
                found.append(pack)
            case []:
                known = ", ".join(sorted(installed))
                raise NotFound(f"there is no tool pack {name!r}; installed are {known}; look at TURNLOOM_PACKS")
            case several:
                raise Conflict(f"the tool pack {name!r} is installed more than once: {', '.join(map(str, several))}")
    return found


def known_packs(enabled: Iterable[str]) -> list[Pack]:
    """Return every shipped pack, and the enabled ones of other distributions.

    Raises:
        NotFound: no pack has one of the names.
        Conflict: several packs have one of the names.
    """
    shipped = shipped_packs()
    return [*shipped, *(pack for pack in find_packs(enabled) if pack not in shipped)]


def branches(enabled: Iterable[str]) -> dict[str, Path]:
    """Return the folders of the migrations of the enabled packs, by pack.

    Raises:
        NotFound: no pack has one of the names, or its package cannot be imported.
        Conflict: several packs have one of the names.
    """
    return {pack.name: folder for pack in find_packs(enabled) if (folder := pack.folder("migrations"))}


def prompt_folders(enabled: Iterable[str]) -> list[Path]:
    """Return the folders of prompts that the enabled packs bring, in the order of their names in TURNLOOM_PACKS.

    Raises:
        NotFound, Conflict: as for `branches`.
    """
    return [folder for pack in find_packs(enabled) if (folder := pack.folder("prompts"))]


def load_pack(pack: Pack) -> None:
    """Import every module of a pack that a process with its tools needs: all but its commands.

    Raises:
        NotFound: a module cannot be imported. The message names the pack and the fault.
    """
    _names[pack.module] = pack.name
    with _importing(pack):
        package = importlib.import_module(pack.module)
        for module in pkgutil.iter_modules(getattr(package, "__path__", ()), prefix=f"{package.__name__}."):
            if module.name != f"{package.__name__}.commands":
                importlib.import_module(module.name)


def pack_of(module: str) -> str:
    """Return the name of the pack that a module belongs to."""
    parts = module.split(".")
    parents = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((_names[parent] for parent in parents if parent in _names), parts[0])


@contextmanager
def _importing(pack: Pack) -> Iterator[None]:
    try:
        yield
    except (Exception, SystemExit) as error:
        # SystemExit too: the code is foreign, and the message must say which pack it belongs to.
        reason = f"{type(error).__name__}: {error}"
        raise NotFound(f"the tool pack {pack.name!r} ({pack}) cannot be loaded: {reason}") from error


@lru_cache(maxsize=1)
def _plug_ins(_search_path: tuple[str, ...]) -> list[Pack]:
    """Return the packs of the distributions on this path. A process finds those that were installed before its start.

    Searching reads the metadata of every distribution, and a process asks for its packs several times.
    """
    return [
        Pack(entry.name, entry.module, entry.dist.name if entry.dist else "an unknown package")
        for entry in entry_points(group=GROUP)
    ]
