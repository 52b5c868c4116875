"""Facts from claims: those on which two independent sources agree, or that an article supports.

Texts of one maker are one source, however many there are: lists that the same project had the same model write do not
confirm each other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from data.starter.knowledge import Fact, Shade
from training.knowledge.claims import NO_SHADE, Aspect, Claim, Sex
from training.knowledge.vocabulary import MEMBERS, WORDS, word_lists

ARTICLE = "article"
MIN_MENTIONS = {"cupl": 2}
"""Source -> how often it must say a thing. `cupl` is thirty replies to one question: what only one says is chance."""
MIN_SHARE = 1 / 3
"""What a source says of a part less often than this, beside what it says most often, is left out."""
MAX_COLOURS = 2
"""Of one part; more is a list of what anybody ever saw in it."""
UNSURE_PARTS = frozenset(word_lists("kinds")["unsure"])
UNSURE = frozenset(
    (
        *(("tail", "colour"), ("tail", "shade"), ("eyes", "shade"), ("wingbars", "shade"), ("wings", "shape")),
        ("belly", "shade"),
        *(("legs", "long"), ("legs", "short"), ("bill", "thin")),
        *((part, "spotted") for part in ("back", "belly", "breast", "underparts", "wings")),
    )
)
"""Parts, aspects and values of which two sources too often say the same wrong thing: three must, or an article."""

BORNE_OUT = word_lists("borne_out")
WHOLES = {part: [words.split() for words in sets] for part, sets in WORDS["wholes"].items()}
MAX_DISSENT = 0.25
"""The share of what is said of a part's colour that may leave a colour out."""

CLASHES: tuple[frozenset[str], ...] = tuple(
    frozenset(words.split(","))
    for words in (
        "long,short",
        "thin,stout",
        "straight,curved down,turned up,hooked",
        "large,small,medium-sized",
        "broad,narrow",
        "forked,rounded,square-ended,wedge-shaped,fan-shaped,notched,pointed",
        "plump,slender",
        "stocky,slender",
        "compact,slender",
        "pointed,rounded",
    )
)
"""Shapes that exclude each other: where two of them seem agreed on, none is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedFact:
    """One value that the sources agree on, the smallest thing that is right or wrong."""

    part: str
    sex: Sex
    aspect: Aspect
    value: str
    shade: str = ""
    by: Literal["sources", "article"] = "sources"


@dataclass(frozen=True, slots=True)
class _Voice:
    """One source's word on one aspect of a part. It is `direct` if the source names the part itself."""

    source: str
    values: tuple[str, ...]
    shade: str
    direct: bool
    order: int


_Key = tuple[str, Sex, Aspect]


def source_of(name: str) -> str:
    """Return whose work the lists of that name are: `adaptclipzs` for `adaptclipzs-cub` and `adaptclipzs-inat`."""
    return name.partition("-")[0]


def agree(claims: Mapping[str, Sequence[Claim]]) -> list[AgreedFact]:
    """Return what at least two of these sources agree on, in the order in which the first one says it.

    A claim on the whole holds for its parts ("white underparts" and "belly: white" agree on the belly), and claims on
    all parts bear out a claim on the whole. What one source says of males and the other of the species is a fact on
    males.

    Args:
        claims: source -> its claims; `ARTICLE` is the encyclopaedia's article.
    """
    voices = _voices(claims)
    facts: list[tuple[int, AgreedFact]] = []
    for key in list(voices):
        facts += _foremost(list(_agreed(key, voices)), key, voices)
    unique: dict[tuple[str, Sex, Aspect, str], tuple[int, AgreedFact]] = {}
    for order, fact in sorted(facts, key=lambda item: item[0]):
        unique.setdefault((fact.part, fact.sex, fact.aspect, fact.value), (order, fact))
    found = [fact for _, fact in unique.values()]
    return _consistent([fact for fact in found if _is_borne_out(fact, found, voices)])


def _voices(claims: Mapping[str, Sequence[Claim]]) -> dict[_Key, list[_Voice]]:
    voices: dict[_Key, list[_Voice]] = defaultdict(list)
    for source, everything in claims.items():
        said = _settled(everything, MIN_MENTIONS.get(source, 1))
        whole: dict[tuple[str, Sex], dict[str, list[Claim]]] = defaultdict(lambda: defaultdict(list))
        for order, claim in enumerate(said):
            voices[claim.part, claim.sex, claim.aspect].append(_Voice(source, claim.values, claim.shade, True, order))
            if claim.aspect != "shape":
                for part in MEMBERS.get(claim.part, ()):
                    voice = _Voice(source, claim.values, claim.shade, False, order)
                    voices[part, claim.sex, claim.aspect].append(voice)
            if claim.aspect == "colour":
                for value in claim.values:
                    whole[value, claim.sex][claim.part].append(claim)
        for (value, sex), by_part in whole.items():
            for part, sets in WHOLES.items():
                if part not in by_part and any(all(member in by_part for member in members) for members in sets):
                    voices[part, sex, "colour"].append(_Voice(source, (value,), "", False, len(said)))
    return voices


def _settled(claims: Sequence[Claim], min_mentions: int) -> list[Claim]:
    """Return the claims that a source makes often enough, for itself and beside its others on the same part."""
    counts = Counter((claim.part, claim.sex, claim.aspect, claim.values[0]) for claim in claims)
    most: dict[_Key, int] = {}
    for (part, sex, aspect, _), n in counts.items():
        most[part, sex, aspect] = max(n, most.get((part, sex, aspect), 0))

    def is_settled(claim: Claim) -> bool:
        n = counts[claim.part, claim.sex, claim.aspect, claim.values[0]]
        return n >= max(min_mentions, MIN_SHARE * most[claim.part, claim.sex, claim.aspect])

    return [claim for claim in claims if is_settled(claim)]


def _agreed(key: _Key, voices: Mapping[_Key, list[_Voice]]) -> Iterable[tuple[int, AgreedFact]]:
    part, sex, aspect = key
    own = voices[key]
    others = [] if sex == "both" else voices.get((part, "both", aspect), [])
    for voice in own:
        for other in [*own, *others]:
            if other.source == voice.source or not (voice.direct or other.direct):
                continue
            common = [value for value in voice.values if value in other.values and value != NO_SHADE]
            if not common:
                continue
            shade = voice.shade if voice.shade == other.shade else ""
            by: Literal["sources", "article"] = "article" if ARTICLE in (voice.source, other.source) else "sources"
            fact = AgreedFact(part=part, sex=sex, aspect=aspect, value=common[0], shade=shade, by=by)
            if by == "sources" and _is_unsure(fact):
                agreeing = {each.source for each in [*own, *others] if fact.value in each.values}
                if len(agreeing) < 3:
                    continue
            yield min(voice.order, other.order), fact


def _is_borne_out(fact: AgreedFact, facts: Sequence[AgreedFact], voices: Mapping[_Key, list[_Voice]]) -> bool:
    if fact.part not in BORNE_OUT or fact.aspect not in ("colour", "shade") or fact.by == "article":
        return True
    own = voices[fact.part, fact.sex, fact.aspect]
    if len({voice.source for voice in own if fact.value in voice.values}) >= 3:
        return True
    return any(other.part in BORNE_OUT[fact.part] and other.value == fact.value for other in facts)


def _is_unsure(fact: AgreedFact) -> bool:
    return fact.part in UNSURE_PARTS or bool({(fact.part, fact.aspect), (fact.part, fact.value)} & UNSURE)


def _foremost(
    facts: list[tuple[int, AgreedFact]], key: _Key, voices: Mapping[_Key, list[_Voice]]
) -> list[tuple[int, AgreedFact]]:
    """Return the facts, of colours those alone that most is said for."""
    if key[2] not in ("colour", "shade"):
        return facts
    weights = {
        fact.value: sum(fact.value in voice.values for voice in voices[key]) + (fact.by == "article")
        for _, fact in facts
    }
    ranked = sorted(weights, key=lambda value: -weights[value])[:MAX_COLOURS]
    direct = [voice for voice in voices[key] if voice.direct]
    chosen = {
        value
        for value in ranked
        if 2 * weights[value] > weights[ranked[0]]
        and sum(value not in voice.values for voice in direct) <= MAX_DISSENT * len(direct)
    }
    return [(order, fact) for order, fact in facts if fact.value in chosen]


def _consistent(facts: list[AgreedFact]) -> list[AgreedFact]:
    """Return the facts without those that exclude each other, say less than another, or hold for one sex only."""
    kept = []
    for fact in facts:
        same = [other for other in facts if (other.part, other.aspect) == (fact.part, fact.aspect)]
        values = {other.value for other in same if other.sex == fact.sex}
        if any(fact.value in clash and len(values & clash) > 1 for clash in CLASHES):
            continue
        if fact.aspect == "colour" and any(_says_more(other, fact.value) for other in values):
            continue
        if fact.aspect == "colour" and fact.part in MEMBERS["upperparts"] and _is_contradicted(fact, facts):
            continue
        if fact.sex != "both" and fact.value in {other.value for other in same if other.sex == "both"}:
            continue
        if fact.aspect == "shade" and any(
            other.part == fact.part and other.aspect == "colour" and other.sex in (fact.sex, "both") for other in facts
        ):
            continue
        kept.append(fact)
    return _of_both_sexes([_of_the_other_sex(fact, kept) for fact in kept])


def _of_both_sexes(facts: list[AgreedFact]) -> list[AgreedFact]:
    """Return the facts, those that hold for male and female alike once, as facts on both."""
    sexes: dict[tuple[str, Aspect, str], set[Sex]] = defaultdict(set)
    for fact in facts:
        sexes[fact.part, fact.aspect, fact.value].add(fact.sex)
    merged: list[AgreedFact] = []
    for fact in facts:
        if {"male", "female"} <= sexes[fact.part, fact.aspect, fact.value]:
            fact = replace(fact, sex="both")
        if (fact.part, fact.sex, fact.aspect, fact.value) not in {(f.part, f.sex, f.aspect, f.value) for f in merged}:
            merged.append(fact)
    return merged


def _is_contradicted(fact: AgreedFact, facts: Sequence[AgreedFact]) -> bool:
    """Say whether the upperparts as a whole are agreed to be of another colour."""
    whole = {f.value for f in facts if f.part == "upperparts" and f.aspect == "colour" and f.sex == fact.sex}
    return bool(whole) and fact.value not in whole


def _says_more(value: str, plain: str) -> bool:
    return value != plain and plain in value.split("-")


def _of_the_other_sex(fact: AgreedFact, facts: Sequence[AgreedFact]) -> AgreedFact:
    """Return the fact as one on males, if the female has other colours there."""
    if fact.sex != "both" or fact.aspect != "colour":
        return fact
    same = [f for f in facts if f.part == fact.part and f.aspect == "colour"]
    if not any(other.sex == "female" for other in same) or any(other.sex == "male" for other in same):
        return fact
    return replace(fact, sex="male")


_SHADES: Mapping[str, Shade] = {"": "", "dark": "dark", "pale": "pale", "bright": "bright"}


def as_records(facts: Sequence[AgreedFact]) -> list[Fact]:
    """Return the facts as they ship: one record a part and sex, with its colours, shade, pattern and shapes."""
    records: dict[tuple[str, Sex], list[AgreedFact]] = defaultdict(list)
    for fact in facts:
        records[fact.part, fact.sex].append(fact)
    return [_record(part, sex, of_part) for (part, sex), of_part in records.items()]


def _record(part: str, sex: Sex, facts: Sequence[AgreedFact]) -> Fact:
    colours = [fact for fact in facts if fact.aspect == "colour"]
    shades = [fact.value for fact in facts if fact.aspect == "shade"]
    shade = colours[0].shade if len(colours) == 1 else "" if colours else "".join(shades[:1])
    return Fact(
        part=part,
        colours=tuple(fact.value for fact in colours),
        shade=_SHADES[shade],
        shape=", ".join(fact.value for fact in facts if fact.aspect in ("pattern", "shape", "size")),
        sex=sex,
    )
