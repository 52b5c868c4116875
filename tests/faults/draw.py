"""Numbers of random cases: the full draw with `FIELDMARK_TEST_DRAW=full`, else a small one."""

import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

SEED = os.environ.get("FIELDMARK_TEST_SEED")
"""Seed of a failure that is to be repeated, instead of a draw."""


@dataclass(kw_only=True)
class Draw:
    """Cases by seed, and counts of their outcomes, which `record` takes for the end of the run."""

    is_full: bool
    record: Callable[[str], None]

    @property
    def is_one(self) -> bool:
        return SEED is not None

    def each(self, few: int, many: int, case: Callable[[int], str]) -> Counter[str]:
        counts: Counter[str] = Counter()
        failures = []
        for seed in [int(SEED)] if SEED else range(many if self.is_full else few):
            try:
                outcome = case(seed)
            except Exception as error:
                outcome = "failed"
                failures.append(f"seed {seed}: {type(error).__name__}: {error}")
                sys.stdout.write(f"{failures[-1]}\n")
            counts[outcome] += 1
        summary = ", ".join(f"{n:,} {outcome}" for outcome, n in sorted(counts.items()))
        self.record(summary)
        assert not failures, "\n\n".join([summary, *failures[:20]])
        return counts
