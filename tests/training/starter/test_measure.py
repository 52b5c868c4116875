"""The published tables: columns, means, intervals and differences, by hand and on made-up data."""

from __future__ import annotations

import re

import numpy as np
import pytest

from training.starter import measure
from training.starter.measure import Bootstrap, accuracy, groups, one_model, species_mean, values_of
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


def test_each_species_counts_once_in_the_mean_over_species() -> None:
    values, species = np.array([[1.0], [1.0], [1.0], [0.0]]), np.array([7, 7, 7, 2])
    assert species_mean(values, species).tolist() == [0.5]


def test_the_bootstrap_draws_whole_species() -> None:
    values, species = np.array([[1.0], [1.0], [1.0], [0.0]]), np.array([0, 0, 0, 1])
    boot = Bootstrap(species)
    assert set(boot.counts.sum(axis=1)) == {2.0}
    # Both species, or one of them twice: by photo 3/4, 1 or 0; by species 1/2, 1 or 0.
    assert set(boot.means(values, species).ravel()) == {0.75, 1.0, 0.0}
    assert set(boot.means(values, species, by_species=True).ravel()) == {0.5, 1.0, 0.0}


def test_the_interval_of_many_species_is_nearly_normal() -> None:
    species = np.arange(400)
    values = np.random.default_rng(0).random((400, 1))
    low, high = Bootstrap(species).interval(values, species)
    half = 1.96 * values.std() / 20
    assert (low, high) == (
        pytest.approx(values.mean() - half, abs=0.004),
        pytest.approx(values.mean() + half, abs=0.004),
    )


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


def test_the_accuracy_table_agrees_with_the_ranks(noisy: Study) -> None:
    lines = accuracy(noisy, "three", bounded=False)
    weights, n = noisy.nested_weights("three"), len(noisy.queries_of("unseen"))
    by_photo = rows_of(lines, f"Unseen, `three`, open, by photo (n = {n})")
    assert list(by_photo) == ["", *ROWS]
    assert by_photo[""] == list(measure.COLUMNS)
    for row in ROWS:
        right = (noisy.ranks("unseen", "three", row, weights, bounded=False) == 1).mean()
        cell = re.fullmatch(r"(1?\.\d{3}) \((1?\.\d{3})-(1?\.\d{3})\)", by_photo[row][0])
        assert cell is not None
        value, low, high = map(float, cell.groups())
        assert value == pytest.approx(right, abs=5e-4)
        assert low <= value <= high
    assert rows_of(lines, "Seen, `three`, open, by species").keys() == by_photo.keys()


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


def test_both_settings_share_the_drawn_species(noisy: Study) -> None:
    cell = rows_of(accuracy(noisy, "wiki", bounded=False), "Default minus the other, `wiki`, open")["text only"][0]
    weights, labels = noisy.nested_weights("wiki"), noisy.collection.labels
    difference, species = {}, {}
    for setting in ("unseen", "seen"):
        default, other = (
            noisy.ranks(setting, "wiki", row, weights, bounded=False) == 1 for row in ("default", "text only")
        )
        difference[setting], species[setting] = default.astype(float) - other, labels[noisy.queries_of(setting)]
    counts = Bootstrap(np.concatenate(list(species.values()))).counts
    mix = np.mean([counts[:, species[s]] @ difference[s] / counts[:, species[s]].sum(axis=1) for s in species], axis=0)
    low, high = np.quantile(mix, (0.025, 0.975))
    assert [float(end) for end in cell.split("(")[1].rstrip(")").split(" to ")] == pytest.approx([low, high], abs=6e-4)


def test_photos_are_counted_by_source(noisy: Study) -> None:
    lines = groups(noisy, "three")
    found = rows_of(lines, "by source of the photo")
    counts = [int(cells[0].split("(")[1].rstrip(")")) for cells in list(found.values())[1:]]
    assert (set(found) - {"source"}, sum(counts)) == ({"nabirds33", "vbet"}, len(noisy.queries_of("unseen")))
    # No species has five photos left over, so no worst species are listed.
    assert lines[-1] == ""


def test_one_model_is_measured_with_and_without_prototypes(noisy: Study) -> None:
    lines = one_model(noisy, "three")
    found = rows_of(lines, "One model, new and known species")
    assert list(found)[1:] == ["default", "default, without prototypes"]
    known = [float(cells[1].split(" ")[0]) for cells in list(found.values())[1:]]
    assert known[0] > known[1]  # prototypes help with their own species
    assert f"n = {len(noisy.queries_of('unseen'))}" in found["default"][0]
