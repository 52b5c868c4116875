"""Words for the taxonomic status of a name."""

from __future__ import annotations

import re
from typing import Final

from kb.checklist.stored.usage import Problems, Status

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

    Example:
        >>> [status_of(word, has_accepted=False) for word in ("ACCEPTED", "not valid", "unchecked", "nomen nudum")]
        ['accepted', 'synonym', 'provisional', 'unusable']
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
