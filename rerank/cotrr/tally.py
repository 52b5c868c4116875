"""Counts of a CoTRR run: replies that were retried or repaired, and the position bias."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from data.words import plural
from rerank.cotrr.orders import PositionBias, mean
from rerank.cotrr.replies import QueryParts
from rerank.reranker import Tally

FAULTS: Final[Mapping[str, tuple[str, str]]] = {
    "not_json": ("ranking not in the requested JSON", "rankings not in the requested JSON"),
    "duplicates": ("duplicate number removed", "duplicate numbers removed"),
    "invalid": ("invalid number removed", "invalid numbers removed"),
    "missing": ("missing photo added at the end", "missing photos added at the end"),
}
"""Fault of `rankings.Ranking` -> its words."""
COUNTS: Final[Mapping[str, tuple[str, str]]] = {
    "refused": ("reply refused", "replies refused"),
    "retried": ("reply retried", "replies retried"),
    "unusable": ("reply unusable after all tries", "replies unusable after all tries"),
    "not_deconstructed": ("query used without deconstruction", "queries used without deconstruction"),
    "not_evaluated": ("photo ranked without an evaluation", "photos ranked without an evaluation"),
    "failed_rankings": ("failed ranking", "failed rankings"),  # other orders of the same photos may have succeeded
    "failed_windows": ("window left in its order", "windows left in their order"),
    "empty_rankings": ("ranking without a known number", "rankings without a known number"),  # replies = authors
    **FAULTS,
}
"""Count -> its words."""
FALLBACKS: Final[Mapping[str, tuple[str, str]]] = {
    "not_deconstructed": (
        "query could not be deconstructed and was used whole",
        "queries could not be deconstructed and were used as they are",
    ),
    "failed_windows": ("window stayed in first-stage order", "windows stayed in first-stage order"),
    "empty_rankings": (
        "ranking named none of its photos and stayed in first-stage order",
        "rankings named none of their photos and stayed in first-stage order",
    ),
}
"""Count that the user is warned of -> its words."""


@dataclass(slots=True, kw_only=True)
class CotrrTally(Tally):
    """Counts of a run so far."""

    counts: Counter[str] = field(default_factory=Counter)
    """Number of each of `COUNTS`, of `evaluated` photos and of `rankings`."""
    parts: dict[str, QueryParts] = field(default_factory=dict)
    """Query id -> its parts."""
    biases: list[PositionBias] = field(default_factory=list)
    """Position bias of each window that was shown in several orders."""

    @property
    def bias(self) -> PositionBias:
        """Mean position bias."""
        return PositionBias(
            effect=mean(bias.effect for bias in self.biases), agreement=mean(bias.agreement for bias in self.biases)
        )

    def lines(self) -> list[str]:
        """Return the counts in words; zero counts are left out."""
        n_evaluated, n_faults = self.counts["evaluated"], sum(self.counts[fault] for fault in FAULTS)
        lines = [plural(n_evaluated, "evaluation")] if n_evaluated else []
        repaired = f", {plural(n_faults, 'fault')} repaired" if n_faults else ""
        lines += [plural(self.counts["rankings"], "ranking") + repaired, *self._in_words(COUNTS)]
        if self.bias.effect is not None:
            lines.append(f"position bias {self.bias.effect:+.2f} (0 is none), agreement {self.bias.agreement or 0:.2f}")
        return lines

    def warnings(self) -> list[str]:
        """Return the fallbacks that the user should know of."""
        return self._in_words(FALLBACKS)

    def _in_words(self, words: Mapping[str, tuple[str, str]]) -> list[str]:
        return [plural(n, *words[name]) for name in words if (n := self.counts[name])]
