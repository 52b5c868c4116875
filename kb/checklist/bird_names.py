"""Names of birds in other languages and in everyday use, and the codes of banders, by AviList's scientific names.

`training.names` makes the table; a part of it is read when it is asked for.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from kb.checklist.names import fold, is_spelt

FILE: Final = Path(__file__).with_name("bird_names.npz")
CODES: Final = "codes"
"""In place of a language: the codes of North American banders, four or six capitals."""


class BirdNames:
    """The table: names by language and species, and an index from folded names to them."""

    def __init__(self, file: Path = FILE) -> None:
        self._file = np.load(file)
        self._species = self._text("species").split("\n")
        self._at = {name: i for i, name in enumerate(self._species)}
        self.languages = tuple(self._text("languages").split("\n"))
        self._keys, self._positions, self._languages = (self._file[each] for each in ("key", "position", "language"))
        self._n_names = np.bincount(self._positions, minlength=len(self._species))

    def called(self, name: str) -> dict[str, set[str]]:
        """Return scientific name -> languages, for the species with that name; codes count in capitals only.

        Those with its accents come before others.
        """
        wanted, exact = fold(name), set[str]()
        key = np.uint32(zlib.crc32(wanted.encode()))
        found: dict[str, set[str]] = {}
        for row in range(*np.searchsorted(self._keys, [key, key + np.uint32(1)])):
            at, language = int(self._positions[row]), self.languages[self._languages[row]]
            alike = [each for each in self._names(language)[at] if fold(each) == wanted]
            if alike and (language != CODES or name.isupper()):
                found.setdefault(self._species[at], set()).add(language)
                exact |= {self._species[at]} if any(is_spelt(name, each) for each in alike) else set()
        return {species: languages for species, languages in found.items() if not exact or species in exact}

    def shown(self, scientific_name: str, language: str) -> tuple[str, ...]:
        """Return the name of a species in a language; empty without one."""
        at = self._at.get(scientific_name)
        if at is None:
            return ()
        spoken = [each for each in self.languages if speaks(language, each)]
        return tuple(dict.fromkeys(name for each in spoken for name in self._names(each)[at][:1]))

    def n_names(self, scientific_name: str) -> int:
        """Return the number of names of a species: the more, the better it is known."""
        at = self._at.get(scientific_name)
        return 0 if at is None else int(self._n_names[at])

    @cache  # noqa: B019 - one table a process
    def _names(self, language: str) -> list[list[str]]:
        return [line.split("|") if line else [] for line in self._text(language).split("\n")]

    def _text(self, member: str) -> str:
        text: bytes = self._file[member].tobytes()
        return text.decode()


@cache
def load_bird_names() -> BirdNames:
    """Return the table that ships."""
    return BirdNames()


def speaks(language: str, other: str) -> bool:
    """Return whether names of a language are for speakers of another: `de` for `de-at`, and `pt-br` for `pt`.

    English without a region has no names here: it is that of AviList.
    """
    if other == language or language == "en":
        return other == language
    return other == language.split("-")[0] or other.split("-")[0] == language
