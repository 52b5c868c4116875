"""Subject of a sentence: the species under its hidden names, a sex, age, stage of life, side, season or race."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Final, Literal, get_args

from data.lexicon.appearance import appearance
from data.lexicon.words import BIRDS, column, group_of, group_of_taxon, groups, organisms, words_of
from data.records import Taxon
from data.words import capitalised, singulars, without_qualifier
from kb.distill.sentences import pattern
from kb.distill.visual import tidy

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
    return (
        ("race", _RACE),
        ("juvenile", words_for("juvenile", "first[- ](?:year|winter)", ahead=is_no_larva)),
        ("season", _SEASON),
        *((subject, words_for(subject)) for subject in _SUBJECTS),
        ("", words_for(_WHOLE)),
    )


_SUBJECT_REACH = 45  # characters; later on, a sex is a detail ("brighter in the male")
PRONOUN = re.compile(r"^(?P<pronoun>They|It|Their|Its|He|She|His|Her)\b")
_THEY = re.compile(r"^(?:They|Their|These|Each)\b")
_CONTINUES = re.compile(
    r"^(?:They|It|Their|Its|He|She|His|Her|The|These|This|An?|There|Some|Most|Otherwise|Below|Above)\b"
)
_NAMED_SUBJECT = re.compile(r"^(?:The )?(?P<subject>[\w' ’-]{3,50}?) (?:is|are|has|have|lacks?|was|shows?)\b")
_OF_ANOTHER = re.compile(r"\bof (?:the|its) (?:closely |very )?(?:related|similar|smaller|larger)\b")


def stated_subject(sentence: str, group: str = BIRDS) -> Subject | None:
    """Return the subject that a sentence names at its beginning, `""` for both sexes or the whole plant, or None."""
    both = _BOTH.search(sentence)
    if both and both.start() < _SUBJECT_REACH:
        return ""
    head = sentence.partition(";")[0]
    # What a plant is "with" is not what the sentence is about.
    head = _BEFORE_VERB.split(head, maxsplit=1)[0] if group == "plants" else _NO_ADJECTIVE.sub("-", head)
    found = [
        (match.start(), i, subject)
        for i, (subject, pattern) in enumerate(_patterns(group))
        for match in pattern.finditer(head)
        if not (_COMPARED.search(head[: match.start()]) or _FED_ON.search(head[: match.start()]))
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
    if appearance(group).kept_apart and subject in ("male", "female"):  # "the underside" is that of both
        return PRONOUN.match(sentence) is not None
    if subject in ("larva", "pupa") and _OF_ADULTS.search(sentence[:_SUBJECT_REACH]):
        return False
    if subject in ("leaf", "flower", "fruit"):
        return _THEY.match(sentence) is not None
    return _CONTINUES.match(sentence) is not None


def is_about_another(sentence: str, group: str = BIRDS) -> bool:
    """Return whether the subject looks like the name of another species: several words, the last one not a part."""
    if _OF_ANOTHER.search(sentence[:60]):
        return True
    found = _NAMED_SUBJECT.match(sentence)
    if found is None or stated_subject(sentence, group) is not None or PRONOUN.match(sentence):
        return False
    words = words_of(found["subject"])
    if len(words) < 2 or words[0] in ("this", "these", "its", "their", "there", "both", "in", "a", "an"):
        return False
    plain = groups(group)["plain-subject"]
    return group_of(words[-1], group) is None and words[-1] not in plain and words[0] not in plain


def with_subject(sentence: str, subject: Subject) -> str | None:
    """Return the sentence with its leading pronoun replaced by the subject, or None without such a pronoun."""
    found = PRONOUN.match(sentence)
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
        words, headed = words_of(sentence), side_named(title, self._sides)
        if is_new_paragraph:
            self._leading = headed
        if not self._sides.keys().isdisjoint(words):
            is_late = self._sides.keys().isdisjoint(words[:_SIDE_REACH])
            self._leading = "" if is_late else side_named(sentence, self._sides)
            return ""
        return headed or (self._leading if _STARTS_WITH_WINGS.match(sentence) else "")


def side_named(text: str, sides: Mapping[str, str]) -> str:
    """Return the side that a text names, empty for none or several."""
    named = {sides[word] for word in words_of(text) if word in sides}
    return named.pop() if len(named) == 1 else ""


def labelled(text: str, label: str) -> str:
    """Return a statement under its label."""
    said = _IS.sub("", text)
    return f"{label.capitalize()}: {said[:1].lower()}{said[1:]}"


def without_label(text: str) -> str:
    """Return a statement without its label."""
    return _LABEL.sub("", text)


_WHO_ADJECTIVE = r"(?:young|immature|breeding|non-breeding|nonbreeding|mature|typical|wild|perched|flying)"
_AFTER_PREPOSITION = re.compile(r"\b(?:of|to|than|in|by|like|from|with|for|and|or)\s$", re.IGNORECASE)
# A hidden name in parentheses.
_ONLY_A_NAME = re.compile(r"\s*\((?:(?:or|also|formerly)\s+)?(?:this species|it)\)", re.IGNORECASE)
_QUALIFIED = re.compile(r"\b[Tt]he (?:[A-Z][a-z]+ ){1,2}$")
_ADVERBS = ("also", "often", "usually", "typically", "generally")
_DETERMINER = r"(?:(?:the|an?|this|all|most)\s+)?"
_ALIASES = r"(?:\s*,?\s+(?:or|also|sometimes|formerly|commonly|otherwise|locally|simply|known)\b[^.;]{0,160}?,?)?"


class NameHider:
    """Hides the names of a species in its sentences: "The northern cardinal has" becomes "It has"."""

    def __init__(self, taxon: Taxon, title: str = "") -> None:
        self.group = group_of_taxon(taxon.lineage, taxon.scientific_name)
        self._is_of_several = taxon.rank != "species"
        self.noun = column("groups", "noun", group="")[self.group]
        names = [*taxon.names, *([] if title.startswith(("List ", "Category:")) else [without_qualifier(title)])]
        for binomial in (taxon.scientific_name, *taxon.synonyms):
            genus, _, epithet = binomial.partition(" ")
            names += [f"{genus[:1]}. {epithet}"] if epithet else []
        self._names = sorted({name for name in names if len(name) > 2}, key=lambda name: (-len(name), name))
        self._has_name = bool(taxon.common_names or title)
        self._last_words = {words[-1] for name in self._names if (words := words_of(name))}
        self._heads = {name.split()[-1] for name in taxon.common_names if len(name.split()) > 1}

    @cached_property
    def _patterns(self) -> dict[str, str]:
        """Patterns of a name by its place: inside, at the start, beside a sex, age or adjective, in a longer name.

        `re` compiles a pattern when it is used first: most sentences need two, and compiling is slower than searching.
        """
        names = "|".join(map(_flexible, self._names)) or "(?!)"
        name = rf"(?:{names})(?P<plural>(?:s|es)?)(?![\w-])"
        who = f"(?:{pattern('who').pattern})"
        heads = "|".join(sorted({_flexible(head) for head in self._heads})) or "(?!)"
        # "The Asian openbill stork is": one more noun may follow the name.
        noun = rf"\s+(?!(?:{'|'.join(_ADVERBS)})\b)(?P<noun>[a-z]+)(?=\s+(?:is|are|has|have)\b)"
        return {
            "inside": rf"(?i)(?<![\w-])(?P<det>(?:the|an?|this|other|most|all|some)\s+)?{name}(?P<own>['’]s?)?",
            "head": rf"(?i)^the (?:{heads})(?=\s+(?:is|has)\b)",
            "longer": rf"^(?:The|An?) (?:[A-Z][a-z]+ ){{1,2}}(?P<own>(?i:{name}))",  # "The Pacific banana slug"
            "without verb": rf"(?i)^an? {name}(?= (?:with|of|in)\b)",
            "lead": rf"(?i)^{_DETERMINER}{name}{_ALIASES}(?=\s+(?P<verb>is|are)\s)",
            "before who": rf"(?i)^(?P<det>{_DETERMINER}){name}\s+(?P<who>{who})\b",
            "after who": rf"(?i)(?<![\w-])(?P<who>{who})\s+(?:of\s+the\s+)?{name}",
            "adjective": rf"(?i)(?<![\w-])(?P<who>{_WHO_ADJECTIVE})\s+{name}",
            "subject": rf"(?i)^{_DETERMINER}{name}(?:(?P<own>['’]s?)|{noun})?(?=[\s,])",
        }

    def names_another(self, sentence: str) -> bool:
        """Return whether a sentence is on another species, or of a genus or family on one of its own."""
        if self._is_of_several:
            return re.match(self._patterns["longer"], sentence) is not None
        found = _NAMED_SUBJECT.match(sentence) if self._has_name and is_about_another(sentence) else None
        last = singulars(words_of(found["subject"])[-1]) if found is not None else []
        is_kind = any(form in organisms() for form in last) and self._last_words.isdisjoint(last)
        return is_kind or _OF_ANOTHER.search(sentence[:60]) is not None

    def hide(self, sentence: str) -> str:
        """Return the sentence with each name of the species replaced by a pronoun or "this species"."""
        by = self._patterns
        if re.search(by["inside"], sentence) is None:
            return capitalised(tidy(re.sub(by["head"], "It", sentence)))
        text = re.sub(by["longer"], r"\g<own>", sentence)
        # "An orchid with" has no verb for "it".
        text = re.sub(by["without verb"], f"{'An' if self.noun[0] in 'aeiou' else 'A'} {self.noun}", text)
        text = re.sub(by["lead"], lambda m: "They" if m["plural"] or m["verb"] == "are" else "It", text, count=1)
        text = re.sub(by["head"], "It", text)
        text = re.sub(by["before who"], lambda m: capitalised(m["det"] + m["who"]), text)
        text = re.sub(
            by["after who"], lambda m: m["who"] + "s" * (bool(m["plural"]) and not m["who"].endswith("s")), text
        )
        text = re.sub(by["adjective"], lambda m: f"{m['who']} {_plural(self.noun) if m['plural'] else self.noun}", text)
        text = re.sub(by["subject"], self._pronoun, text, count=1)
        return capitalised(tidy(_ONLY_A_NAME.sub("", re.sub(by["inside"], self._common, text))))

    def names_in(self, sentence: str) -> list[str]:
        """Return the names of the species in a sentence."""
        return [found[0] for found in re.finditer(self._patterns["inside"], sentence)]

    def _common(self, found: re.Match[str]) -> str:
        if _QUALIFIED.search(found.string[: found.start()]):
            return found[0]  # "than the Pacific banana slug"
        determiner = (found["det"] or "").strip().lower()
        is_one_word = not determiner and " " not in found[0].strip()
        if is_one_word and not _AFTER_PREPOSITION.search(found.string[: found.start()]):
            return found[0]  # "tree frog" is another name than "frog"
        if found["plural"] or determiner in ("other", "most", "all", "some"):
            quantity = found["det"] if determiner in ("other", "most", "all", "some") else ""
            text = f"{quantity}{_plural(self.noun)} of this species"
        else:
            text = "this species"
        return text + ("'s" if found["own"] and not found["plural"] else "'" if found["own"] else "")

    def _pronoun(self, found: re.Match[str]) -> str:
        if found["own"]:
            return "Their" if found["plural"] or found["own"] in ("'", "’") else "Its"
        if found["noun"] and group_of(found["noun"].lower(), self.group) is not None:
            return f"Its {found['noun']}"  # a part of it, not of its name
        following = words_of(found.string[found.end() : found.end() + 60])
        if found.string[found.end() : found.end() + 1] == "," or not following:
            return f"These {_plural(self.noun)}" if found["plural"] else "This species"
        is_plural = found["plural"] or following[0] in ("are", "were", "have")  # "grouse have"
        if following[0] in groups(self.group)["verb"] or following[0] in _ADVERBS:
            return "They" if is_plural else "It"
        return f"These {_plural(self.noun)}" if is_plural else "This species"


def _plural(noun: str) -> str:
    return {"fish": "fish", "fungus": "fungi"}.get(noun, f"{noun}s")


def _flexible(name: str) -> str:
    """Return a pattern for a name with any hyphens, apostrophes and spelling of grey."""
    pattern = re.escape(name)
    pattern = re.sub(r"(?:\\?-|\\ | )+", r"[\\s-]+", pattern)
    pattern = re.sub(r"['’]", "['’]", pattern)
    return re.sub(r"(?i)gr[ae]y", "gr[ae]y", pattern)
