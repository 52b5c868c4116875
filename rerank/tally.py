"""Counts of a run, and its report to the user."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from data.errors import FieldmarkError
from data.records import Job, RankedImage


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of a run so far; methods add their own."""

    failures: list[FieldmarkError] = field(default_factory=list)
    """Errors of photos, rankings or whole queries, in the order in which they happened."""

    @property
    def is_complete(self) -> bool:
        """Whether everything went as asked; repaired replies count as complete, fallbacks do not."""
        return not self.failures

    @property
    def is_void(self) -> bool:
        """Whether no reply of a model was usable, so that the ranking means nothing."""
        return False

    def lines(self) -> list[str]:
        """Return the counts in words; zero counts are left out."""
        return []

    def warnings(self) -> list[str]:
        """Return the fallbacks that the user should know of."""
        return []


class Reranker(Protocol):
    """Ranks the images of jobs, many at once: permutations of their input, ties in first-stage order."""

    @property
    def tally(self) -> Tally:
        """The counts so far."""

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""

    def close(self) -> None:
        """Release threads."""
