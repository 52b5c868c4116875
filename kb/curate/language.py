"""Texts in other languages than English, told by their small words; the extractive distiller reads English alone."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+")


_ENGLISH: Final = "the and of is are has have with its it from by an or which their they without"
_OTHERS: Final = """
der das ein eine einen und ist sind mit von auf dem des hat haben oder sich zur zum im nicht
le la les une du et est sont avec sur dans ou qui aux
el los las y es una con del por para su sus
il lo gli che di della delle sono nella
um uma são não dos das pela
de het een en zijn met op aan bij
och är med ett av på som inte og er af ikke
na się jest są nie oraz
ve bir ile olan ja ovat sekä
"""
"""Common small words of larger languages with Latin letters, none of them English."""
_MOST_BY_CHANCE: Final = 1
"""Such words in an English sentence without small words of its own, as in El Salvador."""


def is_foreign(text: str) -> bool:
    """Return whether a text is not English: in other letters, or with more small words of other languages.

    A text without small words, such as a list of marks, counts as English.
    """
    words = [word.lower() for word in _WORD.findall(text)]
    n_other_letters = sum(not word.isascii() and ord(word[0]) > 0x24F for word in words)
    n_others, n_english = (sum(map(set(known.split()).__contains__, words)) for known in (_OTHERS, _ENGLISH))
    return n_other_letters > len(words) / 2 or n_others > n_english + _MOST_BY_CHANCE
