"""Rows of a checklist file, whatever its format, and the words in them for languages, licences and status."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

MAX_LINES: Final = 40  # of reasons, and of unknown words in them

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


class Usage(NamedTuple):
    """A name in a checklist file: of an accepted taxon, or a synonym."""

    line: int
    id: str
    name: str
    """As in the file, perhaps with authorship."""
    rank: str = ""
    status: Status = "accepted"
    parent: str = ""
    """Id or name of the taxon above."""
    accepted: str = ""
    """Id or name of the accepted taxon of a synonym."""
    higher: tuple[tuple[str, str], ...] = ()
    """Rank and name of the taxa above, the highest first, from the columns of the row."""
    common_names: tuple[tuple[str, str], ...] = ()
    """Common names and their languages."""
    other_id: str = ""
    """A second id of the row, to which others may refer."""


class CommonName(NamedTuple):
    """A row of a table of common names."""

    id: str
    name: str
    language: str
    is_preferred: bool


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

    def add_word(self, reason: str, word: str, place: str) -> None:
        """Count a row with an unknown word; each of the first words has a line of its own."""
        full = f"{reason} {word[:40]!r}"
        self.add(full if full in self.counts or len(self.counts) < MAX_LINES else f"{reason}, others", place)

    def lines(self) -> list[str]:
        """Return the notes, and a line for each reason, the most frequent first."""
        return self.notes + [
            f"{reason}: {n:,} (first: {self.first[reason]})" for reason, n in self.counts.most_common()
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistFile:
    """A checklist file that was recognised; its rows are read on request."""

    form: str
    """Its format: `Darwin Core`, `ColDP`, `CSV`."""
    usages: Callable[[], Iterator[Usage]]
    common_names: Callable[[], Iterator[CommonName]]
    problems: Problems
    title: str = ""
    edition: str = ""
    """Version or date of publication, where the file gives one."""
    licence: str = ""
    """Licence, where the file states one: its name or address, else the sentence on rights."""


def language_code(text: str) -> str:
    """Return the two-letter code of a language where it is known, else the text in lower case."""
    first = text.strip().lower().replace("_", "-").split("-")[0]
    return LANGUAGES.get(first, first)


_SYNONYM: Final = re.compile(
    r"synonym|invalid|not (?:accepted|valid)|unaccepted|homonym|junior|replaced|superseded|illegitimate|"
    r"unavailable|suppressed|rejected|superfluous|unjustified|misspell|orthographic"
)
_MISAPPLIED: Final = re.compile(r"misapplied|misidentif|\bauct\b|\bauctt\b|auctorum")
_UNUSABLE: Final = re.compile(r"deleted|quarantin|bare name|nomen nudum|nom\.? nud|nude name")
_PROVISIONAL: Final = re.compile(
    r"doubtful|provisional|uncertain|unresolved|unplaced|ambiguous|unchecked|unverified|unassessed|unassigned|dubi|"
    r"inquirend|incertae|unknown|temporary|interim|taxon inquir"
)
_ACCEPTED: Final = re.compile(r"accepted|valid|current|correct|approved|recogni[sz]ed|established|conserved|legitimate")


def status_of(text: str, *, has_accepted: bool, problems: Problems | None = None, place: str = "") -> Status:
    """Return the status that a word of the file means; without one, a name with another accepted name is a synonym.

    An unknown word makes the name provisional, and is added to the problems.
    """
    word = text.strip().lower().replace("_", " ")
    if _MISAPPLIED.search(word):
        return "misapplied"
    if has_accepted or _SYNONYM.search(word):
        return "synonym"
    if _UNUSABLE.search(word):
        return "unusable"
    if _PROVISIONAL.search(word):
        return "provisional"
    if not word or _ACCEPTED.search(word):
        return "accepted"
    if problems is not None:
        problems.add_word("unknown status, taken as provisional:", word, place)
    return "provisional"
