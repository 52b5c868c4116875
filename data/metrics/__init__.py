"""Measures of rankings and significance tests."""

from typing import Final

N_RESAMPLES: Final = 2_000
"""Bootstrap resamples of an interval."""
N_TEST_RESAMPLES: Final = 10_000
"""Bootstrap and randomisation resamples of a paired test."""
