"""A knowledge base of drawn butterflies, as a user makes it: built and identified; and pictures of others."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.drawn_birds import drawn_bird
from training.creatures.butterflies import BUTTERFLIES
from training.creatures.others import DRAWN, draw


@pytest.mark.integration
def test_butterflies_are_named_by_a_general_profile_and_other_groups_are_unknown(
    cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{each.scientific_name},{each.common_name},{each.family},Insecta" for each in BUTTERFLIES]
    Path("names.csv").write_text("\n".join(["scientific_name,common_name,family,class", *rows]))
    Path("photos").mkdir()
    Path("others").mkdir()
    for each in BUTTERFLIES:
        folder = Path("articles", each.scientific_name)
        folder.mkdir(parents=True)
        (folder / "article.txt").write_text(f"## Description\n\n{each.text}\n")
        for number in range(4):
            each.draw(number).save(folder / f"{number}.png")
        for number in range(2):
            each.draw(20 + number).save(f"photos/{each.scientific_name} {number}.png")
    for group in DRAWN:
        for number in range(2):
            draw(group, number).save(f"others/{group}-{number}.png")
    Path("others/bird.png").write_bytes(drawn_bird("cardinalis-cardinalis"))
    build = ("build", "--names", "names.csv", "--source", "folder:articles", "--kb", "own.kb")
    notes = [cli.call(*build, "--set", "anchors_per_species=4", check=True).stderr]
    status = cli.call("status", "--kb", "own.kb", check=True)
    assert "\nprofile           general\n" in status.stdout
    photos = sorted(Path("photos").iterdir())[:3]
    monkeypatch.setenv("FIELDMARK_HOME", str(Path("home").resolve()))  # where nothing was said yet
    done = cli.call("identify", *photos, "--kb", "own.kb", "--explain", check=True)
    for text in (*notes, status.stderr, done.stderr):
        assert text.count("The small models that ship were trained on birds.") == 1 and "--profile best" in text
    assert "Confidence is not available: none ships for the profile general; kb calibrate" in done.stderr
    assert "best match" in done.stdout and "scores higher than" in done.stdout
    again = cli.call("identify", *photos, "--kb", "own.kb", check=True).stderr
    assert ("trained on birds" in again, "Confidence is not available" in again) == (False, True), "said once"

    def identified(folder: str) -> list[Any]:
        done = cli.call("identify", folder, "--kb", "own.kb", "--format", "jsonl", "--quiet", check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    rows = identified("photos")
    assert sum(row["answer"]["name"] == Path(row["image"]).stem[:-2] for row in rows) / len(rows) >= 0.9
    assert {(row["calibration"], row["answer"]["confidence"]) for row in rows} == {(None, None)}
    scores = {name for row in rows for candidate in row["candidates"] for name in candidate["scores"]}
    assert "prototype" not in scores, "the learned prototypes are of birds"
    rows = identified("others")
    assert {(row["status"], row["answer"]["rank"], row["answer"]["name"]) for row in rows} == {("unknown", "none", "")}
    text = cli.call("identify", "others/frog-0.png", "--kb", "own.kb", check=True).stdout
    assert "Probably not in the knowledge base" in text and "It is unlike all reference photos." in text
    shutil.copytree("own.kb", "more.kb")
    Path("more.txt").write_text("The wings are black with a red band and white spots.\n")
    lineage = ("--lineage", "class=Insecta", "--lineage", "order=Lepidoptera")
    cli.call("add", "--kb", "more.kb", "--name", "Aus bus", *lineage, "--text", "more.txt", check=True)
    note = "1 species has no reference photo and is seldom named"
    assert note in cli.call("identify", photos[0], "--kb", "more.kb", check=True).stderr and note not in again
