"""Figures of the answers for labelled photos: how many are named, how many of the names are right, and confusions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Final

from data.frames import Columns, frame_of
from data.records import Answer, Identification, Taxon
from recognize.answers import PLAIN_FROM, RANKS, answer_names, is_answer, lineage_with_self
from recognize.confidence.evidence import taxon_of
from recognize.photos import ImageSource
from recognize.recognizer import Recognizer

if TYPE_CHECKING:
    import pandas as pd

RATES: Final[Mapping[str, str]] = {
    "named": "named to species",
    "named_right": "  of these right",
    "sure": "named to species, 90 % sure or more",
    "sure_right": "  of these right",
    "group": "named to genus, family or order",
    "group_right": "  of these right",
    "not_sure": "not sure",
    "unknown": "called not in the knowledge base",
    "no_bird": "called no bird",
    "first_right": "first candidate right",
    "among_five": "right species among the first five",
    "absent_named": "not in the knowledge base, yet named to species",
    "absent_unknown": "not in the knowledge base, and called so",
}
"""Name of a share -> its meaning; the last two are of photos of species outside the knowledge base, the others not."""
_Z: Final = 1.959964  # 97.5 % of a normal distribution lie below


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share of photos with its 95 % interval."""

    name: str
    """One of `RATES`."""
    n: int
    """Number of photos that it holds for."""
    of: int
    """Number of photos asked."""
    share: float | None
    """`n / of`; null for no photos."""
    interval: tuple[float, float]
    """Wilson's interval; for independent photos. From 0 to 1 for no photos."""


def rate(name: str, n: int, of: int) -> Rate:
    """Return a share of photos."""
    return Rate(name=name, n=n, of=of, share=n / of if of else None, interval=wilson(n, of))


def wilson(n: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a probability from `n` of `of` trials, which may be few, all or none.

    Source: Wilson, 1927, without a correction for continuity.
    """
    if not of:
        return 0.0, 1.0
    share, spread = n / of, _Z * _Z / of
    centre, half = share + spread / 2, _Z * sqrt(share * (1 - share) / of + spread / (4 * of))
    low, high = (centre - half) / (1 + spread), (centre + half) / (1 + spread)
    return (0.0 if n == 0 else low), (1.0 if n == of else high)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """An answer given to photos of one species."""

    text: str
    """The answer in words."""
    name: str
    """Scientific name; empty for photos without a name."""
    rank: str
    """`species`, `genus`, `family`, `order`, or `none`."""
    status: str
    """As of `kb identify`."""
    is_right: bool
    """Whether the photos show this species, or one of this group."""
    n: int
    """Number of photos."""
    photos: tuple[str, ...]
    """Their paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeciesFigures:
    """The answers for the photos of one species."""

    taxon_id: str
    """Its id."""
    scientific_name: str
    """Its scientific name."""
    common_name: str | None
    """Its English name."""
    is_held: bool
    """Whether the knowledge base holds the species."""
    named_right: Rate
    """Photos named to this species, of all of them."""
    answers: tuple[GivenAnswer, ...]
    """The answers given, right ones first, then wrong species, wrong groups, and photos without a name."""

    @property
    def n(self) -> int:
        """Number of photos."""
        return self.named_right.of

    @property
    def n_wrong(self) -> int:
        """Number of photos named wrongly to species."""
        return sum(answer.n for answer in self.answers if answer.rank == "species" and not answer.is_right)

    @property
    def is_all_right(self) -> bool:
        """Whether all photos are named to this species; of one outside the knowledge base, whether none is named."""
        return self.named_right.n == self.n if self.is_held else all(answer.rank == "none" for answer in self.answers)


COLUMNS: Final[Columns] = {
    **dict.fromkeys(("taxon_id", "scientific_name", "common_name"), "text"),
    "is_held": "boolean",
    "n_photos": "integer",
    **dict.fromkeys(("answer", "answer_scientific_name", "answer_rank", "status"), "text"),
    "is_right": "boolean",
    "n": "integer",
}
"""Columns of `SpeciesReport.to_frame`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeciesReport:
    """The figures of one run."""

    n: int
    """Photos measured."""
    n_species: int
    """Species among their labels."""
    n_absent: int
    """Photos of species outside the knowledge base."""
    rates: tuple[Rate, ...]
    """Shares of photos, each one of `RATES`."""
    species: tuple[SpeciesFigures, ...]
    """Figures of each species: most wrong names first, then most photos that are not named right."""
    unreadable: Mapping[str, str]
    """Path of a photo that is not measured -> reason."""

    def __getitem__(self, name: str) -> Rate:
        return next(found for found in self.rates if found.name == name)

    def to_frame(self) -> pd.DataFrame:
        """Return a row with the `COLUMNS` for each species and answer: the confusions, with the right answers."""
        rows = [
            {
                **{name: getattr(of, name) for name in ("taxon_id", "scientific_name", "common_name", "is_held")},
                "n_photos": of.n, "answer": given.text, "answer_scientific_name": given.name or None,
                "answer_rank": given.rank, "status": given.status, "is_right": given.is_right, "n": given.n,
            }
            for of in self.species
            for given in of.answers
        ]  # fmt: skip
        return frame_of(rows, COLUMNS)


def evaluate(recognizer: Recognizer, photos: Iterable[tuple[ImageSource, str]]) -> SpeciesReport:
    """Return the figures of a recognizer's answers for labelled photos, each `(photo, taxon id)`.

    Of a photo with several birds the clearest one counts. Photos of species outside the knowledge base have figures of
    their own.

    Raises:
        ValueError: if no photo could be read.
    """
    pairs, held = list(photos), recognizer.taxa
    taxa = [held.get(label) or taxon_of(label.replace("-", " ").capitalize()) for _, label in pairs]
    rows = recognizer.identify([(image,) for image, _ in pairs])
    return report_of(zip(rows, taxa, strict=True), held)


def report_of(answered: Iterable[tuple[Identification, Taxon]], held: Collection[str]) -> SpeciesReport:
    """Return the figures of answers, each with the species of the photo; `held` are the ids of the knowledge base.

    Raises:
        ValueError: if no photo could be read.
    """
    unreadable: dict[str, str] = {}
    by_species: dict[str, list[_Case]] = {}
    for row, taxon in answered:
        if row.status == "error":
            unreadable[row.image] = str(row.error)
        else:
            by_species.setdefault(taxon.taxon_id, []).append(_Case(row, taxon))
    cases = [case for found in by_species.values() for case in found]
    if not cases:
        raise ValueError(f"expected at least one photo that can be read, got {len(unreadable)} that cannot")
    known = [case for case in cases if case.taxon.taxon_id in held]
    absent = [case for case in cases if case.taxon.taxon_id not in held]
    species = [_figures(found, is_held=taxon_id in held) for taxon_id, found in by_species.items()]
    return SpeciesReport(
        n=len(cases),
        n_species=len(species),
        n_absent=len(absent),
        rates=(*_rates_of_known(known), *(_rate(f"absent_{name}", absent, name) for name in ("named", "unknown"))),
        species=tuple(sorted(species, key=lambda of: (-of.n_wrong, of.named_right.n - of.n, of.scientific_name))),
        unreadable=unreadable,
    )


class _Case:
    """The answer for a photo, beside the species that it shows."""

    def __init__(self, row: Identification, taxon: Taxon) -> None:
        answer = row.answer if row.status == "identified" and row.answer is not None else Answer(rank="none", name="")
        self.row, self.taxon = row, taxon
        self.answer = replace(answer, confidence=None, p_unknown=None)
        """The answer without its confidence; `none` for a photo without a name."""
        is_named, own = answer.rank == "species", lineage_with_self(taxon)
        self.kind = "named" if is_named else "group" if answer.rank != "none" else row.status
        self.is_sure = is_named and answer.confidence is not None and answer.confidence >= PLAIN_FROM
        self.is_right = (
            next((each.taxon_id for each in row.candidates if is_answer(answer, each)), None) == taxon.taxon_id
            if is_named
            else answer.name != "" and own.get(answer.rank) == answer.name
        )

    @property
    def text(self) -> str:
        """The answer in words: `Marsh Tit`, `One of the tits (Paridae)`, `not sure`."""
        if self.answer.rank == "none":
            return _WITHOUT_NAME[self.kind]
        name, scientific = answer_names(self.answer)
        return f"{name} ({scientific})" if scientific and self.kind == "group" else name


_WITHOUT_NAME: Final = {"not_sure": "not sure", "unknown": "not in the knowledge base", "no_bird": "no bird"}


def _rates_of_known(cases: Sequence[_Case]) -> Iterator[Rate]:
    sure = [case for case in cases if case.is_sure]
    for name, chosen in (
        ("named", [case for case in cases if case.kind == "named"]),
        *([("sure", sure)] if sure else []),
        ("group", [case for case in cases if case.kind == "group"]),
    ):
        yield rate(name, len(chosen), len(cases))
        yield rate(f"{name}_right", sum(case.is_right for case in chosen), len(chosen))
    for name in _WITHOUT_NAME:
        yield _rate(name, cases, name)
    for name, k in (("first_right", 1), ("among_five", 5)):
        n = sum(case.taxon.taxon_id in [each.taxon_id for each in case.row.candidates[:k]] for case in cases)
        yield rate(name, n, len(cases))


def _rate(name: str, cases: Sequence[_Case], kind: str) -> Rate:
    return rate(name, sum(case.kind == kind for case in cases), len(cases))


def _figures(cases: Sequence[_Case], *, is_held: bool) -> SpeciesFigures:
    """Return the figures of one species."""
    taxon, photos = cases[0].taxon, dict[str, list[_Case]]()
    for case in cases:
        photos.setdefault(case.text, []).append(case)
    answers = [
        GivenAnswer(
            text=text, name=first.answer.name, rank=first.answer.rank, status=first.row.status,
            is_right=first.is_right, n=len(found), photos=tuple(case.row.image for case in found),
        )
        for text, found in photos.items()
        for first in found[:1]
    ]  # fmt: skip
    answers.sort(key=lambda given: (not given.is_right, _ORDER.index(given.rank), -given.n, given.text))
    n_right = sum(case.is_right and case.kind == "named" for case in cases)
    return SpeciesFigures(
        taxon_id=taxon.taxon_id, scientific_name=taxon.scientific_name, common_name=taxon.common_name, is_held=is_held,
        named_right=rate("named_right", n_right, len(cases)), answers=tuple(answers),
    )  # fmt: skip


_ORDER: Final = (*RANKS, "none")
