"""Cells of tables: micro or macro, signs, intervals and p-values."""

from __future__ import annotations

import pytest

from cli.verbs.eval.cells import difference_cells, figure_cell, p_text
from data.metrics.ranked import Measured

GAIN = Measured(name="gain", micro=0.1234, macro=-0.05, micro_interval=(0.02, 0.2), macro_interval=(-0.1, 0.03))


@pytest.mark.parametrize(
    ("mean", "wide", "sign", "expected"),
    [
        ("micro", False, "", "12.3"),
        ("micro", True, "", "12.3 (2.0 to 20.0)"),
        ("micro", True, "+", "+12.3 (+2.0 to +20.0)"),
        ("macro", True, "+", "-5.0 (-10.0 to +3.0)"),
    ],
)
def test_a_figure_is_in_percent_with_its_interval(mean: str, wide: bool, sign: str, expected: str) -> None:
    assert figure_cell([GAIN], "gain", mean, wide=wide, sign=sign) == expected


def test_a_missing_measure_is_an_empty_cell() -> None:
    assert figure_cell([GAIN], "accuracy", "micro", wide=True) == ""


def test_a_difference_has_signs_interval_and_counts() -> None:
    assert difference_cells(0.012, (-0.004, 0.03), 7, 2) == ["+1.2", "-0.4 to +3.0", "7/2"]


@pytest.mark.parametrize(("p", "expected"), [(0.0009, "< .001"), (0.001, ".001"), (0.25, ".250"), (1.0, "1.000")])
def test_p_values_have_three_digits_and_no_leading_zero(p: float, expected: str) -> None:
    assert p_text(p) == expected
