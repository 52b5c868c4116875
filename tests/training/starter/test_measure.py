"""The published tables: columns, means, intervals and differences, by hand and on made-up data."""

from __future__ import annotations

import numpy as np
import pytest

from training.starter.measure import Bootstrap, accuracy, values_of
from training.starter.study import ROWS, Study


def test_the_columns_by_hand() -> None:
    """top-1, top-5, hit@30, MRR@1, MRR@5, MRR@10."""
    expected = [
        [1, 1, 1, 1, 1, 1],
        [0, 1, 1, 0, 0.5, 0.5],
        [0, 0, 1, 0, 0, 0.1],
        [0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
    ]
    np.testing.assert_allclose(values_of(np.array([1, 2, 10, 30, 31])), expected)


def test_the_bootstrap_draws_whole_species() -> None:
    values, species = np.array([[1.0], [1.0], [1.0], [0.0]]), np.array([0, 0, 0, 1])
    boot = Bootstrap(species)
    assert set(boot.counts.sum(axis=1)) == {2.0}
    # Both species, or one of them twice: by photo 3/4, 1 or 0; by species 1/2, 1 or 0.
    assert set(boot.means(values, species).ravel()) == {0.75, 1.0, 0.0}
    assert set(boot.means(values, species, by_species=True).ravel()) == {0.5, 1.0, 0.0}


def rows_of(lines: list[str], title: str) -> dict[str, list[str]]:
    """Return first cell -> other cells of the table below a title."""
    start = next(i for i, line in enumerate(lines) if title in line)
    found: dict[str, list[str]] = {}
    for line in lines[start + 1 :]:
        if line.startswith("## "):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and not cells[0].startswith("-"):
            found[cells[0]] = cells[1:]
    return found


def test_differences_are_default_minus_each_other_row(noisy: Study) -> None:
    found = rows_of(accuracy(noisy, "wiki", bounded=True), "Default minus the other, `wiki`, bounded")
    weights = noisy.nested_weights("wiki")
    assert list(found)[1:] == [row for row in ROWS if row != "default"]
    for row, cells in list(found.items())[1:]:
        share = {
            (name, setting): (noisy.ranks(setting, "wiki", name, weights, bounded=True) == 1).mean()
            for name in ("default", row)
            for setting in ("unseen", "seen")
        }
        differences = [share["default", s] - share[row, s] for s in ("unseen", "seen")]
        assert [float(cell) for cell in cells[2:]] == pytest.approx(differences, abs=6e-4)
        assert float(cells[0].split()[0]) == pytest.approx(np.mean(differences), abs=6e-4)
