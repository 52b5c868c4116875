"""Ranks, and means over groups with confidence intervals."""

import numpy as np
import pytest

from data.metrics.ranked import hit, measure, rank_of, reciprocal_rank


def test_ranks_hits_and_reciprocal_ranks() -> None:
    assert rank_of(["robin", "wren", "robin"], "robin") == 1
    assert rank_of(["robin"], "wren") is None
    assert [hit(3, k) for k in (1, 2, 3, 4)] == [0, 0, 1, 1]
    assert hit(None, 5) == 0
    assert reciprocal_rank(4) == 0.25
    assert reciprocal_rank(4, 3) == 0
    assert reciprocal_rank(None) == 0


def test_micro_averages_items_and_macro_averages_groups() -> None:
    values, groups = [1.0, 1.0, 1.0, 0.0], ["robin", "robin", "robin", "wren"]
    measured = measure("top-1", values, groups)
    assert (measured.micro, measured.macro) == (0.75, 0.5)
    assert measure("top-1", values, groups) == measured, "the same seed gives the same interval"
    with pytest.raises(ValueError, match="at least one"):
        measure("x", [], [])
    with pytest.raises(ValueError, match="as many groups"):
        measure("x", [1.0], ["a", "b"])


def test_the_interval_resamples_groups() -> None:
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(100), 5)
    by_group = rng.random(100)
    measured = measure("x", by_group[groups].tolist(), groups.tolist())
    # All values of a group are equal, so the standard error comes from 100 means, not 500.
    error = by_group.std(ddof=1) / 10
    low, high = measured.macro_interval
    assert low == pytest.approx(measured.macro - 1.96 * error, abs=0.3 * error)
    assert high == pytest.approx(measured.macro + 1.96 * error, abs=0.3 * error)
    assert measured.micro_interval == pytest.approx(measured.macro_interval)


def test_intervals_of_many_groups_are_resampled_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    values, groups = np.random.default_rng(1).random(90).tolist(), [i // 3 for i in range(90)]
    whole = measure("R@20", values, groups)
    monkeypatch.setattr("data.metrics.ranked._BLOCK", 100)
    again = measure("R@20", values, groups)
    assert again.micro_interval == pytest.approx(whole.micro_interval, abs=1e-12)
    assert again.macro_interval == pytest.approx(whole.macro_interval, abs=1e-12)
