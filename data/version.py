"""Version of Fieldmark."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def fieldmark_version(*, otherwise: str = "not installed") -> str:
    """Return the version of the installed Fieldmark, and `otherwise` in a checkout that is not installed."""
    try:
        return version("fieldmark")
    except PackageNotFoundError:
        return otherwise
