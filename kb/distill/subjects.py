"""Subject of a sentence: the species, a sex, age, stage of life, side, season or race."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, Literal, get_args

from data.lexicon.appearance import appearance
from data.lexicon.tables import BIRDS, column
from data.lexicon.word_groups import group_of, groups, words_of

Subject = Literal[
    "", "leaf", "flower", "fruit", "adult", "male", "female", "season", "juvenile", "larva", "pupa", "race"
]  # fmt: skip
READING_ORDER: tuple[Subject, ...] = get_args(Subject)  # adults first; the parts of a plant as in a flora
_PLURALS: dict[Subject, str] = {"larva": "larvae", "pupa": "pupae", "leaf": "leaves"}
# Subjects that "it" may stand for; beside the leaves of a plant, it is the plant.
_IN_SINGULAR: frozenset[Subject] = frozenset(("male", "female", "juvenile", "adult", "larva", "pupa"))

_BOTH = re.compile(
    r"\b(?:sexes|genders|(?:adult )?males? and (?:the )?(?:adult )?females?|"
    r"(?:adult )?females? and (?:the )?(?:adult )?males?)\b",
    re.IGNORECASE,
)
_RACE = re.compile(r"\b(?:subspecies|races?|nominate|forms?|populations?)\b|^[A-Z]\. [a-z]+\. ", re.IGNORECASE)
_SEASON = re.compile(
    r"^(?:in|during|outside) (?:\w+[ -]){0,3}(?:winter|summer|spring|autumn|plumage|season)|non-?breeding", re.I
)
_SUBJECTS: tuple[Subject, ...] = ("female", "male", "adult", "larva", "pupa", "leaf", "flower", "fruit")
_WHOLE = "whole"  # plant, in the column of subjects
_COMPARED = re.compile(r"\b(?:unlike|than|resembles?|from)(?: \w+)?\s$", re.IGNORECASE)
_BEFORE_VERB = re.compile(r"[,;:]|\b(?:is|are|was|were|has|have|bears?|with|of|in|reach(?:es)?|forms?|grows?|up|to)\b")
# "Larval food plants", "leaf-like": these words name no subject.
_NO_ADJECTIVE = re.compile(r"\b(?:larval|pupal) (?:food|host|stage|development)\w*|\b\w+-like\b", re.IGNORECASE)
_FED_ON = re.compile(r"\b(?:feeds? (?:\w+ )?on|eats?|preys? on|diet)\b[^.;]*$", re.IGNORECASE)
_MOST_TITLE_WORDS = 3
# Of adults alone: after "the caterpillar is green", "the wings are blue" goes on with the adult.
_OF_ADULTS = re.compile(r"\b(?:(?:fore|hind)?wings?|wingspan|upperside|underside|elytra|antennae)\b", re.IGNORECASE)


@cache
def _patterns(group: str) -> tuple[tuple[Subject, re.Pattern[str]], ...]:
    owners = column("sexes", "subject", group=group)

    def words_for(subject: str, *more: str, ahead: str = "") -> re.Pattern[str]:
        words = [word for word, named in owners.items() if named == subject]
        return re.compile(rf"\b(?:{'|'.join([*words, *more]) or '(?!)'})\b{ahead}", re.IGNORECASE)

    stages = "|".join(word for word, named in owners.items() if named in ("larva", "pupa"))
    is_no_larva = rf"(?! (?:{stages})\b)" if stages else ""  # "young larvae" are larvae
    first = ["first[- ](?:year|winter)"] if group == BIRDS else []
    return (
        ("race", _RACE),
        ("juvenile", words_for("juvenile", *first, ahead=is_no_larva)),
        ("season", _SEASON),
        *((subject, words_for(subject)) for subject in _SUBJECTS),
        ("", words_for(_WHOLE)),
    )


_SUBJECT_REACH = 45  # characters; later on, a sex is a detail ("brighter in the male")
_PRONOUN = re.compile(r"^(?P<pronoun>They|It|Their|Its|He|She|His|Her)\b")
_THEY = re.compile(r"^(?:They|Their|These|Each)\b")
_CONTINUES = re.compile(
    r"^(?:They|It|Their|Its|He|She|His|Her|The|These|This|An?|There|Some|Most|Otherwise|Below|Above)\b"
)
_REFERS_ELSEWHERE = re.compile(
    r"^(?:The (?:latter|former|two|three|others?|difference|(?:\w+ )?(?:name|epithet)s?)|"
    r"These (?:two|three|features|differences|are|birds)|Such|Those|Other|Another|Compared|Similar species|"
    r"This (?:is because|difference|means|feature|behaviour|may|can|has|was|makes|latter)|In these|Of these|One of|"
    r"For example|For instance|In the (?:related|similar|closely)|Both (?:names|common names|species))\b"
)
_THE_LARGEST = re.compile(r"^The (?:\w+-)?(?:largest|smallest|longest) (?:is|are)\b")
_NAMED_SUBJECT = re.compile(r"^(?:The )?(?P<subject>[\w' ’-]{3,50}?) (?:is|are|has|have|lacks?|was|shows?)\b")
_OF_ANOTHER = re.compile(r"\bof (?:the|its) (?:closely |very )?(?:related|similar|smaller|larger)\b")


def stated_subject(sentence: str, group: str = BIRDS) -> Subject | None:
    """Return the subject that a sentence names at its beginning, `""` for both sexes or the whole plant, or None."""
    both = _BOTH.search(sentence)
    if both and both.start() < _SUBJECT_REACH:
        return ""
    head = sentence
    if group != BIRDS:  # read as measured
        head = sentence.partition(";")[0]
        # What a plant is "with" is not what the sentence is about.
        head = _BEFORE_VERB.split(head, maxsplit=1)[0] if group == "plants" else _NO_ADJECTIVE.sub("-", head)
    found = [
        (match.start(), i, subject)
        for i, (subject, pattern) in enumerate(_patterns(group))
        for match in pattern.finditer(head)
        if group == BIRDS or not (_COMPARED.search(head[: match.start()]) or _FED_ON.search(head[: match.start()]))
    ]
    near = [item for item in found if item[0] < _SUBJECT_REACH]
    return min(near)[2] if near else None


def title_subject(title: str, group: str) -> Subject | None:
    """Return the sex, stage or part that a heading names alone, such as "Caterpillar" or "Flowers"; else None."""
    owners = column("sexes", "subject", group=group)
    named = {owner for word in words_of(title) if (owner := owners.get(word)) not in (None, _WHOLE, "both")}
    is_short = len(words_of(title)) <= _MOST_TITLE_WORDS
    return next((subject for subject in READING_ORDER if named == {subject}), None) if is_short else None


def continues_previous(sentence: str, subject: Subject = "", group: str = BIRDS) -> bool:
    """Return whether a sentence without a subject of its own may continue the one before it, on that subject."""
    if group != BIRDS and subject in ("male", "female"):  # after the female, "the underside" is that of both
        return _PRONOUN.match(sentence) is not None
    if group != BIRDS and subject in ("larva", "pupa") and _OF_ADULTS.search(sentence[:_SUBJECT_REACH]):
        return False
    if subject in ("leaf", "flower", "fruit"):
        return _THEY.match(sentence) is not None
    return _CONTINUES.match(sentence) is not None


def refers_elsewhere(sentence: str, group: str = BIRDS) -> bool:
    """Return whether a sentence cannot stand alone, such as "The latter is larger"."""
    is_of_largest = group != BIRDS and _THE_LARGEST.match(sentence) is not None
    return is_of_largest or _REFERS_ELSEWHERE.match(sentence) is not None


def is_about_another(sentence: str, group: str = BIRDS) -> bool:
    """Return whether the subject looks like the name of another species: several words, the last one not a part."""
    if _OF_ANOTHER.search(sentence[:60]):
        return True
    found = _NAMED_SUBJECT.match(sentence)
    if found is None or stated_subject(sentence, group) is not None or _PRONOUN.match(sentence):
        return False
    words = words_of(found["subject"])
    if len(words) < 2 or words[0] in ("this", "these", "its", "their", "there", "both", "in", "a", "an"):
        return False
    plain = groups(group)["plain-subject"]
    return group_of(words[-1], group) is None and words[-1] not in plain and words[0] not in plain


def with_subject(sentence: str, subject: Subject) -> str | None:
    """Return the sentence with its leading pronoun replaced by the subject, or None without such a pronoun."""
    found = _PRONOUN.match(sentence)
    if found is None or subject in ("", "season", "race"):
        return None
    pronoun, rest = found["pronoun"], sentence[found.end() :]
    if pronoun not in ("They", "Their") and subject not in _IN_SINGULAR:
        return None
    plural = _PLURALS.get(subject, f"{subject}s")
    name = plural.capitalize() if pronoun in ("They", "Their") else f"The {subject}"
    own = "'" if name.endswith("s") else "'s"
    ending = {"Their": own, "Its": "'s", "His": "'s", "Her": "'s"}.get(pronoun, "")
    return name + ending + rest


_SIDE_REACH: Final = 5  # words; later on, a side is a detail
_STARTS_WITH_WINGS: Final = re.compile(r"(?:The|Its|Each|Both) (?:\w+ )?(?:forewings?|hindwings?|wings?|ground)\b")
_IS: Final = re.compile(r"^(?:It is|They are) ")
_LABEL: Final = re.compile(
    r"^(?:Leaf|Flower|Fruit|Male|Female|Juvenile|Larva|Pupa|Race|Season|Upperside|Underside): ", re.IGNORECASE
)


class SideReader:
    """Keeps the side of the wings that a text speaks of, sentence by sentence."""

    def __init__(self, group: str) -> None:
        self._sides = appearance(group).kept_apart
        self._leading = ""

    def read(self, sentence: str, title: str, *, is_new_paragraph: bool) -> str:
        """Return the side of a sentence that names none: of its heading, or as before if it begins with wings."""
        if not self._sides:
            return ""
        words = words_of(sentence)
        named = [self._sides[word] for word in words if word in self._sides]
        headed = [self._sides[word] for word in words_of(title) if word in self._sides]
        if is_new_paragraph:
            self._leading = headed[0] if len(set(headed)) == 1 else ""
        if named:
            self._leading = named[0] if len(set(named)) == 1 and set(words[:_SIDE_REACH]) & self._sides.keys() else ""
            return ""
        if len(set(headed)) == 1:
            return headed[0]
        return self._leading if _STARTS_WITH_WINGS.match(sentence) else ""


def labelled(text: str, label: str) -> str:
    """Return a statement under its label."""
    said = _IS.sub("", text)
    return f"{label.capitalize()}: {said[:1].lower()}{said[1:]}"


def without_label(text: str) -> str:
    """Return a statement without its label."""
    return _LABEL.sub("", text)
