"""The C library that decodes TIFF files prints an error for each damaged strip; Pillow raises one as well."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache


@cache
def silence_libtiff() -> None:
    """Keep the library from printing to stderr, where it can be reached."""
    from PIL import _imaging

    with suppress(OSError, AttributeError):  # linked into Pillow, without names
        library = ctypes.CDLL(_imaging.__file__)
        library.TIFFSetErrorHandler.restype = ctypes.c_void_p
        library.TIFFSetErrorHandler(None)
