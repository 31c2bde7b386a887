"""The key that signs heads of the audit log: Ed25519, made of TURNLOOM_AUDIT_KEY, so that others can verify."""

import hashlib
import hmac
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_PURPOSE = b"turnloom audit heads"


def sign(secret: bytes, message: bytes) -> bytes:
    """Return the signature of a message, 64 bytes."""
    return _private_key(secret).sign(message)


def is_signed(secret: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether a signature is this key's."""
    return hmac.compare_digest(sign(secret, message), signature)  # Ed25519 signs a message always alike


def public_key(secret: bytes) -> bytes:
    """Return the key that verifies, 32 bytes. It may be given to anybody."""
    return _private_key(secret).public_key().public_bytes_raw()


@lru_cache(maxsize=8)
def _private_key(secret: bytes) -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - only who signs should pay
        Ed25519PrivateKey,
    )

    return Ed25519PrivateKey.from_private_bytes(hmac.new(secret, _PURPOSE, hashlib.sha256).digest())
