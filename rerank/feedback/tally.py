"""Counts of interactive retrieval, over all sessions of a search."""

from __future__ import annotations

from dataclasses import dataclass, field

from data.errors import FieldmarkError
from data.words import plural


@dataclass(slots=True, kw_only=True)
class FeedbackTally:
    """Captions and queries so far, with the ones that failed."""

    n_captions: int = 0
    refused_captions: list[str] = field(default_factory=list)
    """Images without a caption, each with the reason."""
    n_denoised: int = 0
    failed_rewrites: list[str] = field(default_factory=list)
    """Reasons for queries that grew by captions alone because no model denoised them."""
    n_truncated: int = 0
    """Queries cut off at `max_tokens`."""
    n_blind: int = 0
    """Queries of words that the encoder cannot compare with photos."""
    errors: list[FieldmarkError] = field(default_factory=list, compare=False)
    """Errors of whole queries, in the order in which they happened."""

    @property
    def is_complete(self) -> bool:
        """Whether every photo was captioned and every query denoised that should have been."""
        return not self.refused_captions and not self.failed_rewrites

    def lines(self) -> list[str]:
        """Return the counts in words; zero counts are left out."""
        counts = (
            (self.n_captions, "caption", "captions"),
            (self.n_denoised, "denoised query", "denoised queries"),
            (self.n_truncated, "query cut off", "queries cut off"),
        )
        return [plural(n, one, many) for n, one, many in counts if n]

    def warnings(self) -> list[str]:
        """Return the fallbacks that the user should know of."""
        found = []
        if refused := self.refused_captions:
            found.append(f"{plural(len(refused), 'image')} could not be captioned: {'; '.join(refused[:3])}")
        if failed := self.failed_rewrites:
            n = plural(len(failed), "query", "queries")
            reasons = "; ".join(dict.fromkeys(failed[:3]))
            found.append(f"{n} could not be denoised and grew by captions alone: {reasons}")
        if self.n_blind:
            n = plural(self.n_blind, "query has", "queries have")
            found.append(f"{n} few words that the encoder can compare with photos, so the first turn means little")
        return found
