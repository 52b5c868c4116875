"""What happened in runs of CoTRR: every fault counted, and how much the order shown decided."""

from __future__ import annotations

from dataclasses import dataclass, field

from data.errors import FieldmarkError
from rerank.cotrr.listwise import PositionBias, Repairs
from rerank.cotrr.replies import QueryParts


@dataclass(slots=True)
class CotrrTally:
    """Counts of a run so far."""

    n_queries: int = 0
    n_read: int = 0
    """Photos that were read and scaled, each once for its query."""
    n_evaluated: int = 0
    """Photos with an evaluation."""
    n_not_evaluated: int = 0
    """Photos that a one-call reply ranked without an evaluation that can be read."""
    n_declined: int = 0
    """Replies that the model declined to give."""
    n_asked_again: int = 0
    """Replies that were no use, and were asked for once more."""
    n_useless: int = 0
    """Replies that were no use the second time either."""
    n_not_deconstructed: int = 0
    """Queries that were used as they are because they could not be taken apart."""
    n_windows: int = 0
    n_failed_windows: int = 0
    """Windows that stayed in the order that they had, because no ranking of them came."""
    n_failed_rankings: int = 0
    """Rankings that did not come; other orders of the same photos may have."""
    repairs: Repairs = field(default_factory=Repairs)
    parts: dict[str, QueryParts] = field(default_factory=dict)
    """Query id -> its parts."""
    failures: list[FieldmarkError] = field(default_factory=list)
    """Why photos, rankings or whole queries could not be had, in the order in which it happened; all that failed."""
    effects: list[float] = field(default_factory=list)
    agreements: list[float] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether every query went through as asked; mended lists do, what stayed in its old order does not."""
        return not self.failures

    @property
    def bias(self) -> PositionBias:
        """How much the order shown decided, over all windows that were shown in several orders."""
        return PositionBias(effect=_mean(self.effects), agreement=_mean(self.agreements))

    def add_bias(self, bias: PositionBias) -> None:
        """Take in what one window showed."""
        if bias.effect is not None:
            self.effects.append(bias.effect)
        if bias.agreement is not None:
            self.agreements.append(bias.agreement)

    def lines(self) -> list[str]:
        """Return what a user should know, a fact a line; what did not happen is left out."""
        counts = (
            (self.n_declined, "declined replies"),
            (self.n_asked_again, "replies asked for once more"),
            (self.n_useless, "replies of no use the second time either"),
            (self.n_not_deconstructed, "queries not taken apart, used as they are"),
            (self.n_not_evaluated, "photos ranked without an evaluation"),
            (self.n_failed_rankings, "rankings that did not come"),
            (self.n_failed_windows, "windows left in their order"),
            (self.repairs.n_loose, "rankings that were not the JSON asked for"),
            (self.repairs.n_duplicates, "numbers named twice, the first place counts"),
            (self.repairs.n_strangers, "numbers of no photo, left out"),
            (self.repairs.n_gaps, "photos not named, put behind those that were"),
        )
        lines = [f"{n:,} {what}" for n, what in counts if n]
        if self.bias.effect is not None:
            lines.append(
                f"position: effect {self.bias.effect:+.2f} (0 is none), agreement {self.bias.agreement or 0:.2f}"
            )
        return lines


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
