"""A packed text is compressed, and known by the digest of its role and content: equal texts are stored once."""

import hashlib
import zlib
from uuid import UUID

from turnloom.models.contracts.recording import PackedText, TextRole

_DIGEST_BYTES = 16


def pack(role: TextRole, text: str) -> PackedText:
    """Return a text as it is stored. Halves of surrogate pairs become question marks."""
    content = text.encode("utf-8", "replace")
    digest = hashlib.sha256(f"{role}\0".encode() + content).digest()
    return PackedText(role, UUID(bytes=digest[:_DIGEST_BYTES]), zlib.compress(content).hex())


def unpack(data: bytes) -> str:
    """Return the text in stored bytes."""
    return zlib.decompress(data).decode()
