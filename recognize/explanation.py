"""Explanation of an answer: its evidence, the first candidate against the second, and their distinguishing marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from data.contracts import KnowledgeStore
from data.errors import UsageError
from data.lexicon.appearance import MARKED_AS, appearance, kind_of
from data.lexicon.marks import Mark, find_marks, sentences_of_words
from data.lexicon.words import BIRDS, group_of_taxon, near, shared_group, stem
from data.records import Candidate, Identification, SpeciesEntry
from recognize.answers import short_name

# At ends of sentences, commas, "and the", and verbs: "green skin surrounds the eye". Not at "and the tail with green",
# which has no verb.
_CLAUSE: Final = re.compile(r"[,;:.!?]\s|\b(?:and|while|but|\w+s)\s(?=(?:the|its|each|an?)\b(?!\s\S+\swith\b))")
_COLOURED_IN_PART: Final = MARKED_AS | {"glossed"}
_ALIKE: Final = 0.5  # likeness of colours that one text can mean by the name of the other
_Aspect = tuple[Mark, str]
"""A part with its sex or age and side, as a mark without a look, and a kind of look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartContrast:
    """A part, as a whole, with looks of one kind, such as colours, that two descriptions do not share."""

    part: Mark
    """The part without a look; females are compared with females, uppersides with uppersides."""
    kind: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Differences between two descriptions."""

    differing: tuple[PartContrast, ...] = ()
    only_ours: tuple[Mark, ...] = ()
    """Looks of parts that no word of the other description can mean, differing parts included."""
    only_theirs: tuple[Mark, ...] = ()

    def elsewhere(self, marks: Sequence[Mark]) -> list[Mark]:
        """Return the marks outside the differing parts."""
        aspects = {(each.part, each.kind) for each in self.differing}
        return [mark for mark in marks if mark.marking or _aspect(mark) not in aspects]


def contrast(ours: str, theirs: str, group: str = BIRDS) -> Contrast:
    """Return the differences between two descriptions, in the words of a group of organisms.

    The reader of marks misses some wordings, so its silence proves nothing: a mark is of one text only if no word of
    the other can mean its look, and a part differs only if no word near it can.
    """
    looks = appearance(group)
    mine, other = _clear_marks(ours, group), _clear_marks(theirs, group)
    my_words, other_words = sentences_of_words(ours, group), sentences_of_words(theirs, group)
    my_looks, other_looks = _looks_by_aspect(mine), _looks_by_aspect(other)

    def absent(named: Iterable[str], words: Iterable[str]) -> bool:
        senses = looks.senses_of(words)
        return all(senses.isdisjoint(_alike(look)) for look in named)

    return Contrast(
        differing=tuple(
            PartContrast(
                part=part,
                kind=kind,
                ours=tuple(sorted(found.values())),
                theirs=tuple(sorted(other_looks[part, kind].values())),
            )
            for (part, kind), found in my_looks.items()
            if (part, kind) in other_looks
            and absent(found, looks.words_near(part.part, other_words))
            and absent(other_looks[part, kind], looks.words_near(part.part, my_words))
        ),
        only_ours=tuple(mark for mark in mine if absent([mark.look], chain(*other_words))),
        only_theirs=tuple(mark for mark in other if absent([mark.look], chain(*my_words))),
    )


def _clear_marks(text: str, group: str) -> list[Mark]:
    """Return the looks of parts that a clause shows by itself: "black wings and tail, grey feathers" has no grey tail.

    The colours of "barred black and white" are those of the bars, those of "glossed with blue" of the gloss.
    """
    clear = set()
    for clause in _CLAUSE.split(text):
        words = list(chain(*sentences_of_words(clause, group)))
        is_marked, stems = not _COLOURED_IN_PART.isdisjoint(words), set(map(stem, words))
        for mark in find_marks(clause, group):
            is_said = mark.look_word or stem(mark.look) in stems  # "mottled" is not shown as "spotted"
            if mark.part and is_said and (not is_marked or mark.marking or kind_of(mark.look) != "colour"):
                clear.add(replace(mark, sex_age=""))
    return [mark for mark in find_marks(text, group) if replace(mark, sex_age="") in clear]


def _alike(look: str) -> set[str]:
    """Return the plain looks of a mixture and the colours that people use for them."""
    plain = set(look.split(" and "))
    return plain | {name for each in plain for name, by in near("near_colours").get(each, {}).items() if by >= _ALIKE}


def _aspect(mark: Mark) -> _Aspect:
    return Mark(look="", part=mark.part, sex_age=mark.sex_age, side=mark.side), kind_of(mark.look)


def _looks_by_aspect(marks: Sequence[Mark]) -> dict[_Aspect, dict[str, str]]:
    """Return aspect -> look of the whole part -> its word in the text."""
    looks: dict[_Aspect, dict[str, str]] = {}
    for mark in marks:
        if not mark.marking:
            looks.setdefault(_aspect(mark), {}).setdefault(mark.look, mark.look_word or mark.look)
    return looks


_MOST_MARKS: Final = 6  # of a species in a sentence
# Weight of each stage in the score, for presets without scores of parts.
_SHARES: Final[dict[str, dict[str, float]]] = {
    "vr-rag-v1": {"text": 1.0, "visual": 1.0},
    "vr-rag-v2": {"text": 0.7, "visual": 0.3},
    "text-only": {"text": 1.0},
    "direct-rag": {"text": 1.0},
    "anchors-only": {"visual": 1.0},
}
_STAGE_NAMES: Final = {
    "text": "description",
    "visual": "reference photos",
    "prototype": "learned prototype",
    "list": "species list",
}
# One vector per species and encoder: half from the description, half from the photos.
_BLENDED: Final = {"vr-rag-v2": "blend of description and reference photos"}
# Cosine, 1.000 in print: the same picture. (Of 150 photos of birds no two came nearer than .93 in the plain visual
# space; a copy at three quarters of the size .989 to .999, like the next picture of a series.)
_SAME_PICTURE: Final = 0.9995


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The evidence for an answer and its differences from the second candidate, the next by confidence."""

    first: Candidate
    second: Candidate | None = None
    lead: float = 0.0
    """Difference of the two scores."""
    lead_by_stage: Mapping[str, float] = field(default_factory=dict)
    """Stage -> its contribution to the lead: `text`, `visual`, and for some presets `prototype` and `list`."""
    deciding_stage: str | None = None
    """Stage with the largest contribution from evidence of the first candidate; None without a second candidate,
    in a tie, or if there is no such stage."""
    only_first: tuple[str, ...] = ()
    """Field marks that only the first summary mentions."""
    only_second: tuple[str, ...] = ()
    anchor_text: str = ""
    """Warning if a candidate has this photo, or a copy, as an anchor."""
    score_text: str = ""
    """Comparison of the scores."""
    photos_command: str = ""
    """Command that gets photos and texts, where no reference photo of the two can be shown."""
    text: str = ""
    """The whole explanation in a few sentences."""


def explain(store: KnowledgeStore, identification: Identification) -> Explanation:
    """Return the evidence for the first candidate and its differences from the second.

    Raises:
        UsageError: if the row has no candidates.
    """
    if not identification.candidates:
        raise UsageError(f"Nothing to explain: {identification.error or 'no candidates'}")
    first, *others = identification.candidates[:2]
    anchor_text = _about_anchor(identification.candidates)
    entries = store.species([each.taxon_id for each in (first, *others)])
    command = photos_command(entries)
    if not others:
        text = f"{short_name(first)} is the only candidate. {anchor_text}".rstrip()
        return Explanation(first=first, anchor_text=anchor_text, text=text, photos_command=command)
    second = others[0]
    texts = [entry.summary.text if entry.summary else "" for entry in entries]
    found = contrast(texts[0], texts[1], shared_group(entry.taxon.lineage for entry in entries))
    ours, theirs = (parts_of_score(identification.preset, each) for each in (first, second))
    lead_by_stage = {stage: round(part - theirs[stage], 6) for stage, part in ours.items() if stage in theirs}
    lead = first.score - second.score
    ahead = [stage for stage, part in lead_by_stage.items() if part > 0 and not _lacks(first, stage)]
    deciding = max(ahead, key=lambda stage: lead_by_stage[stage]) if lead > 0 and ahead else None
    names = stage_names(identification.preset)
    about_scores = _about_scores(names, first, second, lead_by_stage, deciding)
    score_text = " ".join([about_scores, *_about_missing(names, first, second, lead_by_stage)])
    return Explanation(
        first=first,
        second=second,
        lead=round(lead, 6),
        lead_by_stage=lead_by_stage,
        deciding_stage=deciding,
        only_first=tuple(mark.shown for mark in found.only_ours),
        only_second=tuple(mark.shown for mark in found.only_theirs),
        anchor_text=anchor_text,
        score_text=score_text,
        photos_command=command,
        text=" ".join(filter(None, [score_text, anchor_text, *_about_marks(first, second, entries, found)])),
    )


def photos_command(entries: Sequence[SpeciesEntry]) -> str:
    """Return the command that gets photos and texts of the families of two birds, where there is no photo to show."""
    if not entries or any(anchor.sha256 for each in entries for anchor in each.anchors):
        return ""
    taxa = [entry.taxon for entry in entries[:2]]
    if any(group_of_taxon(taxon.lineage) != BIRDS for taxon in taxa):
        return ""  # families of other groups are not known to `kb build`
    names = dict.fromkeys(taxon.lineage.get("family") or repr(taxon.scientific_name) for taxon in taxa)
    return f"kb build {' '.join(f'--taxon {name}' for name in names)} --contact you@example.org"


def _about_anchor(candidates: Sequence[Candidate]) -> str:
    """Return a warning that names the best candidate with this photo as an anchor, if any."""
    for each in candidates:
        if any(anchor.similarity >= _SAME_PICTURE for anchor in each.anchors):
            of = f"This photo is a reference photo of {short_name(each)}, or looks the same as one."
            return f"{of} Its score says nothing about other photos."
    return ""


def stage_names(preset: str) -> Mapping[str, str]:
    """Return stage -> the evidence that it compares the photo with."""
    return {**_STAGE_NAMES, "text": _BLENDED.get(preset, _STAGE_NAMES["text"])}


def parts_of_score(preset: str, candidate: Candidate) -> dict[str, float]:
    """Return stage -> its contribution to the score of a candidate; the sum is the score."""
    parts = {}
    for stage in _STAGE_NAMES:
        share = 1.0 if stage == "list" else _SHARES.get(preset, {}).get(stage)
        name = stage if share is not None else f"{stage}_part"
        if name in candidate.scores:
            parts[stage] = (candidate.scores[name] or 0.0) * (share if share is not None else 1.0)
    return parts


def _lacks(candidate: Candidate, stage: str) -> bool:
    """Return whether a candidate has no evidence in a stage, so that this part of its score is fixed."""
    return candidate.scores.get(stage, 0.0) is None


def _about_scores(
    names: Mapping[str, str],
    first: Candidate,
    second: Candidate,
    lead_by_stage: Mapping[str, float],
    deciding: str | None,
) -> str:
    if first.score <= second.score:
        both = f"{short_name(first)} and {short_name(second)}"
        return f"{both} have the same score; the order of the knowledge base decides."
    against = [names[stage] for stage, part in lead_by_stage.items() if part < 0 and not _lacks(second, stage)]
    text, alone = f"{short_name(first)} scores higher than {short_name(second)}", ""
    if deciding is not None:
        others = [part for stage, part in lead_by_stage.items() if part > 0 and stage != deciding]
        share = "" if not others else ", mostly" if max(others) <= lead_by_stage[deciding] else ", partly"
        alone = "" if others else " alone"
        text += f"{share} on {'the' if deciding == 'list' else 'its'} {names[deciding]}"
    if against:
        favour = "favour" if len(against) > 1 or against[0].endswith("s") else "favours"
        return f"{text}; the {_listed(against)} {favour} {short_name(second)}."
    return f"{text}{alone}."


def _about_missing(
    names: Mapping[str, str], first: Candidate, second: Candidate, lead_by_stage: Mapping[str, float]
) -> list[str]:
    """Return a sentence for each fixed part that makes a difference; missing descriptions have one of their own."""
    return [
        f"{short_name(candidate)} has no {names[stage]}: that part of its score is fixed."
        for stage in ("visual", "prototype")
        for candidate in (first, second)
        if lead_by_stage.get(stage) and _lacks(candidate, stage)
    ]


def _about_marks(first: Candidate, second: Candidate, entries: list[SpeciesEntry], found: Contrast) -> list[str]:
    """Return sentences on differing parts, then on marks of one species only."""
    without = [short_name(c) for c, entry in zip((first, second), entries, strict=True) if entry.summary is None]
    if without:
        return [f"There is no description of {' or '.join(without)} to compare."]
    sentences = []
    for each in found.differing:
        verb = "are" if each.part.part.endswith("s") or each.part.part == "feet" else "is"
        ours, theirs = _listed(each.ours), _listed(each.theirs)
        sentences.append(f"The {each.part} {verb} {ours} in {short_name(first)} and {theirs} in {short_name(second)}.")
    for candidate, marks in ((first, found.only_ours), (second, found.only_theirs)):
        alone = [mark.shown for mark in found.elsewhere(marks)][:_MOST_MARKS]
        if alone:
            sentences.append(f"Only the {short_name(candidate)} description mentions {_listed(alone)}.")
    return sentences or ["Their descriptions tell no certain difference."]


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
