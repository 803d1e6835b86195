"""Parts of a hash as bytes that cannot be mistaken for each other: each with its kind and length.

Texts that are only joined are ambiguous: 1 and 23 give the same bytes as 12 and 3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

#: Part of every digest. Another number makes all stored machine code and runs unknown.
VERSION = 2


def frame(kind: str, content: bytes | str) -> bytes:
    """One part: its kind, its length in bytes and its content. A kind has no colon and no star."""
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    return b"%b:%d:%b" % (kind.encode(), len(content), content)


def group(kind: str, parts: Sequence[bytes]) -> bytes:
    """Several parts as one: its kind, their number, and the parts."""
    return b"%b*%d:%b" % (kind.encode(), len(parts), b"".join(parts))


def digest(*parts: bytes | str) -> str:
    """SHA-256 of these parts, in hexadecimal. Parts that differ in any way give another one."""
    kinds = ((type(part).__name__, part) for part in parts)
    whole = group(f"tcpcc {VERSION}", [frame(kind, content) for kind, content in kinds])
    return hashlib.sha256(whole).hexdigest()
