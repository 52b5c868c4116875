"""Cells of tables: micro or macro, signs, intervals and p-values."""

from __future__ import annotations

from cli.verbs.eval.cells import difference_cells, figure_cell, p_text
from data.metrics.ranked import Measured

GAIN = Measured(name="gain", micro=0.1234, macro=-0.05, micro_interval=(0.02, 0.2), macro_interval=(-0.1, 0.03))


def test_figures_are_in_percent_with_intervals_signs_and_counts() -> None:
    assert figure_cell([GAIN], "gain", "micro", wide=False) == "12.3"
    assert figure_cell([GAIN], "gain", "micro", wide=True) == "12.3 (2.0 to 20.0)"
    assert figure_cell([GAIN], "gain", "macro", wide=True, sign="+") == "-5.0 (-10.0 to +3.0)"
    assert figure_cell([GAIN], "accuracy", "micro", wide=True) == ""
    assert difference_cells(0.012, (-0.004, 0.03), 7, 2) == ["+1.2", "-0.4 to +3.0", "7/2"]
    assert [p_text(p) for p in (0.0009, 0.001, 0.25, 1.0)] == ["< .001", ".001", ".250", "1.000"]
