"""Priors of species, and that from a list of expected species: boosts, never filters.

By Bayes' rule a score grows by the logarithm of the odds times the `temperature` at which the softmax of the scores
gives probabilities. For a list, `off_list_share` is the expected share of photos with species off the list. All listed
species are equally likely, and so are all others, which gives the odds of a listed species against another one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from data.arrays import IntArray
from data.errors import UsageError
from data.files import sha256_hex
from data.records import Identification
from recognize.answers import RANKS, Lineage
from recognize.confidence.calibration import CHANCE_DIGITS, Chances, distributed, same_taxon
from recognize.confidence.evidence import N_JUDGED
from recognize.scoring.presets import AnchorMode
from recognize.scoring.ranking import Ranking, Scores
from recognize.settings import OFF_LIST_SHARE, UNKNOWN_PRIOR

N_QUARTERS: Final = 48
"""Quarters of months in a year, as in eBird's bar charts."""

TEMPERATURES: Final[Mapping[str, Mapping[str, Mapping[AnchorMode, float]]]] = {
    "starter": {
        "default": {"several": 1.005, "single": 1.037},
        "vr-rag-v1": {"several": 0.091, "single": 0.118},
        "vr-rag-v2": {"several": 0.045, "single": 0.057},
        "text-only": {"several": 0.064, "single": 0.064},
        "direct-rag": {"several": 0.064, "single": 0.064},  # the same: the starter has one encoder
        "anchors-only": {"several": 0.043, "single": 0.062},
    },
    "general": {  # on birds, as in `benchmarks.other_groups`
        "default": {"several": 0.210, "single": 0.264},
        "anchors-only": {"several": 0.018, "single": 0.021},
    },
}
"""Profile -> preset -> anchor mode -> temperature of maximum likelihood; half of the photos show species that the model
was not trained on (`benchmarks.species_lists`). A calibration has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeciesList:
    """A list of expected species."""

    taxon_ids: frozenset[str]
    quarters: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Taxon id -> quarters of months of its season, 0 to 47; without an entry, all year."""
    off_list_share: float = OFF_LIST_SHARE
    """Expected share of photos with species off the list; above 0, below 1."""
    n_absent: int = 0
    """Number of listed species that the knowledge base does not hold."""

    def __post_init__(self) -> None:
        if not 0 < self.off_list_share < 1:
            raise UsageError(f"Expected a share off the list above 0 and below 1, got {self.off_list_share}")
        if any(not 0 <= quarter < N_QUARTERS for found in self.quarters.values() for quarter in found):
            raise UsageError(f"Expected quarters of months from 0 to {N_QUARTERS - 1}")

    @property
    def id(self) -> str:
        """12 hex digits of the SHA-256 of the contents."""
        lines = [f"{taxon_id} {sorted(self.quarters.get(taxon_id, ()))}" for taxon_id in sorted(self.taxon_ids)]
        lines += [f"{self.n_absent} absent"] if self.n_absent else []
        return sha256_hex("\n".join([str(self.off_list_share), *lines]))[:12]


TakenT = TypeVar("TakenT")
"""Facts on a photo that a prior uses: its date, for example."""


class Prior(ABC, Generic[TakenT]):
    """A prior over the species of one knowledge base, by facts on a photo."""

    stage: ClassVar[str]
    """Name of the boost among the stages of a ranking."""
    reach: ClassVar[int | None] = None
    """Number of best species of a photo that get a boost; None for all."""
    temperature: float

    @abstractmethod
    def log_odds_of(self, species: IntArray, taken: TakenT) -> Scores:
        """Return the log-odds of species against a neutral one."""

    def apply(self, ranking: Ranking, taken: TakenT) -> Ranking:
        """Return the ranking with the boost in its scores and in the stage of the prior."""
        boost = np.zeros(len(ranking.species))
        reached = ranking.species[: self.reach]
        boost[: len(reached)] = self.temperature * self.log_odds_of(reached, taken)
        scores = ranking.scores + boost
        order = np.argsort(-scores, kind="stable")
        stages = {name: values[order] for name, values in ranking.stages.items()}
        return replace(
            ranking, species=ranking.species[order], scores=scores[order], stages={**stages, self.stage: boost[order]}
        )

    def chances(
        self, before: Ranking, after: Ranking, chances: Chances, lineages: list[Lineage], taken: TakenT
    ) -> Chances:
        """Return the chances of the first species of `after`, by Bayes' rule from the chances of `before`.

        The chances without the prior, if the species is in the knowledge base, are distributed over the species of the
        first one's genus, family and order by the softmax of their scores; then the odds weight each species.
        Probability outside the candidates counts as neutral.

        Args:
            before: the ranking without the prior.
            after: the ranking with the prior.
            chances: calibrated chances of `before`.
            lineages: lineages of `judged(before, after)`.
            taken: facts on the photo.
        """
        if chances.spread is None:
            species = judged(before, after)
            at = {int(each): i for i, each in enumerate(before.species)}
            scores = before.scores[[at[int(each)] for each in species]] / self.temperature
            first = int(np.flatnonzero(species == before.species[0])[0])
            likely, every = distributed(scores, first, lineages, chances)
        else:  # of an earlier prior
            species, likely, every = chances.spread
        new = int(np.flatnonzero(species == after.species[0])[0])
        n_others = len(every) - len(species)
        weighted = likely * np.exp(np.concatenate([self.log_odds_of(species, taken), np.zeros(n_others)]))
        held = {
            rank: round(float(weighted[same_taxon(every, new, rank)].sum() / weighted.sum()), CHANCE_DIGITS)
            for rank in RANKS
        }
        unknown = self._unknown(chances.unknown, float(weighted.sum()), taken)
        return replace(chances, held=held, unknown=unknown, spread=(species, weighted / weighted.sum(), every))

    def _unknown(self, before: float, odds: float, taken: TakenT) -> float:
        """Return the chance of an unknown species from that before and the mean odds of the others; here unchanged."""
        return before


class ListPrior(Prior[str | None]):
    """The prior of a species list over the species of one knowledge base."""

    stage = "list"

    def __init__(
        self, listed: SpeciesList, taxon_ids: tuple[str, ...], *, temperature: float, is_fitted: bool = True
    ) -> None:
        """Find the listed species among those of the knowledge base.

        `is_fitted` tells whether the temperature was fitted for these encoders.

        Raises:
            UsageError: if no listed species is in the knowledge base.
        """
        self.temperature, self.is_fitted = temperature, is_fitted
        self.has_quarters = bool(listed.quarters)
        self._list = listed
        self._ids = taxon_ids
        if not self._mask(None).any():
            raise UsageError("No species of the list is in the knowledge base")
        self._masks: dict[int | None, NDArray[np.bool_]] = {}

    def listed(self, date: str | None) -> NDArray[np.bool_]:
        """Return for each species of the knowledge base whether it is expected on a date, or on any."""
        quarter = quarter_of(date) if self._list.quarters else None
        if quarter not in self._masks:
            self._masks[quarter] = self._mask(quarter)
        return self._masks[quarter]

    def log_odds(self, date: str | None) -> float:
        """Return the log-odds of a listed species against an unlisted one; at least 0."""
        listed = self.listed(date)
        n, share = int(listed.sum()), self._list.off_list_share
        if not n or n == len(listed):
            return 0.0
        return max(0.0, float(np.log((1 - share) / n) - np.log(share / (len(listed) - n))))

    def log_odds_of(self, species: IntArray, taken: str | None) -> Scores:
        """Return the log-odds of species on a date against an unlisted one."""
        return np.where(self.listed(taken)[species], self.log_odds(taken), 0.0)

    def _unknown(self, before: float, odds: float, taken: str | None) -> float:
        """Return the chance of an unknown species: it competes as one off the list, and as a listed one that is absent.

        `odds` are the mean odds of the species of the knowledge base against one off the list.
        """
        listed = self.listed(taken)
        n, n_others, share = int(listed.sum()), int((~listed).sum()), self._list.off_list_share
        if not n or not n_others:
            return before
        off_list = share / ((1 - UNKNOWN_PRIOR) * n_others / len(listed) + UNKNOWN_PRIOR)
        absent = (1 - share) * self._list.n_absent / (n + self._list.n_absent)
        likely = before * (1 + absent / (off_list * UNKNOWN_PRIOR))
        return round(likely / (likely + (1 - before) * odds), CHANCE_DIGITS)

    def _mask(self, quarter: int | None) -> NDArray[np.bool_]:
        quarters = self._list.quarters
        return np.array(
            [
                each in self._list.taxon_ids and (quarter is None or each not in quarters or quarter in quarters[each])
                for each in self._ids
            ],
            dtype=np.bool_,
        )


def judged(before: Ranking, after: Ranking) -> NDArray[np.intp]:
    """Return the union of the best species with and without the list."""
    return np.union1d(before.species[:N_JUDGED], after.species[:N_JUDGED])


def quarter_of(date: str | None) -> int | None:
    """Return the quarter of the month of a date, 0 to 47; None for an invalid date."""
    try:
        _, month, day = (int(part) for part in (date or "")[:10].split("-"))
    except ValueError:
        return None
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return 4 * (month - 1) + min(3, (day - 1) // 7)


def temperature_of(profile: str, preset: str, mode: AnchorMode) -> tuple[float, bool]:
    """Return the temperature of a preset's scores, and whether it was fitted for the profile."""
    by_mode = TEMPERATURES.get(profile, {}).get(preset)
    return (by_mode or TEMPERATURES["starter"][preset])[mode], by_mode is not None


SURE: Final = 0.9
"""Confidence of an answer without the list that counts as evidence: 96 % of such answers are right."""
MOST_OFF: Final = 0.99  # largest advised share


@dataclass(slots=True)
class ListFit:
    """Counts of photos, of those identified to species without the list, and the effect of the list on these."""

    listed: Collection[str]
    """Scientific names."""
    off_list_share: float
    """Expected share of photos with species that are not on the list."""
    n_photos: int = 0
    """All photos that were read."""
    n: int = 0
    """Photos identified to species without the list."""
    n_changed: int = 0
    """Photos with another first species by the list."""
    n_sure: int = 0
    """Photos with a confident answer without the list."""
    n_sure_changed: int = 0
    n_sure_off: int = 0
    """Photos with a confident answer that is not on the list."""

    def add(self, row: Identification) -> None:
        """Count a photo."""
        self.n_photos += row.status != "error"
        without = row.answer_without_list
        if without is None or without.rank != "species" or not row.candidates:
            return
        is_changed = row.candidates[0].scientific_name != without.name
        is_sure = without.confidence is not None and without.confidence >= SURE
        self.n += 1
        self.n_changed += is_changed
        self.n_sure += is_sure
        self.n_sure_changed += is_sure and is_changed
        self.n_sure_off += is_sure and without.name not in self.listed

    @property
    def share_off(self) -> float:
        """Share of the confident answers that are not on the list, at most .99."""
        return min(MOST_OFF, round(self.n_sure_off / max(1, self.n_sure), 2))

    @property
    def fits(self) -> bool:
        """Whether this share exceeds the expected one by at most three standard errors (`benchmarks.list_fit`)."""
        return is_by_chance(self.n_sure_off, self.n_sure, self.off_list_share)


def is_by_chance(n_found: int, n: int, share: float) -> bool:
    """Return whether a count out of `n` exceeds the expected share by at most three standard errors."""
    return n_found <= share * n + 3 * math.sqrt(n * share * (1 - share))
