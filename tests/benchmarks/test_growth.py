"""Growth is read from printed lines, with the exponent and a plot on logarithmic axes."""

from __future__ import annotations

import pytest

from benchmarks.growth import exponent, plot, read, table
from benchmarks.large import line_of

LINES = [
    line_of(1_000, "build", {"seconds": 9.0, "cpu": 8.00049, "peak": 300.0, "anonymous": 100.0, "species": 1_000}),
    "not a line of the benchmark\n",
    line_of(100_000, "build", {"seconds": 900.0, "cpu": 999.0, "peak": 1.0, "anonymous": 1.0}),
    line_of(100_000, "build", {"seconds": 900.0, "cpu": 800.0, "peak": 3_000.0, "anonymous": 1_000.0, "ok": True}),
    line_of(100_000, "search", {"cpu": 1.0, "anonymous": 64.0, "answer": "avis-000007"}),
]


def test_printed_lines_are_read_and_the_last_of_a_size_counts() -> None:
    growth = read(LINES)
    assert list(growth) == ["build", "search"]
    assert [values["cpu"] for values in growth["build"].values()] == [8.0, 800.0]
    assert growth["search"][100_000]["answer"] == "avis-000007"


def test_the_exponent_is_one_in_proportion_and_unknown_for_one_size() -> None:
    growth = read(LINES)
    assert exponent(growth["build"], "cpu") == pytest.approx(1.0)
    assert exponent(growth["build"], "anonymous") == pytest.approx(0.5)
    assert exponent(growth["search"], "cpu") is None


def test_the_table_has_a_row_for_each_step() -> None:
    assert list(table(read(LINES))) == [
        "| | 1,000 | 100,000 | time grows by | memory grows by |",
        "|---|---|---|---|---|",
        "| build | 8 s, 100 | 800 s, 1,000 | n^1.00 | n^0.50 |",
        "| search |  | 1 s, 64 |  |  |",
    ]


def test_the_plot_has_logarithmic_axes() -> None:
    svg = plot(read(LINES))
    labels = ["1,000", "10,000", "100,000", "1", "10", "100"]
    assert [label for label in labels if f">{label}</text>" not in svg] == []
    assert ">0.2</text>" not in svg
    assert svg.count("<circle") == 6
    # 8 s is log10(8) / 3 of the way up an axis from 1 to 1,000 of 260 pixels, at its left end.
    assert 'cx="62.0" cy="221.7"' in svg
