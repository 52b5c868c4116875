"""Every benchmark runs, on minimal input."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
MODULES = [path for path in BENCHMARKS.glob("*.py") if "\ndef main(" in path.read_text(encoding="utf-8")]
PACKAGES = [path.parent for path in BENCHMARKS.glob("*/__main__.py")]
NAMES = sorted(path.stem for path in (*MODULES, *PACKAGES))
ARGUMENTS = {
    "bursts": ["--data", "{birds}"],
    "checklists": ["--names", "3000"],
    "collections": ["--n", "3000", "--dim", "16", "--birds", "{birds}", "--species", "2"],
    "context": ["--queries", "{queries}"],
    "descriptions": [],
    "engines": ["--photos", "{birds}/photos", "--n", "6"],
    "feedback_birds": ["--data", "{birds}", "--photos", "60"],
    "growth": ["{growth}"],
    "identify": ["--photos", "{birds}/photos", "--n", "4", "--rounds", "1"],
    "large": ["--species", "12"],
    "learn": ["--data", "{birds}", "--draws", "1"],
    "lint": ["--data", "{whole}"],
    "list_fit": ["--data", "{birds}"],
    "listwise": [],
    "long_runs": ["photos", "--photos", "{birds}/photos", "--n", "6", "--fast"],
    "lookups": ["--data", "{birds}", "--encoders", "starter", "--only", "species"],
    "names": ["--n", "300"],
    "no_bird": ["--data", "{birds}", "--n", "4"],
    "other_groups": ["--data", "{birds}"],
    "places": ["--data", "{birds}"],
    "near_queries": ["--queries", "{queries}"],
    "neighbours": ["--texts", "300", "--queries", "5"],
    "opening": ["--species", "12", "--dim", "16", "--encoders", "2"],
    "rerank": ["--photos", "4", "--reply-ms", "1", "--repeats", "1"],
    "rerank_birds": ["--birds", "{birds}"],
    "rerank_modes": ["--photos", "2", "--sampled", "5", "--reply-ms", "1"],
    "scenes": ["--data", "{scenes}"],
    "scoring": ["--species", "40", "--photos", "4", "--repeats", "1"],
    "serve": ["{photo}", "--clients", "2", "--seconds", "2"],
    "species_lists": ["--help"],  # needs the models of all folds, which take an hour to train
    "wiki_requests": ["{wiki}"],
    "wrong_groups": ["--n", "1", "--fast"],
}


@pytest.fixture(scope="session")
def few_birds(birds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared collection with four species of each source of photos, and at most six photos of each."""
    few = tmp_path_factory.mktemp("few") / "birds"
    few.mkdir()
    with (birds / "photos.csv").open(encoding="utf-8", newline="") as file:
        photos = list(csv.DictReader(file))
    by_source: dict[str, dict[str, None]] = defaultdict(dict)
    for row in photos:
        by_source[row["source"]][row["scientific_name"]] = None
    chosen = {name for names in by_source.values() for name in sorted(names)[:4]}
    counts: Counter[tuple[str, str]] = Counter()
    with (few / "photos.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(photos[0]))
        writer.writeheader()
        for row in photos:
            group = row["source"], row["scientific_name"]
            if row["scientific_name"] in chosen and counts[group] < 6:
                counts[group] += 1
                writer.writerow(row)
                (few / row["path"]).parent.mkdir(parents=True, exist_ok=True)
                (few / row["path"]).symlink_to(birds / row["path"])
    for name in ("articles.jsonl", "descriptions.jsonl"):
        lines = (birds / name).read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if json.loads(line)["scientific_name"] in chosen]
        (few / name).write_text("\n".join(kept), encoding="utf-8")
    shutil.copy(birds / "species.csv", few)
    return few


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs(
    name: str, few_birds: Path, birds: Path, tmp_path: Path, unpacked: Path, request: pytest.FixtureRequest
) -> None:
    queries = tmp_path / "queries.csv"
    queries.write_text("query_text,supercategory\na duck with a blue speculum,Appearance\n")
    growth = tmp_path / "run.txt"
    growth.write_text("   1,000 build     {'cpu': 8.0, 'anonymous': 95.2}\n")
    places = {
        "growth": growth,
        "birds": few_birds,
        "whole": birds,
        "queries": queries,
        "photo": next((few_birds / "photos").rglob("*.jpg")),
        "scenes": birds.parent / "scenes",
    }
    if "{wiki}" in ARGUMENTS[name]:
        places["wiki"] = request.getfixturevalue("wiki_api_url")
    arguments = [argument.format(**places) for argument in ARGUMENTS[name]]
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "FIELDMARK_HOME": str(unpacked)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip()
