"""Counts of a CoTRR run: replies that were retried or repaired, and the position bias."""

from __future__ import annotations

from dataclasses import dataclass, field

from rerank.cotrr.orders import PositionBias, mean
from rerank.cotrr.rankings import Repairs
from rerank.cotrr.replies import QueryParts
from rerank.tally import Tally, counted


@dataclass(slots=True, kw_only=True)
class CotrrTally(Tally):
    """Counts of a run so far."""

    n_evaluated: int = 0
    """Photos with an evaluation."""
    n_not_evaluated: int = 0
    """Photos that a one-call reply ranked without a usable evaluation."""
    n_refused: int = 0
    """Replies that the model refused to give."""
    n_retried: int = 0
    """Unusable replies that were requested once more."""
    n_unusable: int = 0
    """Replies that were unusable the second time too."""
    n_not_deconstructed: int = 0
    """Queries used as they are, because their deconstruction failed."""
    n_failed_windows: int = 0
    """Windows left in their order, because no ranking of them succeeded."""
    n_failed_rankings: int = 0
    """Failed rankings; other orders of the same photos may have succeeded."""
    repairs: Repairs = field(default_factory=Repairs)
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
        repairs = self.repairs
        lines = [counted(self.n_evaluated, "evaluation")] if self.n_evaluated else []
        repaired = f", {counted(repairs.n_faults, 'fault')} repaired" if repairs.n_faults else ""
        lines.append(counted(repairs.n_lists, "ranking") + repaired)
        lines += _in_words(
            (self.n_refused, "reply refused", "replies refused"),
            (self.n_retried, "reply retried", "replies retried"),
            (self.n_unusable, "reply unusable after a retry", "replies unusable after a retry"),
            (self.n_not_deconstructed, "query used without deconstruction", "queries used without deconstruction"),
            (self.n_not_evaluated, "photo ranked without an evaluation", "photos ranked without an evaluation"),
            (self.n_failed_rankings, "failed ranking", "failed rankings"),
            (self.n_failed_windows, "window left in its order", "windows left in their order"),
            (repairs.n_not_json, "ranking not in the requested JSON", "rankings not in the requested JSON"),
            (repairs.n_duplicates, "duplicate number removed", "duplicate numbers removed"),
            (repairs.n_invalid, "invalid number removed", "invalid numbers removed"),
            (repairs.n_missing, "missing photo added at the end", "missing photos added at the end"),
        )
        if self.bias.effect is not None:
            lines.append(f"position bias {self.bias.effect:+.2f} (0 is none), agreement {self.bias.agreement or 0:.2f}")
        return lines

    def warnings(self) -> list[str]:
        """Return the fallbacks that the user should know of."""
        return _in_words(
            (
                self.n_not_deconstructed,
                "query could not be deconstructed and was used whole",
                "queries could not be deconstructed and were used as they are",
            ),
            (self.n_failed_windows, "window stayed in first-stage order", "windows stayed in first-stage order"),
        )


def _in_words(*counts: tuple[int, str, str]) -> list[str]:
    return [counted(n, one, many) for n, one, many in counts if n]
