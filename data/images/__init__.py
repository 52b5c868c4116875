"""Photo files: decoding, and the JPEGs that are sent to models."""

from typing import Final

MAX_SIDE: Final = 1024  # pixels of a photo sent to a model; larger ones cost more tokens and are scaled down anyway
SUFFIXES: Final = frozenset(
    (".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp", ".heic", ".heif", ".hif", ".avif")
)
