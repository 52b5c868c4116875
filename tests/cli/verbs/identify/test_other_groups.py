"""A knowledge base of drawn butterflies, as a user makes it: built and identified; and pictures of others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.drawn_birds import drawn_bird
from tests.made_once import made_once
from training.creatures.butterflies import BUTTERFLIES
from training.creatures.others import DRAWN, draw

pytestmark = pytest.mark.integration

N_REFERENCES, N_QUERIES = 4, 2
TEXT = "The wings are black with a red band and white spots.\n"


def write_folder(root: Path) -> None:
    """Write a folder of articles and a CSV of names, as a user has them."""
    rows = [f"{each.scientific_name},{each.common_name},{each.family},Insecta" for each in BUTTERFLIES]
    root.mkdir(parents=True)
    (root / "butterflies.csv").write_text("\n".join(["scientific_name,common_name,family,class", *rows]))
    for each in BUTTERFLIES:
        folder = root / "articles" / each.scientific_name
        folder.mkdir(parents=True)
        (folder / "article.txt").write_text(f"## Description\n\n{each.text}\n")
        for number in range(N_REFERENCES):
            each.draw(number).save(folder / f"{number}.png")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The butterflies as `butterflies.kb`, beside their folder; tests must not write to it."""
    from click.testing import CliRunner

    from cli.main import commands

    def build(root: Path) -> None:
        write_folder(root)
        names, source, path = root / "butterflies.csv", f"folder:{root / 'articles'}", root / "butterflies.kb"
        arguments = ["build", "--names", str(names), "--source", source, "--kb", str(path)]
        done = CliRunner().invoke(commands, [*arguments, "--set", f"anchors_per_species={N_REFERENCES}"])
        assert done.exit_code == 0, done.output
        (root / "stderr.txt").write_text(done.stderr)

    return made_once(tmp_path_factory, "butterflies", build)


@pytest.fixture(scope="session")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of other drawings of the butterflies, named by species."""

    def write(folder: Path) -> None:
        folder.mkdir()
        for each in BUTTERFLIES:
            for number in range(N_QUERIES):
                each.draw(20 + number).save(folder / f"{each.scientific_name} {number}.png")

    return made_once(tmp_path_factory, "butterfly-queries", write)


@pytest.fixture(scope="session")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of drawings of other groups, a drawn bird among them."""

    def write(folder: Path) -> None:
        folder.mkdir()
        for group in DRAWN:
            for number in range(2):
                draw(group, number).save(folder / f"{group}-{number}.png")
        (folder / "bird.png").write_bytes(drawn_bird("cardinalis-cardinalis"))

    return made_once(tmp_path_factory, "other-groups", write)


def identified(cli: Any, photos: Path, *more: object) -> list[Any]:
    done = cli.call("identify", photos, "--format", "jsonl", "--quiet", *more, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def share_right(rows: list[Any]) -> float:
    right = [row["answer"]["name"] == Path(row["image"]).stem[:-2] for row in rows]
    return sum(right) / len(rows)


def test_species_that_are_no_birds_get_the_general_profile_and_a_plain_word(
    cli: Any, built: Path, queries: Path, tmp_path: Path
) -> None:
    own = str(built / "butterflies.kb")
    status = cli.call("status", "--kb", own, check=True)
    assert "\nprofile           general\n" in status.stdout
    for text in (status.stderr, (built / "stderr.txt").read_text()):
        assert text.count("The small models that ship were trained on birds.") == 1 and "--profile best" in text
    photos = sorted(queries.iterdir())[:3]
    done = cli.call("identify", *photos, "--kb", own, "--explain", check=True)
    assert done.stderr.count("trained on birds") == 1
    assert "Confidence is not available: none ships for the profile general; kb calibrate" in done.stderr
    assert "best match" in done.stdout and "scores higher than" in done.stdout
    again = cli.call("identify", *photos, "--kb", own, check=True).stderr
    assert ("trained on birds" in again, "Confidence is not available" in again) == (False, True), "said once"
    shutil.copytree(own, tmp_path / "more.kb")
    (tmp_path / "more.txt").write_text(TEXT)
    lineage = ("--lineage", "class=Insecta", "--lineage", "order=Lepidoptera")
    cli.call("add", "--kb", "more.kb", "--name", "Aus bus", *lineage, "--text", "more.txt", check=True)
    note = "1 species has no reference photo and is seldom named"
    assert note in cli.call("identify", photos[0], "--kb", "more.kb", check=True).stderr and note not in again


def test_butterflies_are_named_and_other_groups_unknown(cli: Any, built: Path, queries: Path, others: Path) -> None:
    rows = identified(cli, queries, "--kb", built / "butterflies.kb")
    assert share_right(rows) >= 0.9
    assert {(row["calibration"], row["answer"]["confidence"]) for row in rows} == {(None, None)}
    scores = {name for row in rows for candidate in row["candidates"] for name in candidate["scores"]}
    assert "prototype" not in scores, "the learned prototypes are of birds"
    rows = identified(cli, others, "--kb", built / "butterflies.kb")
    assert {(row["status"], row["answer"]["rank"], row["answer"]["name"]) for row in rows} == {("unknown", "none", "")}
    text = cli.call("identify", others / "frog-0.png", "--kb", built / "butterflies.kb", check=True).stdout
    assert "Probably not in the knowledge base: unlike its reference photos." in text
