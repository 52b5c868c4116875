import csv
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from data.files import file_state
from papers.catalogue import PAPERS, read_paper
from tests.cli.verbs.rerank.conftest import NO, YES
from tests.conftest import Outcome
from tests.rerank.scripted import questions_reply
from tests.servers.openai_server import Call, OpenAIServer, Reaction
from tests.servers.scripted_distiller import distil

Papers = Callable[..., Outcome]
KINDS = ("text", "vision", "search", "image")


def answered(call: Call) -> Reaction:
    """Return a reply to any request of the five methods, by a rule."""
    if call.path.endswith("/images/generations"):
        return "drawn by the server"
    if "<<<" in call.text:
        return distil(call)
    if len(call.images) > 1:
        return json.dumps({"ranking": list(range(len(call.images), 0, -1))})
    if '"phrases"' in call.text:
        return json.dumps({"phrases": ["a bird"], "questions": ["Where is it?", "Which colour?", "How many?"]})
    if '"Description:"' in call.text:
        return "Keywords: bird\nDescription: a red bird"
    if not call.images:
        return questions_reply()
    if "\nA. " in call.text:
        return json.dumps({"reason": "", "answer": "A"})
    if '"species"' in call.text or "species" in str(call.payload.get("response_format", "")):
        return json.dumps({"reason": "", "species": "Blue Jay"})
    return YES if sum(call.images[0]) % 2 else NO


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A server for all endpoints, at a cent per thousand tokens."""
    with OpenAIServer(answered) as started:
        for kind in KINDS:
            values = {"model": "m", "base_url": started.base_url, "price_in": 10, "price_out": 10}
            for name, value in values.items():
                monkeypatch.setenv(f"FIELDMARK_LLM_{kind.upper()}_{name.upper()}", str(value))
        yield started


@pytest.fixture
def reproduced(papers: Papers) -> Callable[..., list[dict[str, str]]]:
    """Return a function that runs a table on miniature data and returns its cells."""

    def run(*arguments: str | Path) -> list[dict[str, str]]:
        done = papers(*arguments, "--miniature", "--models", "--format", "csv", check=True)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    return run


@pytest.mark.integration
def test_a_table_of_recognition_equals_the_commands_that_it_names(
    papers: Papers, reproduced: Any, toy_paper_profile: None
) -> None:
    command = ("vr-rag", "1", "--output", "work")
    cells = reproduced(*command)
    assert [cell["published"] for cell in cells if cell["row"] == "CLIP"] == ["52.7", "19.9", "50.9", "26.0"]
    shown = papers(*command, "--miniature", "--dry-run", check=True).stdout
    (converted,) = re.findall(r"python -m papers (convert \S+/data/CUB\S+ .*)", shown)
    papers(*converted.split(), check=True)
    (typed,) = re.findall(r"python -m papers (species \S+/CUB.csv .*)", shown)
    lines = list(csv.DictReader(io.StringIO(papers(*typed.split(), check=True).stdout)))
    for vocabulary in ("bounded", "open"):
        (line,) = [
            line
            for line in lines
            if (line["preset"], line["vocabulary"], line["measure"]) == ("text-only", vocabulary, "top-1")
        ]
        (cell,) = [cell for cell in cells if (cell["row"], cell["column"]) == ("CLIP", f"CUB {vocabulary}")]
        assert float(cell["ours"]) == pytest.approx(100 * float(line["micro"])) and float(cell["ours"]) > 0
        assert float(cell["difference"]) == pytest.approx(float(cell["ours"]) - float(cell["published"]))
    # The starter profile has one encoder: the cells of the others are empty, not wrong.
    assert {cell["ours"] for cell in cells if cell["row"] in ("BioCLIP", "OpenCLIP", "SigLIP")} == {""}
    told = papers(*command, "--miniature", check=True).stdout
    rows = [re.sub(" +", " ", line.strip()) for line in told.splitlines() if "ours, miniature" in line]
    assert [row.partition(" (")[2] for row in rows] == [
        "not in the profile paper)", "", *["no such encoder in this run)"] * 2
    ]  # fmt: skip


@pytest.mark.integration
def test_the_four_modes_are_measured_and_a_stopped_run_continues(papers: Papers, server: OpenAIServer) -> None:
    command = ("divide-and-conquer", "figure-4", "--miniature", "--models")
    none = papers(*command, "--offline")
    assert none.exit_code == 7 and server.n_calls == 0
    # An answer on a photo costs $0.004. The limit counts for all steps together.
    stopped = papers(*command, "--max-cost", "0.5")
    assert stopped.exit_code == 7 and "Cost limit reached" in stopped.stderr
    n_answers = sum(bool(call.images) for call in server.calls)
    assert 60 < n_answers <= 0.5 / (401 * 10 / 1e6)
    done = papers(*command, "--format", "json", check=True)
    cells = json.loads(done.stdout)["cells"]
    assert [cell["published"] for cell in cells] == [64.0, 61.1, 64.2, 66.9]
    assert all(0 < cell["ours"] <= 100 for cell in cells) and len({cell["model"] for cell in cells}) == 1
    n_all = server.n_calls
    again = papers(*command, "--format", "json", check=True)
    assert again.stdout == done.stdout and server.n_calls == n_all and again.stderr.count("finished before") == 5


@pytest.mark.integration
def test_a_miniature_calls_no_model_unasked_and_touches_nothing_shared(
    papers: Papers, server: OpenAIServer, birds: Path, unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(unpacked, tmp_path / "work" / "home")  # else unpacked there
    own, home = Path(shutil.copytree(birds, tmp_path / "own.kb")), tmp_path / "home"
    (home / "starter").mkdir(parents=True)
    monkeypatch.setenv("FIELDMARK_KB", str(own))
    monkeypatch.setenv("FIELDMARK_HOME", str(home))

    def shared_files() -> dict[Path, tuple[int, int] | None]:
        return {path: file_state(path) for folder in (own, home) for path in (folder, *folder.rglob("*"))}

    before = shared_files()
    command = ("divide-and-conquer", "--miniature", "--output", "work")
    counted = papers(*command, "table-1", check=True)
    assert re.search(r"Total +paper +154 +136 +18\n +ours, miniature +7 +6 +1\n", counted.stdout)
    done = papers(*command, "figure-4")
    assert done.exit_code == 7 and server.n_calls == 0
    assert "5 of 5 steps not finished: [llm.vision] not set (2); [llm.search], [llm.vision] not set (2)" in done.stderr
    assert shared_files() == before
    papers(*command, "figure-4", "--models", check=True)
    assert server.n_calls > 0 and shared_files() == before
    assert any((Path("work") / "home").rglob("*.sqlite")), "replies, web answers and terms are beside the results"


def test_a_result_is_used_again_only_if_all_that_reaches_it_is_the_same(
    papers: Papers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("divide-and-conquer", "table-1", "--miniature", "--output", "work")

    def finished_before(*more: str | Path) -> bool:
        return "finished before" in papers(*command, *more, check=True).stderr

    (tmp_path / "prompts").mkdir()
    prompt = tmp_path / "prompts" / "direct.md"
    prompt.write_text("$context $question")
    assert not finished_before() and finished_before()
    assert not finished_before("--set", "context.web=never") and finished_before("--set", "context.web=never")
    (tmp_path / "other.toml").write_text("[rerank.decompose]\nchain = false\n")
    assert not finished_before("--settings", "other.toml") and finished_before("--settings", "other.toml")
    assert not finished_before("--set", "prompts=prompts") and finished_before("--set", "prompts=prompts")
    prompt.write_text("$context Now: $question")
    assert not finished_before("--set", "prompts=prompts")
    monkeypatch.setenv("FIELDMARK_LLM_VISION_MODEL", "m")
    assert not finished_before()
    monkeypatch.setenv("FIELDMARK_LLM_VISION_EXTRA_BODY", '{"quality": "high"}')
    assert not finished_before() and finished_before()


def test_a_missing_data_set_and_a_missing_table_are_named(papers: Papers, tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    planned = papers("divide-and-conquer", "1", "--data", "datasets", "--dry-run", check=True)
    assert re.search(r"Not found: \S+/datasets/inquire-rerank\.", planned.stdout)
    done = papers("divide-and-conquer", "table-1", "--data", "datasets")
    assert done.exit_code == 7 and "inquire-rerank does not exist; expected inquire-rerank/ with" in done.stderr
    for arguments, code, message in (
        (("cotrr", "3"), 3, "table not available"),
        (("vr-rag", "table-12"), 2, 'Unknown table "table-12"'),
        (("vr-rag", "2"), 2, "needs its data sets"),
    ):
        done = papers(*arguments)
        assert done.exit_code == code and message in done.stderr, arguments


@pytest.mark.integration
@pytest.mark.parametrize("n_tables", [1, pytest.param(None, marks=pytest.mark.thorough)])
def test_tables_of_each_paper_run_on_miniature_data(papers: Papers, server: OpenAIServer, n_tables: int | None) -> None:
    for paper in PAPERS:
        tables = read_paper(paper).tables
        for name in [name for name, table in tables.items() if table.is_available and table.steps][:n_tables]:
            done = papers(paper, name, "--miniature", "--models", "--format", "json")
            assert done.exit_code == 0, (name, done.stderr)
            assert any(cell["ours"] is not None for cell in json.loads(done.stdout)["cells"]), name
