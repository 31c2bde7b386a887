"""The liveness file of a worker or of beat is touched every two seconds while it lives, so that probing it is cheap.

The file says that a process lives and runs its threads, whether or not Postgres and Redis answer. Restarting workers
because a server is out would only delay their work afterwards.
"""

import os
import tempfile
import time
from pathlib import Path
from socket import gethostname
from typing import Literal

from turnloom.models.errors import Unavailable
from turnloom.models.runtime.daemon import Daemon
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings

Kind = Literal["worker", "beat"]

_INTERVAL_S = 2.0
_ALIVE_S = 6.0
"""A process counts as gone when three touches are missed, as it does with three heartbeats."""


class LivenessFile:
    """The liveness file of one process, which a thread touches until it is stopped."""

    def __init__(self, kind: Kind, name: str) -> None:
        """`name`: the process and its machine, such as `worker-plan@host`."""
        self._file = _folder() / f"{name}.{kind}"
        self._daemon = Daemon("pulse", self._file.touch, every_s=_INTERVAL_S)

    def start(self) -> None:
        """Touch the file now, and go on in the background. If the file cannot be made, the process has none."""
        folder = self._file.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.lstat().st_uid != os.getuid():
                raise PermissionError(f"{folder} belongs to another user")
            self._file.touch()
        except OSError as error:
            log.warning("pulse.unwritable", file=str(self._file), error=str(error))
            return
        self._daemon.start()

    def stop(self) -> None:
        """Remove the file, because the process ends."""
        self._daemon.ask_to_stop()
        self._file.unlink(missing_ok=True)


def check(kind: Kind, name: str | None = None) -> int:
    """Return how many processes of a kind live on this machine, at least one; with a name, only those of that name.

    Raises:
        Unavailable: there is none, or one has shown no sign of life for six seconds.
    """
    folder = _folder()
    files = [folder / f"{name}@{gethostname()}.{kind}"] if name else sorted(folder.glob(f"*.{kind}"))
    if not files:
        raise Unavailable(f"no {kind} has started here: {folder} (TURNLOOM_RUN_DIR) holds no file of one")
    for file in files:
        if (age_s := _age_s(file)) is None:
            raise Unavailable(f"{file.stem} does not run here: there is no file {file}")
        if age_s > _ALIVE_S:
            mend = f"restart it, or remove {file} if it is no longer meant to run"
            raise Unavailable(f"{file.stem} has shown no sign of life for {age_s:.0f} s; {mend}")
    return len(files)


def _folder() -> Path:
    return settings().run_dir or Path(tempfile.gettempdir()) / f"turnloom-{os.getuid()}"


def _age_s(file: Path) -> float | None:
    try:
        return time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return None
