"""Nouns in the singular and the plural."""

from __future__ import annotations

_IRREGULAR = {
    "geese": ["goose"], "mice": ["mouse"], "feet": ["foot"], "larvae": ["larva"], "pupae": ["pupa"], "oxen": ["ox"],
    "youngs": ["young"],
}  # fmt: skip


def plural(n: int, noun: str, many: str | None = None) -> str:
    """Return `1 photo`, `2 photos`, `11,131 species`.

    Example:
        >>> plural(1, "photo"), plural(11131, "species", "species")
        ('1 photo', '11,131 species')
    """
    return f"{n:,} {noun if n == 1 else many or noun + 's'}"


def singulars(word: str) -> list[str]:
    """Return possible singulars of a word: itself first, then without plural endings.

    Example:
        >>> singulars("finches"), singulars("geese")
        (['finches', 'finch', 'finche'], ['geese', 'goose'])
    """
    forms = [word]
    if word.endswith("ies"):
        forms.append(word[:-3] + "y")
    if word.endswith("ves"):
        forms += [word[:-3] + "f", word[:-3] + "fe"]
    if word.endswith("es"):
        forms.append(word[:-2])
    if word.endswith("s"):
        forms.append(word[:-1])
    return forms + _IRREGULAR.get(word, [])
