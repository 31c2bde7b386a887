"""Become another program that ends with its parent and does not run as root.

In: `python -I -S launch.py SIGNAL PARENT_PID DIRECTORY PROGRAM ARG…`.  Out: PROGRAM, under the same process id.

On Linux the kernel sends SIGNAL as soon as the thread that started us ends, even by kill -9. If DIRECTORY is not an
empty argument and we are root, PROGRAM runs as an unprivileged user who owns DIRECTORY: Postgres refuses to run as
root. This module uses only the standard library, so that it starts quickly.
"""

import ctypes
import os
import pwd
import sys
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG = 1
_INSIDE_ID = 1000
_EXISTING_USERS = ("postgres", "nobody")


def main(death_signal: int, parent: int, directory: str, command: list[str]) -> None:
    """Give up root if `directory` is given, tie our life to the parent's, and become `command`."""
    if directory and os.geteuid() == 0:
        _leave_root(Path(directory))
    # This comes after the change of user, which would reset it.
    end_with_parent(death_signal, parent)
    os.execv(command[0], command)  # noqa: S606 - the command is our own


def end_with_parent(death_signal: int, parent: int) -> None:
    """Let the kernel send this process `death_signal` when its parent ends. This does nothing except on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, death_signal)
        if os.getppid() != parent:
            sys.exit("the parent ended before its child had begun")


def _leave_root(directory: Path) -> None:
    """Enter a user namespace where we have an ordinary id; if none is allowed, become an existing user."""
    # This comes first, while the owner of an earlier start still has an id here.
    _own(directory, 0, 0)
    if sys.platform == "linux" and ctypes.CDLL(None).unshare(_CLONE_NEWUSER) == 0:
        _map_ids()
        return
    user = _existing_user()
    _own(directory, user.pw_uid, user.pw_gid)
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)


def _map_ids() -> None:
    # Without this first line the kernel allows nobody to map a group.
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{_INSIDE_ID} 0 1")
    Path("/proc/self/gid_map").write_text(f"{_INSIDE_ID} 0 1")


def _existing_user() -> pwd.struct_passwd:
    for name in _EXISTING_USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    sys.exit(f"Postgres does not run as root; create one of the users {', '.join(_EXISTING_USERS)}")


def _own(directory: Path, uid: int, gid: int) -> None:
    if directory.stat().st_uid == uid:
        return
    for root, folders, files in os.walk(directory):
        for name in (".", *folders, *files):
            os.chown(Path(root, name), uid, gid, follow_symlinks=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
