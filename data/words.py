"""Numbers with their nouns."""

from __future__ import annotations


def plural(n: int, noun: str, many: str | None = None) -> str:
    """Return `1 photo`, `2 photos`, `11,131 species`.

    Example:
        >>> plural(1, "photo"), plural(11131, "species", "species")
        ('1 photo', '11,131 species')
    """
    return f"{n:,} {noun if n == 1 else many or noun + 's'}"
