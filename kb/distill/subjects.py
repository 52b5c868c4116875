"""Subject of a sentence: the species, a sex, age, season or race, named in it or in the sentence before."""

from __future__ import annotations

import re
from typing import Literal

from data.lexicon.tables import column
from data.lexicon.word_groups import group_of, groups, words_of

Who = Literal["", "adult", "male", "female", "season", "juvenile", "race"]
# The order in which a summary reads: the species, then its sexes, seasons and ages.
READING_ORDER: tuple[Who, ...] = ("", "adult", "male", "female", "season", "juvenile", "race")

_BOTH = re.compile(
    r"\b(?:sexes|genders|(?:adult )?males? and (?:the )?(?:adult )?females?|"
    r"(?:adult )?females? and (?:the )?(?:adult )?males?)\b",
    re.IGNORECASE,
)


def _words_for(who: str, *more: str) -> re.Pattern[str]:
    words = [word for word, named in column("sexes", "subject").items() if named == who]
    return re.compile(rf"\b(?:{'|'.join([*words, *more])})\b", re.IGNORECASE)


_SAID: tuple[tuple[Who, re.Pattern[str]], ...] = (
    ("race", re.compile(r"\b(?:subspecies|races?|nominate|forms?|populations?)\b|^[A-Z]\. [a-z]+\. ", re.IGNORECASE)),
    ("juvenile", _words_for("juvenile", "first[- ](?:year|winter)")),
    (
        "season",
        re.compile(
            r"^(?:in|during|outside) (?:\w+[ -]){0,3}(?:winter|summer|spring|autumn|plumage|season)|non-?breeding", re.I
        ),
    ),
    ("female", _words_for("female")),
    ("male", _words_for("male")),
    ("adult", _words_for("adult")),
)
# Further on a sex is a detail ("brighter in the male"), not what the sentence is about.
_SUBJECT_REACH = 45

_PRONOUN = re.compile(r"^(?P<pronoun>They|It|Their|Its|He|She|His|Her)\b")
_HANGING = re.compile(
    r"^(?:They|It|Their|Its|He|She|His|Her|The|These|This|An?|There|Some|Most|Otherwise|Below|Above)\b"
)
_POINTS_AWAY = re.compile(
    r"^(?:The (?:latter|former|two|three|others?|difference|(?:\w+ )?(?:name|epithet)s?)|"
    r"These (?:two|three|features|differences|are|birds)|Such|Those|Other|Another|Compared|Similar species|"
    r"This (?:is because|difference|means|feature|behaviour|may|can|has|was|makes|latter)|In these|Of these|One of|"
    r"For example|For instance|In the (?:related|similar|closely)|Both (?:names|common names|species))\b"
)
_NAMED_SUBJECT = re.compile(r"^(?:The )?(?P<subject>[\w' ’-]{3,50}?) (?:is|are|has|have|lacks?|was|shows?)\b")
_OF_ANOTHER = re.compile(r"\bof (?:the|its) (?:closely |very )?(?:related|similar|smaller|larger)\b")
_PLAIN_SUBJECTS = groups()["plain-subject"]

_SUBJECTS = {"male": "The male", "female": "The female", "juvenile": "The juvenile", "adult": "The adult"}
_SUBJECTS_MANY = {"male": "Males", "female": "Females", "juvenile": "Juveniles", "adult": "Adults"}


def said_subject(sentence: str) -> Who | None:
    """Return whom the beginning of a sentence names, `""` for both sexes alike, or None where it names nobody.

    Example:
        >>> said_subject("The female is duller than the male."), said_subject("The bill is black.")
        ('female', None)
    """
    both = _BOTH.search(sentence)
    if both and both.start() < _SUBJECT_REACH:
        return ""
    found = [(match.start(), i, who) for i, (who, pattern) in enumerate(_SAID) if (match := pattern.search(sentence))]
    near = [item for item in found if item[0] < _SUBJECT_REACH]
    return min(near)[2] if near else None


def hangs_on_the_one_before(sentence: str) -> bool:
    """Say whether a sentence that names nobody may go on about whom the sentence before it named."""
    return _HANGING.match(sentence) is not None


def points_away(sentence: str) -> bool:
    """Say whether a sentence refers to something outside itself that is no pronoun: "The latter is larger"."""
    return _POINTS_AWAY.match(sentence) is not None


def is_about_another(sentence: str) -> bool:
    """Say whether the subject looks like the name of another species: several words, the last of them no part.

    Example:
        >>> is_about_another("The grey francolin has a buff throat."), is_about_another("The outer tail is black.")
        (True, False)
    """
    if _OF_ANOTHER.search(sentence[:60]):
        return True
    found = _NAMED_SUBJECT.match(sentence)
    if found is None or said_subject(sentence) is not None or _PRONOUN.match(sentence):
        return False
    words = words_of(found["subject"])
    if len(words) < 2 or words[0] in ("this", "these", "its", "their", "there", "both", "in", "a", "an"):
        return False
    return group_of(words[-1]) is None and words[-1] not in _PLAIN_SUBJECTS and words[0] not in _PLAIN_SUBJECTS


def with_subject(sentence: str, who: Who) -> str | None:
    """Return the sentence with its leading pronoun replaced by whom it speaks of, or None where it has no such pronoun.

    Example:
        >>> with_subject("They have a brown cap.", "female")
        'Females have a brown cap.'
    """
    found = _PRONOUN.match(sentence)
    if found is None or who not in _SUBJECTS:
        return None
    pronoun, rest = found["pronoun"], sentence[found.end() :]
    if pronoun == "They":
        return _SUBJECTS_MANY[who] + rest
    if pronoun == "Their":
        return _SUBJECTS_MANY[who] + "'" + rest
    if pronoun in ("Its", "His", "Her"):
        return _SUBJECTS[who] + "'s" + rest
    return _SUBJECTS[who] + rest
