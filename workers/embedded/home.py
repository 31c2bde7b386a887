"""Keep a stack's data, logs, process records and passwords in one directory. A directory serves one stack at a time."""

import base64
import fcntl
import json
import os
import secrets
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from turnloom.models.errors import Conflict, Unavailable
from turnloom.workers.embedded.pid_files import sweep

_PREFIX = "turnloom-"
_RECORDS = "run"
_ACCESS = "access.json"


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets of a stack, generated at its first start. Only the owner of the data directory can read them."""

    superuser: str
    owner: str
    application: str
    redis: str
    dev_key: str
    link_secret: str
    secret_key: str
    audit_key: str


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """The address of a running stack's API, and a key to it."""

    url: str
    key: str


class Home:
    """A data directory while a stack holds it.

    A given directory is kept. Without one, a temporary directory is made and removed at the end.
    """

    def __init__(self, data_dir: Path | None) -> None:
        self.ephemeral = data_dir is None
        if data_dir is None:
            _remove_abandoned()
        with writing(data_dir or Path(tempfile.gettempdir())):
            self._open(data_dir)

    def _open(self, data_dir: Path | None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX)) if data_dir is None else data_dir.resolve()
        self.logs = self.path / "logs"
        self.records = self.path / _RECORDS
        self.environment_file = self.path / "environment"
        self._lock = self._take()
        try:
            sweep(self.records)
            self.secrets = self._secrets()
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Release the directory; a temporary one is removed."""
        if self.ephemeral:
            shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()

    def publish(self, access: ApiAccess, environment: Mapping[str, str]) -> None:
        """Let the user's other commands find the running stack. `environment` goes into a file for shells to source."""
        write_private(self.path / _ACCESS, json.dumps(asdict(access)))
        exports = [f"export {name}={shlex.quote(value)}\n" for name, value in environment.items()]
        path = f'export PATH={shlex.quote(str(Path(sys.executable).parent))}:"$PATH"\n'
        write_private(self.environment_file, "".join([*exports, path]))

    def withdraw(self) -> None:
        """Remove what `publish` has written."""
        for path in (self.path / _ACCESS, self.environment_file):
            path.unlink(missing_ok=True)

    def _take(self) -> IO[str]:
        """Create the directories and take the lock. The kernel frees the lock however this process ends.

        Raises:
            Conflict: another stack holds the lock.
        """
        # Other users may pass through but not read: Postgres may have to run as another user.
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o711)
        for folder in (self.logs, self.records):
            folder.mkdir(mode=0o700, exist_ok=True)
        lock = (self.path / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            lock.close()
            raise Conflict(
                f"another stack (process {holder}) runs in {self.path}; stop it, or choose another --data-dir"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        return lock

    def _secrets(self) -> Secrets:
        path = self.path / "secrets.json"
        kept = json.loads(path.read_text()) if path.exists() else {}
        made = {name: secrets.token_urlsafe(24) for name in Secrets.__slots__}
        made["dev_key"] = f"tl_dev_{made['dev_key']}"
        # These are like the keys of `models.runtime.secrets.new_key`, but need no library.
        made["secret_key"] = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
        if made.keys() - kept.keys():  # the first start, or the first with a version that has another secret
            write_private(path, json.dumps(made | kept))
        return Secrets(**(made | kept))


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn an error of writing to a folder (no permission, no space left) into one sentence.

    Raises:
        Unavailable: the folder cannot be written to.
    """
    try:
        yield
    except OSError as error:
        file = f" ({error.filename})" if error.filename else ""
        mend = "make room, or choose another --data-dir"
        raise Unavailable(f"{folder} cannot hold the stack's data: {error.strerror}{file}; {mend}") from error


def published(data_dir: Path) -> ApiAccess | None:
    """Return how to reach the stack that runs in this directory; None if none does."""
    try:
        return ApiAccess(**json.loads((data_dir / _ACCESS).read_text()))
    except FileNotFoundError:
        return None


def _remove_abandoned() -> None:
    """Remove the temporary directories of stacks that were killed, and end processes that still run in them."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/lock"):
        # An OSError means that a stack holds the directory, or that it is another user's.
        with suppress(OSError), path.open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A directory without its holder's process id is just being made.
            if lock.read():
                sweep(path.with_name(_RECORDS))
                shutil.rmtree(path.parent, ignore_errors=True)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, completely or not at all."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 - Path.open cannot set the mode
        file.write(text)
    new.replace(path)
