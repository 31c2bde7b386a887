"""Secrets at rest are users' tokens and passwords, encrypted with keys that only the settings hold.

The cipher is Fernet (AES-128-CBC with HMAC-SHA256). The first of TURNLOOM_SECRET_KEYS encrypts; all of them decrypt. To
rotate, put a new key before the old one, run `turnloom secrets rotate`, which encrypts everything again, and remove the
old key.
"""

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.models.runtime.settings import settings

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

_MISSING = (
    "TURNLOOM_SECRET_KEYS is not set, so no secret can be stored or read: make a key with"
    " `turnloom secrets new-key`, and give it to every process"
)


def new_key() -> str:
    """Return a key for TURNLOOM_SECRET_KEYS."""
    from cryptography.fernet import Fernet  # noqa: PLC0415 - 20 ms that only processes with secrets should pay

    return Fernet.generate_key().decode()


def key_ids() -> list[str]:
    """Return a name for each key that reveals nothing about it. The first is that of the key that encrypts.

    Raises:
        Unavailable: there is none, or one is no key.
    """
    keys = settings().secret_keys
    if not keys:
        raise Unavailable(_MISSING, code="secret_keys_missing")
    return [_id_of(key) for key in keys if _fernet(key)]


def seal(secret: Mapping[str, Any]) -> bytes:
    """Encrypt a secret with the first key.

    Raises:
        Unavailable: there is none, or one is no key.
    """
    key_ids()
    return _fernet(settings().secret_keys[0]).encrypt(orjson.dumps(secret))


def unseal(sealed: bytes) -> dict[str, Any]:
    """Decrypt a secret with the key that encrypted it.

    Raises:
        ToolFailed: CONNECTION_INACTIVE, if none of the keys did.
    """
    from cryptography.fernet import InvalidToken  # noqa: PLC0415 - see new_key

    for key in settings().secret_keys:
        try:
            return dict(orjson.loads(_fernet(key).decrypt(sealed)))
        except InvalidToken:
            continue
    reason = "none of TURNLOOM_SECRET_KEYS encrypted this: restore its key" if settings().secret_keys else _MISSING
    raise ToolFailed(reason, code="CONNECTION_INACTIVE")


def _id_of(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]


@cache
def _fernet(key: str) -> "Fernet":
    from cryptography.fernet import Fernet  # noqa: PLC0415 - see new_key

    try:
        return Fernet(key)
    except ValueError:  # its message shows nothing today, but a later version's may
        message = "TURNLOOM_SECRET_KEYS holds a value that is not a key; make one with `turnloom secrets new-key`"
        raise Unavailable(message, code="secret_keys_missing") from None
