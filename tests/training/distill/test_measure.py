from pathlib import Path

from training.distill.labelled import read_fitting
from training.distill.measure import as_text, measure

HELD_OUT = """\
| half | kept at | sentences (visual) | kept | precision | recall |
|---|---|---|---|---|---|
| held-out | classifier | 210 (79) | 76 | 0.98 [0.94, 1.00] | 0.95 [0.89, 0.99] |
| held-out | offered | 210 (79) | 73 | 0.97 [0.93, 1.00] | 0.86 [0.75, 0.96] |
| held-out | summary | 210 (79) | 49 | 0.98 [0.94, 1.00] | 0.55 [0.43, 0.68] |"""


def test_held_out_precision_and_recall_are_those_measured(shared: Path) -> None:
    """Sentences are weighted by their stratum, and intervals are over articles; a precision below .9 is a defect."""
    labels, pages = read_fitting(shared / "birds")
    assert as_text(measure(labels, pages, halves=["held-out"])).strip() == HELD_OUT
