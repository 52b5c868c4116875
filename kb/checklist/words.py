"""Words of checklist files for languages, ranks and status, and the account of their odd rows."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

MAX_LINES: Final = 40  # of reasons

Status = Literal["accepted", "provisional", "synonym", "misapplied", "unusable"]
"""`unusable`: a bare name, which has no place in the classification, or one that was withdrawn."""

LETTERS_OF_CODE: Final = 3
LANGUAGES: Final = {
    "eng": "en", "english": "en", "deu": "de", "ger": "de", "german": "de", "fra": "fr", "fre": "fr", "french": "fr",
    "spa": "es", "spanish": "es", "por": "pt", "portuguese": "pt", "ita": "it", "italian": "it", "nld": "nl",
    "dut": "nl", "dutch": "nl", "rus": "ru", "zho": "zh", "chi": "zh", "chinese": "zh", "jpn": "ja", "japanese": "ja",
    "kor": "ko", "swe": "sv", "dan": "da", "nor": "no", "nob": "nb", "fin": "fi", "pol": "pl", "ces": "cs",
    "cze": "cs", "hun": "hu", "tur": "tr", "ukr": "uk", "cat": "ca", "ara": "ar", "heb": "he", "ind": "id",
    "vie": "vi", "tha": "th", "afrikaans": "af", "catalan": "ca", "croatian": "hr", "czech": "cs", "danish": "da",
    "estonian": "et", "finnish": "fi", "hungarian": "hu", "icelandic": "is", "indonesian": "id", "korean": "ko",
    "latvian": "lv", "lithuanian": "lt", "norwegian": "no", "polish": "pl", "slovak": "sk", "slovenian": "sl",
    "swedish": "sv", "thai": "th", "turkish": "tr", "ukrainian": "uk",
}  # fmt: skip


RANKS: Final = {
    "subsp": "subspecies", "ssp": "subspecies", "infraspecific name": "subspecies", "var": "variety",
    "varietas": "variety", "f": "form", "fo": "form", "sp": "species", "spec": "species", "gen": "genus",
    "fam": "family", "ord": "order", "cl": "class", "phyl": "phylum", "regnum": "kingdom", "classis": "class",
    "ordo": "order", "familia": "family", "division": "phylum", "divisio": "phylum", "nothospecies": "species",
}  # fmt: skip
"""Rank of a file, without its final point -> our word."""


def rank_of(text: str) -> str:
    """Return a rank in our words."""
    stated = text.strip().lower().rstrip(". ")
    return RANKS.get(stated, stated)


@dataclass(slots=True)
class Problems:
    """Rows that were skipped or repaired: number and first place of each reason."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Guesses and skipped rows of the tables."""

    def add(self, reason: str, place: str, n: int = 1) -> None:
        """Count a row."""
        self.counts[reason] += n
        self.first.setdefault(reason, place)

    def lines(self) -> list[str]:
        """Return the notes, and a line for each of the most frequent reasons."""
        reasons = self.counts.most_common(MAX_LINES)
        return self.notes + [f"{reason}: {n:,} (first: {self.first[reason]})" for reason, n in reasons]


def language_code(text: str) -> str:
    """Return the two-letter code of a language where it is known, else the text in lower case."""
    first = text.strip().lower().replace("_", "-").split("-")[0]
    return LANGUAGES.get(first, first)


_STATUS: Final[dict[Status, str]] = {
    "misapplied": r"misapplied|misidentif|\bauct\b|\bauctt\b|auctorum",
    "synonym": r"synonym|invalid|not (?:accepted|valid)|unaccepted|homonym|junior|replaced|superseded|illegitimate|"
    r"unavailable|suppressed|rejected|superfluous|unjustified|misspell|orthographic",
    "unusable": r"deleted|quarantin|bare name|nomen nudum|nom\.? nud|nude name",
    "provisional": r"doubtful|provisional|uncertain|unresolved|unplaced|ambiguous|unchecked|unverified|unassessed|"
    r"unassigned|dubi|inquirend|incertae|unknown|temporary|interim|taxon inquir",
    "accepted": r"^$|accepted|valid|current|correct|approved|recogni[sz]ed|established|conserved|legitimate",
}
"""Status -> words for it; the first that fits counts."""


@lru_cache(maxsize=1_024)
def status_of(text: str, *, has_accepted: bool) -> Status | None:
    """Return the status that a word of the file means, or None for an unknown word.

    A name with another accepted name is a synonym, unless it is misapplied.
    """
    word = text.strip().lower().replace("_", " ")
    for status, pattern in _STATUS.items():
        if re.search(pattern, word) or (status == "synonym" and has_accepted):
            return status
    return None
