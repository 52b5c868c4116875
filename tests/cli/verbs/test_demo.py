"""`kb demo`: a run on the shipped knowledge, its report, and the files that it leaves."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import kb
from cli.main import commands
from cli.verbs.demo import DESCRIPTIONS
from data.errors import KnowledgeBaseLocked, UsageError
from data.files import writer_lock
from kb.sources.starter import StarterSource
from training.plates.catalogue import PLATES

pytestmark = pytest.mark.integration

LINE = re.compile(
    r"^   rank +(\d+) of (\d+) +(?:-?\d\.\d+|(?:under |over )?\d+ %)  (\S.*?)  +(\S.*?)(?:  \(first: (.+)\))?$"
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("demo") / "new"
    result = CliRunner().invoke(commands, ["demo", "--workdir", str(folder)], prog_name="kb", catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return folder, result.stdout


def test_the_demo_builds_a_knowledge_base_of_the_starter_species(demo: tuple[Path, str]) -> None:
    (folder, text), source = demo, StarterSource()
    with kb.open(folder / "birds.kb") as store:
        assert list(store.taxon_ids) == [taxon.taxon_id for taxon in source.drawn_taxa()]
        assert [term.name for term in store.terms()] == [term.name for term in source.terms()]
        counts = store.status()
    assert (counts.anchors, counts.failures) == (3 * counts.species, ())
    assert f"{counts.species} species, {counts.summaries} summaries" in text
    assert f"{counts.anchors} reference drawings, {counts.terms} terms" in text
    pictures = sorted((folder / "pictures").iterdir())
    assert str(folder / "pictures") in text
    assert [path.stem for path in pictures] == sorted(plate.name for plate in PLATES)
    anchors = {path.read_bytes() for path in (folder / "birds.kb" / "anchors").rglob("*") if path.is_file()}
    assert len(anchors) == 60 and not [path for path in pictures if path.read_bytes() in anchors]
    proposed = re.findall(r"(?m)^  (kb \w+.*)$", text.split("Next:")[1])
    assert {command.split()[1] for command in proposed} >= {"identify", "show", "build"}


def test_totals_equal_the_counted_lines_and_confidences_those_of_kb_identify(demo: tuple[Path, str]) -> None:
    steps = re.split(r"(?m)^\d\. .*\n", demo[1])
    for step, n in ((3, len(DESCRIPTIONS)), (5, len(PLATES))):
        part = steps[step].split("\n\n")[0].splitlines()
        ranks = [int(match[1]) for line in part if (match := LINE.match(line))]
        first, five = ranks.count(1), sum(rank <= 5 for rank in ranks)
        assert (len(ranks), first >= 0.6 * n) == (n, True)
        assert f"   {first} of {n} first, {five} of {n} among the first five" in part
    command = ["identify", str(demo[0] / "pictures"), "--kb", str(demo[0] / "birds.kb")]
    shown = re.findall(r"((?:over )?\d+ %) sure", CliRunner().invoke(commands, command, prog_name="kb").stdout)
    assert sorted(shown) == sorted(re.findall(r" of 20 +((?:over )?\d+ %)", steps[5])) != []


def run(*arguments: str, home: Path) -> Result:
    return CliRunner(env={"FIELDMARK_HOME": str(home)}).invoke(commands, ["demo", *arguments], prog_name="kb")


def test_a_folder_that_is_not_empty_or_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "birds.kb").write_text("mine")
    result = run("--workdir", str(tmp_path), home=tmp_path / "home")
    assert (result.exit_code, "is not empty" in result.output) == (UsageError.exit_code, True)
    assert (tmp_path / "birds.kb").read_text() == "mine"
    with writer_lock(tmp_path / "demo" / "lock"):
        assert run(home=tmp_path).exit_code == KnowledgeBaseLocked.exit_code
