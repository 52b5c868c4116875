"""Facts from claims: statements on which two independent sources agree.

Texts by one maker are one source: lists that one project had one model write do not confirm each other. English names
are a source too ("Red-billed Pigeon"). Colours that people use for one another agree; the word of the more reliable
source is stated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from data.starter.knowledge import Fact, Shade
from training.knowledge.claims import NO_SHADE, Aspect, Claim, Sex
from training.knowledge.vocabulary import MEMBERS, WORDS, are_near, word_lists

ARTICLE = "article"
"""Name of the encyclopaedia's article as a source."""
NAMES = "names"
"""Name of the species' English names as a source."""
TRUSTED = frozenset((ARTICLE, NAMES))
WEIGHTS = {ARTICLE: 2.0, NAMES: 2.0, "peeb": 0.5}
"""Source -> its weight; 1 for all others. Where they speak of a colour that an article names too, 75 % of the claims of
`adaptclipzs` agree with it, 68 % of `cupl` and 43 % of `peeb`."""
MIN_MENTIONS = {"cupl": 2}
"""Source -> number of mentions for a claim. `cupl` is thirty replies to one question, so single mentions are chance."""
MIN_SHARE = 1 / 3
"""Least frequency of a source's claim on a part, relative to its most frequent one."""
MAX_COLOURS = 2
"""Most colours of one part."""
MAX_DISSENT = 0.25
"""Largest share of sources on a part's colour, by weight, that may contradict a colour."""
UNSURE_PARTS = frozenset(WORDS["unsure"]["parts"].split())
UNSURE = frozenset((*WORDS["unsure"]["aspects"], *WORDS["unsure"]["values"]))
SUPPORTED_BY = word_lists("supported_by")
WHOLES = {part: [words.split() for words in sets] for part, sets in WORDS["wholes"].items()}
EXCLUSIVE = [frozenset(words.split(", ")) for words in WORDS["exclusive"]["shapes"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedFact:
    """One value that the sources agree on, the smallest unit that can be right or wrong."""

    part: str
    sex: Sex
    aspect: Aspect
    value: str
    shade: str = ""
    is_trusted: bool = False
    """Whether an article or a name supports it."""
    n_sources: int = 2
    """Number of sources that state it."""


@dataclass(frozen=True, slots=True)
class _Voice:
    """Claim of one source on one aspect of a part; `direct` if it names the part itself."""

    source: str
    values: tuple[str, ...]
    shade: str
    direct: bool
    order: int

    @property
    def weight(self) -> float:
        return WEIGHTS.get(self.source, 1.0)

    def says(self, value: str) -> bool:
        """Return whether the source names this value, or a near colour."""
        return value in self.values or any(are_near(value, own) for own in self.values)


_Key = tuple[str, Sex, Aspect]


def source_of(name: str) -> str:
    """Return the maker of a list by its name: `adaptclipzs` for `adaptclipzs-cub` and `adaptclipzs-inat`."""
    return name.partition("-")[0]


def agree(claims: Mapping[str, Sequence[Claim]]) -> list[AgreedFact]:
    """Return the facts on which at least two sources agree, in order of first mention.

    A claim on the whole applies to its parts ("white underparts" and "belly: white" agree on the belly), and claims on
    all parts support a claim on the whole. If one source speaks of males and the other of the species, the fact is on
    males.

    Args:
        claims: source -> its claims.
    """
    voices = _voices(claims)
    facts = [pair for key in list(voices) for pair in _foremost(list(_agreed(key, voices)), key, voices)]
    unique: dict[tuple[str, Sex, Aspect, str], AgreedFact] = {}
    for _, fact in sorted(facts, key=lambda pair: pair[0]):
        unique.setdefault((fact.part, fact.sex, fact.aspect, fact.value), fact)
    found = list(unique.values())
    return _consistent([fact for fact in found if _is_supported(fact, found)])


def _voices(claims: Mapping[str, Sequence[Claim]]) -> dict[_Key, list[_Voice]]:
    voices: dict[_Key, list[_Voice]] = defaultdict(list)
    for source, everything in claims.items():
        frequent = _frequent_claims(everything, MIN_MENTIONS.get(source, 1))
        parts_of_colour: dict[tuple[str, Sex], set[str]] = defaultdict(set)
        for order, claim in enumerate(frequent):
            voices[claim.part, claim.sex, claim.aspect].append(_Voice(source, claim.values, claim.shade, True, order))
            if claim.aspect != "shape":
                for part in MEMBERS.get(claim.part, ()):
                    voice = _Voice(source, claim.values, claim.shade, False, order)
                    voices[part, claim.sex, claim.aspect].append(voice)
            if claim.aspect == "colour":
                for value in claim.values:
                    parts_of_colour[value, claim.sex].add(claim.part)
        for (value, sex), parts in parts_of_colour.items():
            for part, sets in WHOLES.items():
                if part not in parts and any(parts.issuperset(members) for members in sets):
                    voices[part, sex, "colour"].append(_Voice(source, (value,), "", False, len(frequent)))
    return voices


def _frequent_claims(claims: Sequence[Claim], min_mentions: int) -> list[Claim]:
    """Return the claims that a source makes often enough, alone and relative to its others on the same part."""
    counts = Counter((claim.part, claim.sex, claim.aspect, claim.values[0]) for claim in claims)
    most: dict[_Key, int] = {}
    for (part, sex, aspect, _), n in counts.items():
        most[part, sex, aspect] = max(n, most.get((part, sex, aspect), 0))
    return [
        claim
        for claim in claims
        if counts[claim.part, claim.sex, claim.aspect, claim.values[0]]
        >= max(min_mentions, MIN_SHARE * most[claim.part, claim.sex, claim.aspect])
    ]


def _agreed(key: _Key, voices: Mapping[_Key, list[_Voice]]) -> Iterator[tuple[int, AgreedFact]]:
    """Yield the facts of each pair of agreeing voices, with the place of the first mention."""
    part, sex, aspect = key
    own = voices[key]
    everyone = own if sex == "both" else [*own, *voices.get((part, "both", aspect), [])]
    for voice in own:
        for other in everyone:
            if other.source == voice.source or not (voice.direct or other.direct):
                continue
            value = _common(voice, other)
            if value is None:
                continue
            shade = voice.shade if voice.shade == other.shade else ""
            sources = {one.source for one in everyone if one.says(value)}
            fact = AgreedFact(
                part=part,
                sex=sex,
                aspect=aspect,
                value=value,
                shade=shade,
                is_trusted=bool(TRUSTED & sources),
                n_sources=len(sources),
            )
            if fact.is_trusted or not _is_unsure(fact) or fact.n_sources >= 3:
                yield min(voice.order, other.order), fact


def _common(voice: _Voice, other: _Voice) -> str | None:
    """Return the value that two voices share; of near colours that of the more reliable source."""
    first, second = sorted((voice, other), key=lambda one: -one.weight)
    values = [value for value in first.values if value != NO_SHADE]
    return next(
        (value for value in values if value in second.values),
        next((value for value in values if second.says(value)), None),
    )


def _is_unsure(fact: AgreedFact) -> bool:
    return fact.part in UNSURE_PARTS or bool({f"{fact.part} {fact.aspect}", f"{fact.part} {fact.value}"} & UNSURE)


def _is_supported(fact: AgreedFact, facts: Sequence[AgreedFact]) -> bool:
    return (
        fact.part not in SUPPORTED_BY
        or fact.aspect not in ("colour", "shade")
        or fact.is_trusted
        or fact.n_sources >= 3
        or any(other.part in SUPPORTED_BY[fact.part] and other.value == fact.value for other in facts)
    )


def _foremost(
    facts: list[tuple[int, AgreedFact]], key: _Key, voices: Mapping[_Key, list[_Voice]]
) -> list[tuple[int, AgreedFact]]:
    """Return the facts, of colours only those with the most support."""
    if key[2] not in ("colour", "shade"):
        return facts
    weights = {fact.value: sum(voice.weight * voice.says(fact.value) for voice in voices[key]) for _, fact in facts}
    ranked = sorted(weights, key=lambda value: -weights[value])[:MAX_COLOURS]
    direct = [voice for voice in voices[key] if voice.direct]
    total = sum(voice.weight for voice in direct)
    chosen: list[str] = []
    for value in ranked:
        is_weak = 2 * weights[value] <= weights[ranked[0]]
        dissent = sum(voice.weight for voice in direct if not voice.says(value))
        if not is_weak and dissent <= MAX_DISSENT * total and not any(are_near(value, other) for other in chosen):
            chosen.append(value)
    return [(order, fact) for order, fact in facts if fact.value in chosen]


def _consistent(facts: list[AgreedFact]) -> list[AgreedFact]:
    """Return the facts without contradictions and repetitions, each with the sex that it holds for."""
    consistent = [fact for fact in facts if not _is_excluded(fact, facts)]
    return _of_both_sexes([_as_male(fact, consistent) for fact in consistent])


def _is_excluded(fact: AgreedFact, facts: Sequence[AgreedFact]) -> bool:
    """Return whether another fact contradicts this one, is more precise, or states the same of both sexes."""
    same = [other for other in facts if (other.part, other.aspect) == (fact.part, fact.aspect)]
    values = {other.value for other in same if other.sex == fact.sex}
    if any(fact.value in shapes and len(values & shapes) > 1 for shapes in EXCLUSIVE):
        return True
    if fact.sex != "both" and any(other.sex == "both" and other.value == fact.value for other in same):
        return True
    if fact.aspect == "shade":
        return any(f.part == fact.part and f.aspect == "colour" and f.sex in (fact.sex, "both") for f in facts)
    if fact.aspect != "colour":
        return False
    if any(value != fact.value and fact.value in value.split("-") for value in values):
        return True  # grey, beside grey-brown
    whole = {f.value for f in facts if f.part == "upperparts" and f.aspect == "colour" and f.sex == fact.sex}
    return fact.part in MEMBERS["upperparts"] and bool(whole) and fact.value not in whole


def _of_both_sexes(facts: list[AgreedFact]) -> list[AgreedFact]:
    """Return the facts, each that holds for male and female alike once, as a fact on both."""
    sexes: dict[tuple[str, Aspect, str], set[Sex]] = defaultdict(set)
    for fact in facts:
        sexes[fact.part, fact.aspect, fact.value].add(fact.sex)
    merged: dict[tuple[str, Sex, Aspect, str], AgreedFact] = {}
    for fact in facts:
        if {"male", "female"} <= sexes[fact.part, fact.aspect, fact.value]:
            fact = replace(fact, sex="both")
        merged.setdefault((fact.part, fact.sex, fact.aspect, fact.value), fact)
    return list(merged.values())


def _as_male(fact: AgreedFact, facts: Sequence[AgreedFact]) -> AgreedFact:
    """Return the fact as one on males if the female has other colours there."""
    if fact.sex != "both" or fact.aspect != "colour":
        return fact
    sexes = {other.sex for other in facts if other.part == fact.part and other.aspect == "colour"}
    return replace(fact, sex="male") if "female" in sexes and "male" not in sexes else fact


_SHADES: Mapping[str, Shade] = {"": "", "dark": "dark", "pale": "pale", "bright": "bright"}


def as_records(facts: Sequence[AgreedFact]) -> list[Fact]:
    """Return the facts as they ship: one record per part and sex, with its colours, shade, pattern and shapes."""
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
