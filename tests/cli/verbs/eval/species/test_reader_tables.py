"""Tables of readers: missing measures are blank."""

from __future__ import annotations

from cli.verbs.eval.species.reader_tables import as_text
from data.metrics.ranked import measure_all
from recognize.evaluation.reader_comparison import ReaderEvaluation, ReaderFigures
from recognize.evaluation.reader_setups import ReaderSetup
from recognize.evaluation.setups import Setup
from recognize.reader.replies import ReadCounts

LABELS = ["a", "a", "b", "b"]


def figures(setup: ReaderSetup, *names: str) -> ReaderFigures:
    values = {name: [1.0, 0.0, 1.0, 1.0] for name in names}
    measures = measure_all(values, LABELS, n_resamples=100, seed=0)
    return ReaderFigures(
        setup=setup, encoder_names=("clip",), measures=measures, margin=None, n_with_margin=0, n_failed=0, missing={},
        n_without_text=0.0, replies=ReadCounts(),
    )  # fmt: skip


def test_candidate_measures_are_blank_without_retrieval() -> None:
    of_names = ("accuracy", "reader genus", "none of these", "agreement")
    of_candidates = ("listed", "first alone", "gain")
    both = (
        figures(ReaderSetup(retrieval=Setup(preset="vr-rag-v1")), *of_names, *of_candidates),
        figures(ReaderSetup(retrieval=None), *of_names),
    )
    evaluation = ReaderEvaluation(model="m", n=4, n_species=2, n_samples=1, figures=both, tests=())
    lines = as_text(evaluation).splitlines()
    head = next(line for line in lines if "first alone" in line)
    alone = next(line for line in lines if line.startswith("no retrieval"))
    with_retrieval = next(line for line in lines if line.startswith("vr-rag-v1"))
    for column in of_candidates:
        end = head.index(column) + len(column)
        assert with_retrieval[:end].endswith(("75.0", ")")), column
        assert alone[end - 5 : end].strip() == "", column
    assert alone.split()[2] == "75.0"
