"""Profiles of a knowledge base: which ones it has, and the added ones brought up to date after it has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cli import wiring
from cli.output import warn
from data.errors import ConfigError, MissingRequirement
from data.records import Progress


def profiles_of(path: Path) -> tuple[str, ...]:
    """Return the profiles of a knowledge base, the one it was built with first; none where there is none yet."""
    from kb.layout import Layout

    layout = Layout(path)
    return layout.require().profiles if layout.toml.exists() else ()


def add_profile(path: Path, profile: str, progress: Callable[[Progress], None]) -> None:
    """Give a knowledge base the vectors that it lacks of a profile."""
    import kb

    kb.add_profile(path, wiring.load_encoders(profile), progress=progress)


def bring_up_to_date(
    path: Path, progress: Callable[[Progress], None] = lambda _: None, *, at_most: int | None = None
) -> None:
    """Give a knowledge base the vectors that it lacks of its added profiles; one that cannot be had here is warned of.

    Encoders of a profile that lacks nothing are not loaded. A profile that lacks more than `at_most` species and terms
    is warned of too: that is the work of a build, not of a look-up.
    """
    import kb

    with kb.open(path) as store:
        behind = store.status().behind if len(store.profiles) > 1 else {}
    for profile, n in behind.items():
        if not n:
            continue
        if at_most is not None and n > at_most:
            warn(wiring.behind_text(n, profile, path))
            continue
        try:
            add_profile(path, profile, progress)
        except (MissingRequirement, ConfigError) as error:
            why = f": {error}; {error.hint or ''}".rstrip("; ")
            warn(wiring.behind_text(n, profile, path, why=why))
