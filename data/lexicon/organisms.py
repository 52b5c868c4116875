"""Words for organisms and their groups: birds, mammals, plants."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def organisms() -> Mapping[str, str]:
    """Return noun in the singular -> group.

    Example:
        >>> organisms()["newt"]
        'amphibians'
    """
    found: dict[str, str] = {}
    group = ""
    for line in (files("data.lexicon") / "organisms.txt").read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("["):
            group = text.strip("[]")
        else:
            found |= {word: group for word in text.split() if word not in found}
    return found
