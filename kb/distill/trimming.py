"""Shortening of sentences without new claims: no brackets, no clauses on other matters, no name of the species."""

from __future__ import annotations

import re
from functools import cached_property

from data.lexicon.word_groups import group_of, groups, words_of
from data.records import Taxon
from kb.distill.visual import has_looks, has_other_matters

_NOTE = re.compile(r"\s*\[[^\[\]]{0,40}\]")
_PARENTHESIS = re.compile(r"\s*\(([^()]*)\)")
_SPACES = re.compile(r"\s+")
_BEFORE_MARK = re.compile(r"\s+([,.;:])")
_DOUBLE_MARK = re.compile(r"([,;:])\s*(?=[,.;:])")
_CONNECTIVE = re.compile(
    r"^(?:However|In addition|Additionally|Furthermore|Moreover|Also|Thus|Therefore|Hence|Overall|Otherwise|In general|"
    r"Generally|In contrast|By contrast|Conversely|Likewise|Similarly|Meanwhile|As the name suggests|"
    r"As its name suggests|As its name implies|As the name implies|As suggested by its name),\s+"
)
# Where a sentence may be cut in two and both halves still read: the second begins a clause or a phrase of its own.
_SEAM = re.compile(
    r"""
    ;\s+
    | \s+[–—]\s+
    | ,\s+(?=(?:which|who|where|while|whereas|although|though|but|and|found|native|endemic|making|occurring|living|
               breeding|resident|ranging|distributed|often|usually|known|noted|with|as\ well\ as|especially|including|
               hence|giving|so|from|initiates?|builds?|feeds?|nests?|lays?|sings?|calls?|forages?|lives?|inhabits?|
               eats?)\b)
    | \s+(?=and\s+(?:is|are|was|has\ been|breeds?|lives?|feeds?|occurs?|inhabits?|weighs?|can|may|it|they|its|their|
               nests?|ranges?|winters?)\b)
    | \s+(?=with\s+an?\s+(?:\w+\s+){0,3}(?:call|song|voice|flight)\b)
    | \s+(?=(?:found|native|endemic|resident|breeding|occurring|distributed|living)\s+
               (?:in|to|from|across|throughout|on)\b)
    | \s+(?=(?:that|which)\s+(?:breeds?|lives?|is\s+found|is\s+native|is\s+endemic|occurs?|inhabits?|forages?|feeds?|
               nests?|moves?|hunts?|frequents?)\b)
    """,
    re.VERBOSE,
)
_HANGING_CLAUSE = re.compile(r"^(?:including|especially|which|who|where|as well as|such as)\b")
_AND = re.compile(r"^and\s+")


def tidy(text: str) -> str:
    """Return the text with single spaces, none before a comma or full stop, and no doubled commas."""
    spaced = _BEFORE_MARK.sub(r"\1", _SPACES.sub(" ", text)).strip()
    return _DOUBLE_MARK.sub("", spaced)


def drop_brackets(sentence: str) -> str:
    """Return the sentence without notes and without parentheses, but those that name a colour, a part or a sex.

    Example:
        >>> drop_brackets("It is 20 cm (7.9 in) long [3] with a red bill (orange in females).")
        'It is 20 cm long with a red bill (orange in females).'
    """

    def keep(found: re.Match[str]) -> str:
        said = {group_of(word) for word in words_of(found[1])}
        tells = said & {"part", "colour", "pattern", "who"} and not said & {"place", "taxonomy", "naming", "people"}
        return found[0] if tells and not any(sign.isdigit() for sign in found[1]) else ""

    return tidy(_PARENTHESIS.sub(keep, _NOTE.sub("", _SPACES.sub(" ", sentence))))


def trim_clauses(sentence: str) -> str:
    """Return the sentence without connectives before it and without clauses at its end or inside that tell no looks.

    A clause goes only if it names neither part, colour, pattern nor size and does speak of another matter. The first
    clause stays unless a semicolon parts it from the next.

    Example:
        >>> trim_clauses("However, it has a red head and a black tail, and feeds on seeds in the forest.")
        'It has a red head and a black tail.'
    """
    if not sentence:
        return ""
    text = _CONNECTIVE.sub("", sentence)
    if text != sentence:
        text = capitalised(text)
    body, mark = (text[:-1], text[-1]) if text.endswith((".", "!", "?")) else (text, "")
    pieces = _split(body)
    kept = [pieces[0]]
    was_cut = False
    for seam, piece in pieces[1:]:
        # What hangs on a clause that went ("but other species, including ...") goes with it.
        was_cut = _is_foreign(piece) or (was_cut and _HANGING_CLAUSE.match(piece) is not None)
        if was_cut:
            kept[-1] = _closed_list(kept[-1], seam, piece)
            continue
        kept.append((seam, piece))
    if len(kept) > 1 and kept[1][0].startswith(";") and _is_foreign(kept[0][1]):
        kept = kept[1:]
        kept[0] = ("", capitalised(kept[0][1]))
    shorter = tidy("".join(seam + piece for seam, piece in kept).rstrip(" ,;:–—"))
    # "The race with a yellow bill is (found in Chile)": the cut took what the sentence needs.
    return (
        tidy(text)
        if words_of(shorter)[-1:] and words_of(shorter)[-1] in groups()["dangling"]
        else shorter + (mark or ".")
    )


def foreign_clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence that speak of another matter and of no looks.

    Example:
        >>> foreign_clauses("It has a red head and a black tail, and feeds on seeds in the forest.")
        ['feeds on seeds in the forest']
    """
    return [_AND.sub("", piece).strip(" .,;") for _, piece in _split(sentence) if _is_foreign(piece)]


def _split(body: str) -> list[tuple[str, str]]:
    """Return (what parts it from the one before, clause) for each clause."""
    pieces: list[tuple[str, str]] = []
    begin, seam = 0, ""
    for found in _SEAM.finditer(body):
        if body.count("(", begin, found.start()) != body.count(")", begin, found.start()):
            continue  # inside a parenthesis
        pieces.append((seam, body[begin : found.start()]))
        begin, seam = found.end(), found[0]
    pieces.append((seam, body[begin:]))
    return pieces


def _is_foreign(clause: str) -> bool:
    said = {group_of(word) for word in words_of(clause)}
    # "A call like a rusty hinge" has a colour word and no looks.
    return (has_other_matters(clause) and not has_looks(clause)) or ("sound" in said and "part" not in said)


def _closed_list(before: tuple[str, str], seam: str, dropped: str) -> tuple[str, str]:
    """Give the list that lost its last member an "and" again: "a red head, a black tail(, and a loud call)"."""
    seam_before, text = before
    has_verb = any(word in groups()["verb"] for word in words_of(dropped))
    last = text.rpartition(", ")
    is_list = seam.startswith(",") and _AND.match(dropped) and not has_verb and last[1]
    if is_list and len(last[2].split()) <= 6 and " and " not in last[2]:
        return seam_before, f"{last[0]} and {last[2]}"
    return before


def capitalised(text: str) -> str:
    """Return the text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


# --- the species' own name ---------------------------------------------------------------------------------------

_NOUNS = {"Aves": "bird", "Insecta": "insect", "Amphibia": "animal", "Mammalia": "animal", "Plantae": "plant"}
_WHO_NOUN = r"(?:males?|females?|adults?|juveniles?|immatures?|chicks?|nestlings?|hens?|cocks?|drakes?)"
_WHO_ADJECTIVE = r"(?:young|immature|breeding|non-breeding|nonbreeding|mature|typical|wild|perched|flying)"
_AFTER_PREPOSITION = re.compile(r"\b(?:of|to|than|in|by|like|from|with|for|and|or)\s$", re.IGNORECASE)
_ALIASES = r"(?:\s*,?\s+(?:or|also|sometimes|formerly|commonly|otherwise|locally|simply|known)\b[^.;]{0,160}?,?)?"


def own_names(taxon: Taxon, title: str = "") -> list[str]:
    """Return the names that a summary must not give away, longest first."""
    names = [*taxon.common_names, taxon.scientific_name, *taxon.synonyms]
    if title and not title.startswith(("List ", "Category:")):
        names.append(re.sub(r"\s*\([^)]*\)$", "", title))
    for binomial in (taxon.scientific_name, *taxon.synonyms):
        genus, _, epithet = binomial.partition(" ")
        if epithet:
            names.append(f"{genus[:1]}. {epithet}")
    return sorted({name for name in names if len(name) > 2}, key=lambda name: (-len(name), name))


_DETERMINER = r"(?:(?:the|an?|this|all|most)\s+)?"


# A name in parentheses, after a name: once both are hidden it says nothing.
_ONLY_A_NAME = re.compile(r"\s*\((?:(?:or|also|formerly)\s+)?(?:this species|it)\)", re.IGNORECASE)


class NameHider:
    """Takes a species' names out of its sentences: "The northern cardinal has" becomes "It has".

    Example:
        >>> taxon = Taxon(taxon_id="a-b", scientific_name="Aves bella", rank="species", common_names=("Red Wren",))
        >>> NameHider(taxon).hide("The male red wren is bigger than other red wrens.")
        'The male is bigger than other birds of this species.'
    """

    def __init__(self, taxon: Taxon, title: str = "") -> None:
        self.noun = _NOUNS.get(taxon.lineage.get("class", "Aves"), "animal")
        self._names = own_names(taxon, title)
        joined = "|".join(_flexible(name) for name in self._names)
        self._name = rf"(?:{joined})(?P<plural>(?:s|es)?)(?![\w-])"
        heads = "|".join(sorted({_flexible(name.split()[-1]) for name in taxon.common_names if len(name.split()) > 1}))
        self._head = re.compile(rf"^the (?:{heads or '(?!)'})(?=\s+(?:is|has)\b)", re.IGNORECASE)
        self._inside = re.compile(
            rf"(?<![\w-])(?P<det>(?:the|an?|this|other|most|all|some)\s+)?{self._name}(?P<own>['’]s?)?", re.IGNORECASE
        )

    # Patterns are dear to compile, and a text that bears no name needs but the two above.

    @cached_property
    def _lead(self) -> re.Pattern[str]:
        return re.compile(rf"^{_DETERMINER}{self._name}{_ALIASES}(?=\s+(?:is|are)\s)", re.IGNORECASE)

    @cached_property
    def _of_who(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w-])(?P<who>{_WHO_NOUN})\s+(?:of\s+the\s+)?{self._name}", re.IGNORECASE)

    @cached_property
    def _adjective(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w-])(?P<who>{_WHO_ADJECTIVE})\s+{self._name}", re.IGNORECASE)

    @cached_property
    def _before_who(self) -> re.Pattern[str]:
        return re.compile(rf"^(?P<det>{_DETERMINER}){self._name}\s+(?P<who>{_WHO_NOUN})\b", re.IGNORECASE)

    @cached_property
    def _subject(self) -> re.Pattern[str]:
        # "The Asian openbill stork is": one more noun may follow the name.
        noun = r"\s+(?!also\b|often\b|usually\b|typically\b|generally\b)(?P<noun>[a-z]+)(?=\s+(?:is|are|has|have)\b)"
        return re.compile(rf"^{_DETERMINER}{self._name}(?:(?P<own>['’]s?)|{noun})?(?=[\s,])", re.IGNORECASE)

    def hide(self, sentence: str) -> str:
        """Return the sentence with a pronoun or "this species" in place of each of the species' names."""
        if self._inside.search(sentence) is None:  # then none of the patterns that hold a name can match
            return capitalised(tidy(self._head.sub("It", sentence)))
        text = self._lead.sub(lambda m: "They" if m["plural"] else "It", sentence, count=1)
        text = self._head.sub("It", text)
        text = self._before_who.sub(lambda m: capitalised(m["det"] + m["who"]), text)
        text = self._of_who.sub(self._who_alone, text)
        text = self._adjective.sub(lambda m: f"{m['who']} {self.noun}{'s' if m['plural'] else ''}", text)
        text = self._subject.sub(_pronoun, text, count=1)
        return capitalised(tidy(_ONLY_A_NAME.sub("", self._inside.sub(self._common, text))))

    def names_in(self, sentence: str) -> list[str]:
        """Return the species' names that a sentence still bears."""
        return [found[0] for found in self._inside.finditer(sentence)]

    def _who_alone(self, found: re.Match[str]) -> str:
        who = found["who"]
        return who + "s" if found["plural"] and not who.endswith("s") else who

    def _common(self, found: re.Match[str]) -> str:
        determiner = (found["det"] or "").strip().lower()
        if (
            not determiner
            and " " not in found[0].strip()
            and not _AFTER_PREPOSITION.search(found.string[: found.start()])
        ):
            return found[0]  # "tree frog" is another name than "frog"
        if found["plural"] or determiner in ("other", "most", "all", "some"):
            quantity = found["det"] if determiner in ("other", "most", "all", "some") else ""
            text = f"{quantity}{self.noun}s of this species"
        else:
            text = "this species"
        return text + ("'s" if found["own"] and not found["plural"] else "'" if found["own"] else "")


def _pronoun(found: re.Match[str]) -> str:
    if found["own"]:
        return "Their" if found["plural"] or found["own"] in ("'", "’") else "Its"
    if found["noun"] and group_of(found["noun"].lower()) is not None:
        return f"Its {found['noun']}"  # a part of the bird, not of its name
    following = words_of(found.string[found.end() : found.end() + 60])
    if found.string[found.end() : found.end() + 1] == "," or not following:
        return "These birds" if found["plural"] else "This species"
    if following[0] in groups()["verb"] or following[0] in ("also", "often", "usually", "typically", "generally"):
        return "They" if found["plural"] else "It"
    return "This species"


def _flexible(name: str) -> str:
    """Return a pattern for a name that does not care for hyphens, kinds of apostrophe or spelling of grey."""
    pattern = re.escape(name)
    pattern = re.sub(r"(?:\\?-|\\ | )+", r"[\\s-]+", pattern)
    pattern = re.sub(r"['’]", "['’]", pattern)
    return re.sub(r"(?i)gr[ae]y", "gr[ae]y", pattern)
