"""Fingerprints of the inputs of a stage, and checksums of rows."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

from data.files import sha256_hex

FINGERPRINT_DIGITS = 32


def fingerprint(*parts: object) -> str:
    """Return 32 hex digits that identify the parts, which may be anything that JSON can express."""
    return sha256_hex(json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":")))[:FINGERPRINT_DIGITS]


def checksum(values: Sequence[str | bytes | None]) -> int:
    """Return the CRC-32 of the values and of their lengths."""
    contents = [value.encode() if isinstance(value, str) else value for value in values]
    found = zlib.crc32(repr([None if content is None else len(content) for content in contents]).encode())
    for content in contents:
        if content:
            found = zlib.crc32(content, found)
    return found
