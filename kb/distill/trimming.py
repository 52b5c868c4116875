"""Shortening of sentences: brackets, off-topic clauses and the species' name are removed."""

from __future__ import annotations

import re
from functools import cached_property

from data.lexicon.word_groups import group_of, groups, words_of
from data.records import Taxon
from kb.distill.visual import has_looks, has_other_topics

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
# Boundaries before a clause or phrase that can be dropped.
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
_DEPENDENT = re.compile(r"^(?:including|especially|which|who|where|as well as|such as)\b")
_AND = re.compile(r"^and\s+")


def tidy(text: str) -> str:
    """Return the text with single spaces, none before a comma or full stop, and no doubled commas."""
    spaced = _BEFORE_MARK.sub(r"\1", _SPACES.sub(" ", text)).strip()
    return _DOUBLE_MARK.sub("", spaced)


def drop_brackets(sentence: str) -> str:
    """Return the sentence without notes and parentheses, except those that name a colour, part or sex.

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
    """Return the sentence without an opening connective and without off-topic clauses.

    A clause is dropped if it is about another topic and names no part, colour, pattern or size. The first clause stays,
    unless a semicolon follows it.

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
        # A dependent clause goes with the one before it ("but other species, including ...").
        was_cut = _is_off_topic(piece) or (was_cut and _DEPENDENT.match(piece) is not None)
        if was_cut:
            kept[-1] = _closed_list(kept[-1], seam, piece)
            continue
        kept.append((seam, piece))
    if len(kept) > 1 and kept[1][0].startswith(";") and _is_off_topic(kept[0][1]):
        kept = kept[1:]
        kept[0] = ("", capitalised(kept[0][1]))
    shorter = tidy("".join(seam + piece for seam, piece in kept).rstrip(" ,;:–—"))
    is_incomplete = set(words_of(shorter)[-1:]) & groups()["dangling"]  # "The race with a yellow bill is"
    return tidy(text) if is_incomplete else shorter + (mark or ".")


def off_topic_clauses(sentence: str) -> list[str]:
    """Return the off-topic clauses of a sentence.

    Example:
        >>> off_topic_clauses("It has a red head and a black tail, and feeds on seeds in the forest.")
        ['feeds on seeds in the forest']
    """
    return [_AND.sub("", piece).strip(" .,;") for _, piece in _split(sentence) if _is_off_topic(piece)]


def _split(body: str) -> list[tuple[str, str]]:
    """Return `(separator before it, clause)` for each clause."""
    pieces: list[tuple[str, str]] = []
    begin, seam = 0, ""
    for found in _SEAM.finditer(body):
        if body.count("(", begin, found.start()) != body.count(")", begin, found.start()):
            continue  # inside a parenthesis
        pieces.append((seam, body[begin : found.start()]))
        begin, seam = found.end(), found[0]
    pieces.append((seam, body[begin:]))
    return pieces


def _is_off_topic(clause: str) -> bool:
    topics = {group_of(word) for word in words_of(clause)}
    # "A call like a rusty hinge" has a colour word and no looks.
    return (has_other_topics(clause) and not has_looks(clause)) or ("sound" in topics and "part" not in topics)


def _closed_list(before: tuple[str, str], seam: str, dropped: str) -> tuple[str, str]:
    """Return the clause with "and" before the last item of a list whose last item was dropped."""
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


_NOUNS = {"Aves": "bird", "Insecta": "insect", "Amphibia": "animal", "Mammalia": "animal", "Plantae": "plant"}
_WHO_NOUN = r"(?:males?|females?|adults?|juveniles?|immatures?|chicks?|nestlings?|hens?|cocks?|drakes?)"
_WHO_ADJECTIVE = r"(?:young|immature|breeding|non-breeding|nonbreeding|mature|typical|wild|perched|flying)"
_AFTER_PREPOSITION = re.compile(r"\b(?:of|to|than|in|by|like|from|with|for|and|or)\s$", re.IGNORECASE)
_DETERMINER = r"(?:(?:the|an?|this|all|most)\s+)?"
_ALIASES = r"(?:\s*,?\s+(?:or|also|sometimes|formerly|commonly|otherwise|locally|simply|known)\b[^.;]{0,160}?,?)?"


def own_names(taxon: Taxon, title: str = "") -> list[str]:
    """Return the names of a species, longest first."""
    names = [*taxon.common_names, taxon.scientific_name, *taxon.synonyms]
    if title and not title.startswith(("List ", "Category:")):
        names.append(re.sub(r"\s*\([^)]*\)$", "", title))
    for binomial in (taxon.scientific_name, *taxon.synonyms):
        genus, _, epithet = binomial.partition(" ")
        if epithet:
            names.append(f"{genus[:1]}. {epithet}")
    return sorted({name for name in names if len(name) > 2}, key=lambda name: (-len(name), name))


# A hidden name in parentheses.
_ONLY_A_NAME = re.compile(r"\s*\((?:(?:or|also|formerly)\s+)?(?:this species|it)\)", re.IGNORECASE)


class NameHider:
    """Hides the names of a species in its sentences: "The northern cardinal has" becomes "It has".

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

    # Compiled on first use: a text without names needs only the two above.

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
        """Return the sentence with each name of the species replaced by a pronoun or "this species"."""
        if self._inside.search(sentence) is None:
            return capitalised(tidy(self._head.sub("It", sentence)))
        text = self._lead.sub(lambda m: "They" if m["plural"] else "It", sentence, count=1)
        text = self._head.sub("It", text)
        text = self._before_who.sub(lambda m: capitalised(m["det"] + m["who"]), text)
        text = self._of_who.sub(self._who_alone, text)
        text = self._adjective.sub(lambda m: f"{m['who']} {self.noun}{'s' if m['plural'] else ''}", text)
        text = self._subject.sub(_pronoun, text, count=1)
        return capitalised(tidy(_ONLY_A_NAME.sub("", self._inside.sub(self._common, text))))

    def names_in(self, sentence: str) -> list[str]:
        """Return the names of the species in a sentence."""
        return [found[0] for found in self._inside.finditer(sentence)]

    def _who_alone(self, found: re.Match[str]) -> str:
        who = found["who"]
        return who + "s" if found["plural"] and not who.endswith("s") else who

    def _common(self, found: re.Match[str]) -> str:
        determiner = (found["det"] or "").strip().lower()
        is_one_word = not determiner and " " not in found[0].strip()
        if is_one_word and not _AFTER_PREPOSITION.search(found.string[: found.start()]):
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
    """Return a pattern for a name with any hyphens, apostrophes and spelling of grey."""
    pattern = re.escape(name)
    pattern = re.sub(r"(?:\\?-|\\ | )+", r"[\\s-]+", pattern)
    pattern = re.sub(r"['’]", "['’]", pattern)
    return re.sub(r"(?i)gr[ae]y", "gr[ae]y", pattern)
