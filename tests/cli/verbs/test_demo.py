"""`kb demo`: a run on the shipped knowledge, its report, and the files that it leaves."""

from __future__ import annotations

import re
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    folder: Path
    text: str

    def part(self, number: int) -> list[str]:
        """Return the lines below the title of a step."""
        steps = re.split(r"(?m)^\d\. .*\n", self.text)
        return steps[number].split("\n\n")[0].splitlines()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo") / "new"
    result = CliRunner().invoke(commands, ["demo", "--workdir", str(folder)], prog_name="kb", catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return Demo(folder=folder, text=result.stdout)


def test_the_demo_builds_a_knowledge_base_of_the_starter_species(demo: Demo) -> None:
    source = StarterSource()
    store = kb.open(demo.folder / "birds.kb")
    try:
        assert list(store.taxon_ids) == [taxon.taxon_id for taxon in source.drawn_taxa()]
        assert [term.name for term in store.terms()] == [term.name for term in source.terms()]
        counts = store.status()
    finally:
        store.close()
    assert counts.anchors == 3 * counts.species
    assert f"{counts.species} species, {counts.summaries} summaries" in demo.text
    assert f"{counts.anchors} reference drawings, {counts.terms} terms" in demo.text
    assert not counts.failures
    pictures = sorted((demo.folder / "pictures").iterdir())
    assert str(demo.folder / "pictures") in demo.text
    assert [path.stem for path in pictures] == sorted(plate.name for plate in PLATES)
    anchors = {path.read_bytes() for path in (demo.folder / "birds.kb" / "anchors").rglob("*") if path.is_file()}
    assert len(anchors) == 60 and not [path for path in pictures if path.read_bytes() in anchors]
    commands = re.findall(r"(?m)^  (kb \w+.*)$", demo.text.split("Next:")[1])
    assert {command.split()[1] for command in commands} >= {"identify", "show", "build"}


@pytest.mark.parametrize(("step", "n"), [(3, len(DESCRIPTIONS)), (5, len(PLATES))])
def test_totals_equal_the_counted_lines(demo: Demo, step: int, n: int) -> None:
    found = [match for line in demo.part(step) if (match := LINE.match(line))]
    ranks = [int(match[1]) for match in found]
    assert len(ranks) == n
    first, five = ranks.count(1), sum(rank <= 5 for rank in ranks)
    assert f"   {first} of {n} first, {five} of {n} among the first five" in demo.part(step)
    assert first >= 0.6 * n


def run(*arguments: str, home: Path) -> Result:
    return CliRunner(env={"FIELDMARK_HOME": str(home)}).invoke(commands, ["demo", *arguments], prog_name="kb")


def test_a_folder_that_is_not_empty_or_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "birds.kb").write_text("mine")
    result = run("--workdir", str(tmp_path), home=tmp_path / "home")
    assert (result.exit_code, "is not empty" in result.output) == (UsageError.exit_code, True)
    assert (tmp_path / "birds.kb").read_text() == "mine"
    with writer_lock(tmp_path / "demo" / "lock"):
        assert run(home=tmp_path).exit_code == KnowledgeBaseLocked.exit_code
