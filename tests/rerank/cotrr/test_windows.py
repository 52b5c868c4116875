"""Overlapping windows: they cover the list and move good items from its end to its front."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.cotrr.windows import windows

sizes = st.tuples(st.integers(0, 60), st.integers(2, 15)).flatmap(
    lambda pair: st.tuples(st.just(pair[0]), st.just(pair[1]), st.integers(1, pair[1] - 1))
)


@given(sizes)
def test_windows_cover_the_list_overlap_and_end_at_its_front(given: Any) -> None:
    n, size, step = given
    found = windows(n, size, step)
    assert {i for start, end in found for i in range(start, end)} == set(range(n))
    assert all(end - start == min(n, size) for start, end in found)
    assert all(after[1] > before[0] for before, after in itertools.pairwise(found))
    assert not found or found[-1][0] == 0


@given(sizes, st.randoms(use_true_random=False))
def test_the_best_size_minus_step_items_reach_the_front(given: Any, random: Any) -> None:
    n, size, step = given
    items = list(range(n))  # lower is better
    random.shuffle(items)
    for start, end in windows(n, size, step):
        items[start:end] = sorted(items[start:end])
    assert sorted(items) == list(range(n))
    assert items[: size - step] == list(range(min(n, size - step)))


@pytest.mark.parametrize(("size", "step"), [(4, 4), (4, 0), (1, 1)])
def test_the_step_must_be_at_least_1_and_below_the_size(size: int, step: int) -> None:
    with pytest.raises(ValueError, match="1 <= step < size"):
        windows(10, size, step)
