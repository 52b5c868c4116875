"""Fit of a species list to photos, judged by the answers without the list."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from data.records import Identification

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
        n, share = self.n_sure, self.off_list_share
        return self.n_sure_off <= share * n + 3 * math.sqrt(n * share * (1 - share))
