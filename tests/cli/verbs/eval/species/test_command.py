"""`kb eval species` on folders and tables of photos, against a knowledge base of drawings."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import kb
from cli.verbs.eval.species import tables
from recognize.evaluation.comparison import COLUMNS
from tests.cli.conftest import documented_keys
from tests.drawn_birds import drawn_bird

CARDINAL, JAY, OWL = "cardinalis-cardinalis", "cyanocitta-cristata", "bubo-scandiacus"
FAST = ("--set", "resamples=100", "-q")


def draw(taxon_id: str, path: Path, seed: int = 1) -> Path:
    """Draw a bird that is not an anchor, though similar to its anchors."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(drawn_bird(taxon_id, seed))
    return path


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    root = tmp_path / "birds"
    draw(CARDINAL, root / "Cardinalis cardinalis" / "1.png")
    draw(CARDINAL, root / "Cardinalis cardinalis" / "2.png", 2)
    draw(JAY, root / "Cyanocitta_cristata" / "1.png")
    draw(JAY, root / "Snowy Owl" / "1.png")  # labelled wrongly, so that not all is right
    draw(OWL, root / "Blue-footed Nothing" / "1.png")
    draw(OWL, root / "Struthio camelus" / "1.png")
    return root


def measured(cli: Any, *arguments: str | Path, exit_code: int = 0) -> dict[str, Any]:
    outcome = cli.call("eval", "species", *FAST, *arguments, "--format", "json")
    assert outcome.exit_code == exit_code, outcome.stderr
    found: dict[str, Any] = json.loads(outcome.stdout)
    assert set(found) == documented_keys("kb eval species --format json")
    return found


def test_a_table_has_splits_sets_of_anchors_and_a_limit(cli: Any, built_kb: Path) -> None:
    rows = [("017.Cardinal", CARDINAL, "test", ""), ("073.Blue_Jay", JAY, "test", ""),
            ("073.Blue_Jay", JAY, "train", "wiki"), ("103.Sayornis", OWL, "test", "")]  # fmt: skip
    lines = ["path,label,split,anchors"]
    for number, (name, taxon_id, split, of) in enumerate(rows, 1):
        draw(taxon_id, Path(f"photos/{number}.png"), number)
        lines.append(f"photos/{number}.png,{name},{split},{of}")
    table = Path("photos.csv")
    table.write_text("\n".join(lines) + "\n")
    arguments = (table, "--kb", built_kb, "--set", "keep_leaks=true", "--set", "vocabulary=open")
    anchors = ("--anchors", "kb", "--anchors", "train", "--anchors", "wiki")
    found = measured(cli, *arguments, "--preset", "text-only", "--preset", "vr-rag-v1", *anchors)
    assert (found["n"], found["n_species"], found["dataset"]) == (2, 2, "photos.csv, test")
    assert [name["name"] for name in found["unmatched"]] == ["103.Sayornis"]
    assert [(figures["setup"]["preset"], figures["setup"]["anchors"]) for figures in found["figures"]] == [
        ("text-only", "kb"), *(("vr-rag-v1", name) for name in ("kb", "train", "wiki")),
    ]  # fmt: skip
    assert found["photos"]["anchors"] == {"train": 1, "wiki": 1}
    assert {test["measure"] for test in found["tests"]} == {"top-1", "MRR@10"}
    few = (*arguments, "--preset", "text-only", "--split", "all")
    assert (measured(cli, *few)["n"], measured(cli, *few, "--limit", "2")["n"]) == (3, 2)
    for content, message in (
        ("path,label\nphotos/1.png\n", "photos.csv: line 2: expected a path, a name"),
        ("path,label,split\nphotos/1.png,Blue Jay,dev\n", "or nothing, got photos/1.png, Blue Jay, dev"),
        ("file,name\na,b\n", "expected a table with the columns path and label or scientific_name or common_name"),
    ):
        table.write_text(content)
        refused = cli.call("eval", "species", table, "--kb", built_kb, *FAST)
        assert refused.exit_code == 5 and message in refused.stderr, message
    refused = cli.call("eval", "species", table.rename("photos.pkl"), "--kb", built_kb, *FAST)
    assert refused.exit_code == 5 and "hint: A published data set goes through `python -m papers" in refused.stderr


def test_copies_and_near_duplicates_of_anchors_are_excluded_and_counted(
    cli: Any, built_kb: Path, tmp_path: Path
) -> None:
    with kb.open(built_kb) as store:
        (entry,) = store.species([CARDINAL])
        anchor = store.anchor_path(str(entry.anchors[0].sha256))
    folder = tmp_path / "birds" / "Cardinalis cardinalis"
    folder.mkdir(parents=True)
    shutil.copy(anchor, folder / "same.png")
    with Image.open(anchor) as picture:
        picture.convert("RGB").reduce(2).save(folder / "smaller.jpg", quality=90)
    Image.effect_noise((200, 200), 90).convert("RGB").save(folder / "noise.png")  # like no anchor
    arguments = ("birds", "--kb", built_kb, "--preset", "default", "--set", "vocabulary=open")
    found = measured(cli, *arguments)
    assert found["n"] == 1
    leaks = found["photos"]["leaks"]
    assert (leaks["n"], leaks["kept"], leaks["same file"], leaks["near by perceptual hash"]) == (2, False, 1, 2)
    assert measured(cli, *arguments, "--set", "keep_leaks=true")["n"] == 3
    (folder / "noise.png").unlink()
    none_left = cli.call("eval", "species", *arguments, *FAST)
    assert (none_left.exit_code, none_left.stdout) == (5, "")
    assert "hint: Use --set keep_leaks=true to measure them too." in none_left.stderr


def test_unmatched_labels_and_absent_species_are_listed_with_a_hint(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    draw(OWL, tmp_path / "odd" / "class 1" / "1.png")
    draw(OWL, tmp_path / "far" / "Struthio camelus" / "1.png")
    for folder, why, hint in (
        ("odd", "1 label (1 photo) matched no species: class 1 (unknown)", tables.NAMES_HINT),
        ("far", "1 species (1 photo) not in the knowledge base: Struthio camelus", "Choose a knowledge base of these"),
    ):
        none = cli.call("eval", "species", folder, "--kb", built_kb)
        said = f"error: No photo of {folder} shows a species of the knowledge base: {why}.\nhint: {hint}"
        assert (none.exit_code, none.stderr.startswith(said)) == (5, True), none.stderr


def test_training_photos_can_be_another_dataset_and_a_copy_of_one_is_a_leak(
    cli: Any, built_kb: Path, folders: Path, tmp_path: Path
) -> None:
    given = ("--kb", built_kb, "--set", "vocabulary=open", "--preset", "anchors-only")
    without = cli.call("eval", "species", folders, *given, "--anchors", "train", *FAST)
    assert (without.exit_code, "Name the training photos with --train" in without.stderr) == (2, True)
    wiki = cli.call("eval", "species", folders, *given, "--anchors", "wiki", *FAST)
    assert (wiki.exit_code, "has no anchors 'wiki'" in wiki.stderr) == (2, True)
    split = cli.call("eval", "species", folders, *given, "--split", "train")
    assert (split.exit_code, "no photos in the split 'train'" in split.stderr) == (5, True)
    shutil.copytree(folders, tmp_path / "train")
    both = (folders, *given, "--anchors", "train", "--train", tmp_path / "train", "--set", "keep_leaks=true")
    found = measured(cli, *both)
    assert (found["photos"]["anchors"]["train"], found["photos"]["leaks"]["same file"]) == (5, 4)
    assert cli.call("eval", "species", folders, *given, "--train", tmp_path / "train", *FAST).exit_code == 2


def test_tables_and_csv_have_the_figures_and_tests_of_each_setup(cli: Any, built_kb: Path, folders: Path) -> None:
    command = ("eval", "species", folders, "--kb", built_kb, "--set", "keep_leaks=true", *FAST)
    found = measured(cli, *command[2:])
    assert (found["n"], found["n_species"], found["dataset"]) == (4, 3, "class folders")
    assert [(name["name"], name["reason"]) for name in found["unmatched"]] == [("Blue-footed Nothing", "unknown")]
    assert found["not_in_kb"] == ["Struthio camelus"] and "hit@30" in found["definitions"]
    assert (found["photos"]["label_unmatched"], found["photos"]["species_not_in_kb"]) == (1, 1)
    setups = [(figures["setup"]["vocabulary"], figures["setup"]["preset"]) for figures in found["figures"]]
    presets = ["text-only", "anchors-only", "vr-rag-v1", "vr-rag-v2", "default"]
    assert setups == [(vocabulary, preset) for vocabulary in ("open", "bounded") for preset in presets]
    assert {figures["n_searched"] for figures in found["figures"][5:]} == {3}
    command += ("--preset", "text-only", "--preset", "vr-rag-v1")
    done = cli.call(*command, check=True)
    lines = done.stdout.splitlines()
    assert f"class folders: 4 photos of 3 species; knowledge base {built_kb}" in lines
    assert "bounded, 3 possible answers; mean over species (macro), percent" in lines
    assert "open: difference from 'text-only', species by species" in lines
    firsts = [line.split("  ")[0] for line in lines]
    assert [firsts.count(name) for name in ("vr-rag-v1", "text-only")] == [8, 4]
    assert "1 label (1 photo) matched no species: Blue-footed Nothing (unknown" in done.stderr
    assert "1 species (1 photo) not in the knowledge base: Struthio camelus" in done.stderr
    done = cli.call(*command, "--set", "vocabulary=open", "--format", "csv", check=True)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert tuple(rows[0]) == tuple(COLUMNS)
    assert [(row["preset"], row["encoders"], row["anchors"]) for row in rows[::10]] == [
        ("text-only", "starter", "kb"), ("vr-rag-v1", "starter", "kb"),
    ]  # fmt: skip
    assert [row["measure"] for row in rows if row["baseline"] == "text-only"] == ["top-1", "MRR@10"]


def test_resamples_and_seed_change_only_the_intervals_and_an_unreadable_photo_exits_with_7(
    cli: Any, built_kb: Path, tmp_path: Path
) -> None:
    with kb.open(built_kb) as store:
        taxa = store.taxa()[:6]
    for number, taxon in enumerate(taxa):  # every third label is wrong, so that intervals are wide
        shown = taxa[number - 1] if number % 3 == 0 else taxon
        draw(shown.taxon_id, tmp_path / "photos" / taxon.scientific_name / "1.png")
    (tmp_path / "photos" / taxa[0].scientific_name / "2.png").write_bytes(b"no picture")
    given = ("--kb", built_kb, "--preset", "text-only", "--set", "keep_leaks=true", "--set", "vocabulary=open")

    def found(*settings: str) -> tuple[Any, Any]:
        sets = [part for setting in settings for part in ("--set", setting)]
        found = measured(cli, "photos", *given, *sets, exit_code=7)
        assert (found["n"], [Path(path).name for path in found["photos"]["unreadable"]]) == (6, ["2.png"])
        measures = found["figures"][0]["measures"]
        return [each["micro"] for each in measures], [each["macro_interval"] for each in measures]

    figures, intervals = found()
    assert found("seed=0") == (figures, intervals)
    for setting in ("seed=1", "resamples=200"):
        others, other_intervals = found(setting)
        assert (others, other_intervals != intervals) == (figures, True), setting
