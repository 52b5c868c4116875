"""Camera files that are not read: RAW photos and videos, by file extension."""

from __future__ import annotations

from typing import Final

RAW: Final = frozenset(
    (
        ".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".fff", ".iiq", ".kdc", ".mef", ".mos", ".mrw",
        ".nef", ".nrw", ".orf", ".pef", ".raf", ".raw", ".rw2", ".rwl", ".sr2", ".srf", ".srw", ".x3f",
    )
)  # fmt: skip
VIDEO: Final = frozenset(
    (".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".webm", ".wmv")
)
KINDS: Final = (
    ("RAW photo", RAW, "export JPEGs"),
    ("video", VIDEO, "save stills as JPEG"),
)
"""Kind of file, its extensions in lower case, remedy."""


def unsupported_text(suffix: str) -> str:
    """Return the kind of an unsupported file and the remedy; empty for any other extension.

    Example:
        >>> unsupported_text(".CR2"), unsupported_text(".jpg")
        ('a RAW photo, which is not supported: export JPEGs', '')
    """
    for kind, suffixes, remedy in KINDS:
        if suffix.lower() in suffixes:
            return f"a {kind}, which is not supported: {remedy}"
    return ""
