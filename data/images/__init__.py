"""Photo files: decoding, and the JPEGs that are sent to models."""

from typing import Final

MAX_SIDE: Final = 1024  # pixels of a photo sent to a model; larger ones cost more tokens and are scaled down anyway
IMAGES: Final = frozenset(
    (
        ".jpg", ".jpeg", ".jpe", ".jfif", ".jif", ".jfi", ".pjpeg", ".pjp", ".mpo", ".png", ".apng", ".webp", ".gif",
        ".tif", ".tiff", ".bmp", ".dib", ".heic", ".heics", ".heif", ".heifs", ".hif", ".avif", ".avifs",
    )
)  # fmt: skip
RAW: Final = frozenset(
    (
        ".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".fff", ".iiq", ".kdc", ".mef", ".mos", ".mrw",
        ".nef", ".nrw", ".orf", ".pef", ".raf", ".raw", ".rw2", ".rwl", ".sr2", ".srf", ".srw", ".x3f",
    )
)  # fmt: skip
SUFFIXES: Final = IMAGES | RAW
"""Extensions of photos, in lower case."""
