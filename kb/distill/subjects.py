"""Subject of a sentence: the species, a sex, age, season or race."""

from __future__ import annotations

import re
from typing import Literal

from data.lexicon.tables import column
from data.lexicon.word_groups import group_of, groups, words_of

Subject = Literal["", "adult", "male", "female", "season", "juvenile", "race"]
READING_ORDER: tuple[Subject, ...] = ("", "adult", "male", "female", "season", "juvenile", "race")

_BOTH = re.compile(
    r"\b(?:sexes|genders|(?:adult )?males? and (?:the )?(?:adult )?females?|"
    r"(?:adult )?females? and (?:the )?(?:adult )?males?)\b",
    re.IGNORECASE,
)


def _words_for(subject: str, *more: str) -> re.Pattern[str]:
    words = [word for word, named in column("sexes", "subject").items() if named == subject]
    return re.compile(rf"\b(?:{'|'.join([*words, *more])})\b", re.IGNORECASE)


_PATTERNS: tuple[tuple[Subject, re.Pattern[str]], ...] = (
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
# Characters; later on, a sex is a detail ("brighter in the male").
_SUBJECT_REACH = 45

_PRONOUN = re.compile(r"^(?P<pronoun>They|It|Their|Its|He|She|His|Her)\b")
_CONTINUES = re.compile(
    r"^(?:They|It|Their|Its|He|She|His|Her|The|These|This|An?|There|Some|Most|Otherwise|Below|Above)\b"
)
_REFERS_ELSEWHERE = re.compile(
    r"^(?:The (?:latter|former|two|three|others?|difference|(?:\w+ )?(?:name|epithet)s?)|"
    r"These (?:two|three|features|differences|are|birds)|Such|Those|Other|Another|Compared|Similar species|"
    r"This (?:is because|difference|means|feature|behaviour|may|can|has|was|makes|latter)|In these|Of these|One of|"
    r"For example|For instance|In the (?:related|similar|closely)|Both (?:names|common names|species))\b"
)
_NAMED_SUBJECT = re.compile(r"^(?:The )?(?P<subject>[\w' ’-]{3,50}?) (?:is|are|has|have|lacks?|was|shows?)\b")
_OF_ANOTHER = re.compile(r"\bof (?:the|its) (?:closely |very )?(?:related|similar|smaller|larger)\b")
_PLAIN_SUBJECTS = groups()["plain-subject"]


def stated_subject(sentence: str) -> Subject | None:
    """Return the subject that a sentence names at its beginning, `""` for both sexes, or None.

    Example:
        >>> stated_subject("The female is duller than the male."), stated_subject("The bill is black.")
        ('female', None)
    """
    both = _BOTH.search(sentence)
    if both and both.start() < _SUBJECT_REACH:
        return ""
    found = [
        (match.start(), i, subject)
        for i, (subject, pattern) in enumerate(_PATTERNS)
        if (match := pattern.search(sentence))
    ]
    near = [item for item in found if item[0] < _SUBJECT_REACH]
    return min(near)[2] if near else None


def continues_previous(sentence: str) -> bool:
    """Return whether a sentence without a subject of its own may continue the one before it."""
    return _CONTINUES.match(sentence) is not None


def refers_elsewhere(sentence: str) -> bool:
    """Return whether a sentence cannot stand alone, such as "The latter is larger"."""
    return _REFERS_ELSEWHERE.match(sentence) is not None


def is_about_another(sentence: str) -> bool:
    """Return whether the subject looks like the name of another species: several words, the last one not a part.

    Example:
        >>> is_about_another("The grey francolin has a buff throat."), is_about_another("The outer tail is black.")
        (True, False)
    """
    if _OF_ANOTHER.search(sentence[:60]):
        return True
    found = _NAMED_SUBJECT.match(sentence)
    if found is None or stated_subject(sentence) is not None or _PRONOUN.match(sentence):
        return False
    words = words_of(found["subject"])
    if len(words) < 2 or words[0] in ("this", "these", "its", "their", "there", "both", "in", "a", "an"):
        return False
    return group_of(words[-1]) is None and words[-1] not in _PLAIN_SUBJECTS and words[0] not in _PLAIN_SUBJECTS


def with_subject(sentence: str, subject: Subject) -> str | None:
    """Return the sentence with its leading pronoun replaced by the subject, or None without such a pronoun.

    Example:
        >>> with_subject("They have a brown cap.", "female")
        'Females have a brown cap.'
    """
    found = _PRONOUN.match(sentence)
    if found is None or subject not in ("male", "female", "juvenile", "adult"):
        return None
    pronoun, rest = found["pronoun"], sentence[found.end() :]
    name = f"{subject.capitalize()}s" if pronoun in ("They", "Their") else f"The {subject}"
    ending = {"Their": "'", "Its": "'s", "His": "'s", "Her": "'s"}.get(pronoun, "")
    return name + ending + rest
