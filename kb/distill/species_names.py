"""Names of a species, hidden in its sentences."""

from __future__ import annotations

import re
from functools import cached_property

from data.lexicon.tables import BIRDS, column
from data.lexicon.taxa import group_of_taxon
from data.lexicon.word_groups import group_of, groups, words_of
from data.records import Taxon
from kb.distill.trimming import capitalised, tidy

_WHO_NOUN = (
    r"(?:males?|females?|adults?|juveniles?|immatures?|chicks?|nestlings?|hens?|cocks?|drakes?|larvae?|caterpillars?|"
    r"pupae?|tadpoles?|nymphs?|imagos?|workers?|queens?|calf|calves|cubs?)"
)
_WHO_ADJECTIVE = r"(?:young|immature|breeding|non-breeding|nonbreeding|mature|typical|wild|perched|flying)"
_AFTER_PREPOSITION = re.compile(r"\b(?:of|to|than|in|by|like|from|with|for|and|or)\s$", re.IGNORECASE)
# A hidden name in parentheses.
_ONLY_A_NAME = re.compile(r"\s*\((?:(?:or|also|formerly)\s+)?(?:this species|it)\)", re.IGNORECASE)
_QUALIFIED = re.compile(r"\b[Tt]he (?:[A-Z][a-z]+ ){1,2}$")
_ADVERBS = ("also", "often", "usually", "typically", "generally")
_DETERMINER = r"(?:(?:the|an?|this|all|most)\s+)?"
_ALIASES = r"(?:\s*,?\s+(?:or|also|sometimes|formerly|commonly|otherwise|locally|simply|known)\b[^.;]{0,160}?,?)?"


def own_names(taxon: Taxon, title: str = "") -> list[str]:
    """Return the names of a species, longest first."""
    names = list(taxon.names)
    if title and not title.startswith(("List ", "Category:")):
        names.append(re.sub(r"\s*\([^)]*\)$", "", title))
    for binomial in (taxon.scientific_name, *taxon.synonyms):
        genus, _, epithet = binomial.partition(" ")
        if epithet:
            names.append(f"{genus[:1]}. {epithet}")
    return sorted({name for name in names if len(name) > 2}, key=lambda name: (-len(name), name))


class NameHider:
    """Hides the names of a species in its sentences: "The northern cardinal has" becomes "It has"."""

    def __init__(self, taxon: Taxon, title: str = "") -> None:
        self.group = group_of_taxon(taxon.lineage, taxon.scientific_name)
        self._is_of_several = taxon.rank != "species"
        self.noun = column("groups", "noun", group="")[self.group]
        self._names = own_names(taxon, title)
        self._heads = {name.split()[-1] for name in taxon.common_names if len(name.split()) > 1}

    @cached_property
    def _name(self) -> str:
        joined = "|".join(_flexible(name) for name in self._names) or "(?!)"
        return rf"(?:{joined})(?P<plural>(?:s|es)?)(?![\w-])"

    @cached_property
    def _head(self) -> re.Pattern[str]:
        heads = "|".join(sorted({_flexible(head) for head in self._heads}))
        return re.compile(rf"^the (?:{heads or '(?!)'})(?=\s+(?:is|has)\b)", re.IGNORECASE)

    @cached_property
    def _inside(self) -> re.Pattern[str]:
        return re.compile(
            rf"(?<![\w-])(?P<det>(?:the|an?|this|other|most|all|some)\s+)?{self._name}(?P<own>['’]s?)?", re.IGNORECASE
        )

    @cached_property
    def _without_verb(self) -> re.Pattern[str]:
        return re.compile(rf"^an? {self._name}(?= (?:with|of|in)\b)", re.IGNORECASE)

    @cached_property
    def _longer(self) -> re.Pattern[str]:
        """A longer name at the start of a sentence: "The Pacific banana slug"."""
        return re.compile(rf"^(?:The|An?) (?:[A-Z][a-z]+ ){{1,2}}(?P<own>(?i:{self._name}))")

    @cached_property
    def _by_position(self) -> list[re.Pattern[str]]:
        """Patterns of a name at the start, before and after a sex or age, after an adjective, and as the subject."""
        # "The Asian openbill stork is": one more noun may follow the name.
        noun = rf"\s+(?!(?:{'|'.join(_ADVERBS)})\b)(?P<noun>[a-z]+)(?=\s+(?:is|are|has|have)\b)"
        patterns = (
            rf"^{_DETERMINER}{self._name}{_ALIASES}(?=\s+(?:is|are)\s)",
            rf"^(?P<det>{_DETERMINER}){self._name}\s+(?P<who>{_WHO_NOUN})\b",
            rf"(?<![\w-])(?P<who>{_WHO_NOUN})\s+(?:of\s+the\s+)?{self._name}",
            rf"(?<![\w-])(?P<who>{_WHO_ADJECTIVE})\s+{self._name}",
            rf"^{_DETERMINER}{self._name}(?:(?P<own>['’]s?)|{noun})?(?=[\s,])",
        )
        return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]

    def names_another(self, sentence: str) -> bool:
        """Return whether a sentence on a genus or family begins with the longer name of one of its species."""
        return self._is_of_several and self._longer.match(sentence) is not None

    def hide(self, sentence: str) -> str:
        """Return the sentence with each name of the species replaced by a pronoun or "this species"."""
        if self._inside.search(sentence) is None:
            return capitalised(tidy(self._head.sub("It", sentence)))
        lead, before_who, after_who, adjective, subject = self._by_position
        text = sentence
        if self.group != BIRDS:  # "An orchid with" has no verb for "it"
            text = self._longer.sub(r"\g<own>", text)
            text = self._without_verb.sub(f"{'An' if self.noun[0] in 'aeiou' else 'A'} {self.noun}", text)
        text = lead.sub(lambda m: "They" if m["plural"] else "It", text, count=1)
        text = self._head.sub("It", text)
        text = before_who.sub(lambda m: capitalised(m["det"] + m["who"]), text)
        text = after_who.sub(lambda m: m["who"] + "s" * (bool(m["plural"]) and not m["who"].endswith("s")), text)
        text = adjective.sub(lambda m: f"{m['who']} {_plural(self.noun) if m['plural'] else self.noun}", text)
        text = subject.sub(self._pronoun, text, count=1)
        return capitalised(tidy(_ONLY_A_NAME.sub("", self._inside.sub(self._common, text))))

    def names_in(self, sentence: str) -> list[str]:
        """Return the names of the species in a sentence."""
        return [found[0] for found in self._inside.finditer(sentence)]

    def _common(self, found: re.Match[str]) -> str:
        if self.group != BIRDS and _QUALIFIED.search(found.string[: found.start()]):
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
        if following[0] in groups(self.group)["verb"] or following[0] in _ADVERBS:
            return "They" if found["plural"] else "It"
        return f"These {_plural(self.noun)}" if found["plural"] and self.group != BIRDS else "This species"


def _plural(noun: str) -> str:
    return {"fish": "fish", "fungus": "fungi"}.get(noun, f"{noun}s")


def _flexible(name: str) -> str:
    """Return a pattern for a name with any hyphens, apostrophes and spelling of grey."""
    pattern = re.escape(name)
    pattern = re.sub(r"(?:\\?-|\\ | )+", r"[\\s-]+", pattern)
    pattern = re.sub(r"['’]", "['’]", pattern)
    return re.sub(r"(?i)gr[ae]y", "gr[ae]y", pattern)
