"""Explanation of an answer: its evidence, the first candidate against the second, and their distinguishing marks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from data.contracts import KnowledgeStore
from data.errors import UsageError
from data.lexicon.appearance import kind_of
from data.lexicon.marks import Mark, every_mark, find_marks
from data.lexicon.words import BIRDS, shared_group
from data.records import Candidate, Identification, SpeciesEntry
from recognize.answers import short_name

_WHOLE: Final = ("", "plumage", "body")  # "red all over", "the plumage is red"
_Aspect = tuple[str, str, str, str]
"""Part, sex or stage of life, side, and kind of look of a mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartContrast:
    """A part of the body with looks of one kind, such as colours, that two descriptions do not share.

    Looks of the whole part, not of a marking on it.
    """

    part: str
    sex_age: str = ""
    """As in a mark; females are compared with females, larvae with larvae."""
    side: str = ""
    """As in a mark; uppersides are compared with uppersides."""
    kind: str = "colour"
    ours: tuple[str, ...]
    theirs: tuple[str, ...]

    @property
    def named(self) -> str:
        """The part with its sex or age: `crown of the female`."""
        part = f"{self.part} on the {self.side}" if self.side else self.part
        return f"{part} of the {self.sex_age}" if self.sex_age else part


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Differences between two descriptions."""

    differing: tuple[PartContrast, ...] = ()
    only_ours: tuple[Mark, ...] = ()
    """Marks that the other description lacks, in the order of the text, differing parts included."""
    only_theirs: tuple[Mark, ...] = ()

    def elsewhere(self, marks: Sequence[Mark]) -> list[Mark]:
        """Return the marks outside the differing parts."""
        aspects = {(each.part, each.sex_age, each.side, each.kind) for each in self.differing}
        return [mark for mark in marks if mark.marking or _aspect(mark) not in aspects]


def contrast(ours: str, theirs: str, group: str = BIRDS) -> Contrast:
    """Return the differences between two descriptions, in the words of a group of organisms."""
    mine, other = find_marks(ours, group), find_marks(theirs, group)
    every_mine, every_other = set(every_mark(ours, group)), set(every_mark(theirs, group))
    looks, other_looks = _looks_by_aspect(mine), _looks_by_aspect(other)
    return Contrast(
        differing=tuple(
            PartContrast(
                part=aspect[0],
                sex_age=aspect[1],
                side=aspect[2],
                kind=aspect[3],
                ours=tuple(sorted(found.values())),
                theirs=tuple(sorted(other_looks[aspect].values())),
            )
            for aspect, found in looks.items()
            if aspect in other_looks and not found.keys() & other_looks[aspect].keys()
        ),
        only_ours=_without_bare([mark for mark in mine if not _is_named(mark, every_other)]),
        only_theirs=_without_bare([mark for mark in other if not _is_named(mark, every_mine)]),
    )


def _is_named(mark: Mark, marks: Collection[Mark]) -> bool:
    """Return whether a mark is among marks; a look without a part equals that look of any part."""
    if mark in marks:
        return True
    if mark.marking or mark.part not in _WHOLE:
        return False
    alike = [each for each in marks if each.look == mark.look and (each.sex_age == mark.sex_age or not mark.part)]
    return any(not mark.part or (each.part in _WHOLE and not each.marking) for each in alike)


def _aspect(mark: Mark) -> _Aspect:
    return mark.part, mark.sex_age, mark.side, kind_of(mark.look)


def _looks_by_aspect(marks: Sequence[Mark]) -> dict[_Aspect, dict[str, str]]:
    """Return (part, sex or age, kind) -> look of the whole part -> its word in the text."""
    looks: dict[_Aspect, dict[str, str]] = {}
    for mark in marks:
        if mark.part and mark.look and not mark.marking:
            looks.setdefault(_aspect(mark), {}).setdefault(mark.look, mark.look_word or mark.look)
    return looks


def _without_bare(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Return the marks without "wing bars" beside "white wing bars"."""
    with_look = {(mark.part, mark.sex_age, mark.side) for mark in marks if mark.look}
    return tuple(mark for mark in marks if mark.look or (mark.part, mark.sex_age, mark.side) not in with_look)


_MOST_MARKS: Final = 6  # of a species in a sentence
# Weight of each stage in the score, for presets without scores of parts.
_SHARES: Final[dict[str, dict[str, float]]] = {
    "vr-rag-v1": {"text": 1.0, "visual": 1.0},
    "vr-rag-v2": {"text": 0.7, "visual": 0.3},
    "text-only": {"text": 1.0},
    "direct-rag": {"text": 1.0},
    "anchors-only": {"visual": 1.0},
}
STAGES: Final = ("text", "visual", "prototype", "list")
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
    """The evidence for an answer and its differences from the second candidate."""

    image: str
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
    same_genus: bool = False
    is_anchor_of: str | None = None
    """Taxon id of the candidate that has this photo, or a copy, as an anchor."""
    score_text: str = ""
    """Comparison of the scores."""
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
    owner = _owner_of_photo(identification.candidates)
    if not others:
        return Explanation(
            image=identification.image,
            first=first,
            is_anchor_of=owner.taxon_id if owner else None,
            text=" ".join([f"{short_name(first)} is the only candidate.", *_about_anchor(owner)]),
        )
    second = others[0]
    entries = store.species([first.taxon_id, second.taxon_id])
    texts = [entry.summary.text if entry.summary else "" for entry in entries]
    found = contrast(texts[0], texts[1], shared_group(entry.taxon.lineage for entry in entries))
    lead_by_stage = _lead_by_stage(identification.preset, first, second)
    lead = first.score - second.score
    ahead = [stage for stage, part in lead_by_stage.items() if part > 0 and not _lacks(first, stage)]
    deciding = max(ahead, key=lambda stage: lead_by_stage[stage]) if lead > 0 and ahead else None
    names = stage_names(identification.preset)
    score_text = " ".join(
        [
            _about_scores(names, first, second, lead_by_stage, deciding),
            *_about_missing(names, first, second, lead_by_stage),
        ]
    )
    return Explanation(
        image=identification.image,
        first=first,
        second=second,
        lead=round(lead, 6),
        lead_by_stage=lead_by_stage,
        deciding_stage=deciding,
        only_first=tuple(mark.shown for mark in found.only_ours),
        only_second=tuple(mark.shown for mark in found.only_theirs),
        same_genus=first.scientific_name.split()[0] == second.scientific_name.split()[0],
        is_anchor_of=owner.taxon_id if owner else None,
        score_text=score_text,
        text=" ".join([score_text, *_about_anchor(owner), *_about_marks(first, second, entries, found)]),
    )


def _owner_of_photo(candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the best candidate that the photo is an anchor of."""
    return next((c for c in candidates if any(anchor.similarity >= _SAME_PICTURE for anchor in c.anchors)), None)


def _about_anchor(owner: Candidate | None) -> list[str]:
    if owner is None:
        return []
    return [
        f"This photo is a reference photo of {short_name(owner)}, or looks the same as one. Its score says nothing "
        "about other photos."
    ]


def stage_names(preset: str) -> Mapping[str, str]:
    """Return stage -> the evidence that it compares the photo with."""
    return {**_STAGE_NAMES, "text": _BLENDED.get(preset, _STAGE_NAMES["text"])}


def parts_of_score(preset: str, candidate: Candidate) -> dict[str, float]:
    """Return stage -> its contribution to the score of a candidate; the sum is the score."""
    parts = {}
    for stage in STAGES:
        share = 1.0 if stage == "list" else _SHARES.get(preset, {}).get(stage)
        name = stage if share is not None else f"{stage}_part"
        if name in candidate.scores:
            parts[stage] = (candidate.scores[name] or 0.0) * (share if share is not None else 1.0)
    return parts


def _lead_by_stage(preset: str, first: Candidate, second: Candidate) -> dict[str, float]:
    """Return stage -> its contribution to the lead; the sum is the lead."""
    ours, theirs = parts_of_score(preset, first), parts_of_score(preset, second)
    return {stage: round(part - theirs[stage], 6) for stage, part in ours.items() if stage in theirs}


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
    found = replace(found, differing=found.differing[:_MOST_MARKS])
    for each in found.differing:
        verb = "are" if each.part.endswith("s") or each.part == "feet" else "is"
        ours, theirs = _listed(each.ours), _listed(each.theirs)
        sentences.append(f"The {each.named} {verb} {ours} in {short_name(first)} and {theirs} in {short_name(second)}.")
    for candidate, marks in ((first, found.only_ours), (second, found.only_theirs)):
        by_themselves = found.elsewhere(marks)
        # A colour without a part is weak evidence, shown only if there is no other mark.
        alone = [mark.shown for mark in [each for each in by_themselves if each.part] or by_themselves][:_MOST_MARKS]
        if alone:
            sentences.append(f"Only the {short_name(candidate)} description mentions {_listed(alone)}.")
    return sentences or ["Their descriptions mention the same marks."]


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
