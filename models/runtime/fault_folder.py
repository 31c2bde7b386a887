"""The folder of a running stack's faults: what goes wrong, and the counts by which it is chosen.

The embedded stack makes it if it is given a fault file, and its processes find it by TURNLOOM_FAULTS. No other process
may have that setting. For each count the folder has a file to which a process appends one byte: the file's length is
then the number, whichever process counts, and a process that dies leaves nothing behind.
"""

import os
import shutil
from functools import lru_cache
from pathlib import Path

from turnloom.models.contracts.fault_file import FaultChoice, FaultFile
from turnloom.models.errors import Misconfigured
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings

_FILE = "faults.json"


class FaultFolder:
    """The faults of a running stack, which all its processes share."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.file = FaultFile.model_validate_json((path / _FILE).read_bytes())

    def strikes(self, fault: FaultChoice, name: str, scope: str = "") -> bool:
        """Count one more of those that a fault may strike, and return whether it strikes this one.

        `name` names the fault. `nth` counts within `scope`, and `chance` over all.
        """
        if fault.chance is None and fault.nth is None:
            return True
        number = self._count(f"{name}-{scope}" if fault.nth and scope else name)
        return fault.strikes(f"{name}|{number}", number, self.file.seed)

    def _count(self, name: str) -> int:
        # After a write at the end of a file, the descriptor stands behind what it has written itself.
        file = os.open(self._path / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, b".")
            return os.lseek(file, 0, os.SEEK_CUR)
        finally:
            os.close(file)


def make_fault_folder(path: Path, file: FaultFile) -> None:
    """Make the folder of a stack's faults, without any counts."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700)
    (path / _FILE).write_text(file.model_dump_json(), "utf-8")


def injected_faults() -> FaultFolder | None:
    """Return the faults of this process's stack; None if it has none, as always outside the embedded stack."""
    path = settings().faults
    return None if path is None else _opened(path)


def refuse_faults() -> None:
    """Refuse to start a process that would go wrong on purpose.

    Raises:
        Misconfigured: TURNLOOM_FAULTS is set.
    """
    if settings().faults is not None:
        raise Misconfigured(
            "TURNLOOM_FAULTS is set: it lets tool calls fail on purpose. Unset it; only `turnloom up --faults FILE`"
            " sets it, for its own processes"
        )


@lru_cache(maxsize=1)
def _opened(path: Path) -> FaultFolder:
    folder = FaultFolder(path)
    log.warning("faults.injected", tool_faults=len(folder.file.faults), duplicates=len(folder.file.duplicates))
    return folder
