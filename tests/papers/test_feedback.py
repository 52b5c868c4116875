import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("drawn_knowledge")
SMALL = ("--set", "k=3", "--turns", "3")


@pytest.fixture
def measure(papers: Any, coloured: Path, plain_encoders: None) -> Callable[..., Any]:
    """Return a function that measures, and returns the run and its JSON."""

    def run(*more: str) -> Any:
        done = papers("feedback", "--images", str(coloured), *more, "--format", "json")
        return done, json.loads(done.stdout) if done.stdout.startswith("{") else None

    return run


def recall(figures: Any, column: str) -> list[float]:
    return [each["micro"] for each in figures["recall"][column]]


def test_folders_are_classes_and_no_feedback_equals_a_single_turn(measure: Any) -> None:
    done, figures = measure("--method", "none", "--method", "rocchio", *SMALL)
    assert done.exit_code == 0, done.stderr
    assert figures["n_queries"] == 4 and list(figures["recall"]) == ["single turn", "none", "rocchio"]
    assert recall(figures, "none") == recall(figures, "single turn")
    assert recall(figures, "rocchio")[0] == recall(figures, "none")[0]
    assert figures["ceiling"] == pytest.approx([0.3, 0.6, 0.9, 1.0])
    queries = [run["queries"][0] for run in figures["runs"]["none"]]
    assert queries == ["blue bird", "green bird", "red bird", "white bird"]
    _, other = measure("--method", "none", *SMALL, "--query", "a {name} with a white belly")
    assert other["runs"]["none"][0]["queries"][0] == f"a {queries[0]} with a white belly"


def test_tables_and_plot(papers: Any, coloured: Path, measure: Any) -> None:
    _, figures = measure("--method", "rocchio", *SMALL)
    command = ("feedback", "--images", str(coloured), "--method", "rocchio", *SMALL)
    text = papers(*command, "--plot", "recall.svg", check=True).stdout
    single, rocchio = (100 * recall(figures, name)[3] for name in ("single turn", "rocchio"))
    assert "Accumulated recall in %, 4 queries" in text and "Gain over a single turn at the end" in text
    row = next(line for line in text.splitlines() if line.startswith("turn 3"))
    assert f"R@12 {single:.1f}" in row and f" {rocchio:.1f} " in row
    rows = list(csv.DictReader(papers(*command, "--format", "csv", check=True).stdout.splitlines()))
    assert [float(each["recall"]) for each in rows if each["method"] == "rocchio"] == pytest.approx(
        recall(figures, "rocchio"), abs=1e-6
    )
    svg = Path("recall.svg").read_text()
    assert svg.startswith("<svg") and svg.count("stroke-dasharray") == 4 and ">rocchio</text>" in svg
