"""Accuracy before and after `kb learn`: 5, 20 and 100 confirmed photos of the 40 species of a site.

    python -m benchmarks.learn --data ../shared/birds [--draws 3]

The site's species are the 40 with most photos that are no reference photos and that the encoders were not trained on.
Half of the photos of each, ten at most, are asked about before and after; near-duplicates of these are not taught. The
confirmed ones are drawn at random from the others and learnt by the command itself, in a copy of the shipped
knowledge. First right: the share of photos with the right species first, by photo. Its species taught: the same, of
the photos whose species was among the confirmed ones.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import kb
import recognize
from data.records import Answer, Identification, taxon_id
from recognize.corrections import NAME, Corrections
from recognize.encoded_photos import encode_photos, near_duplicates, training_hashes
from recognize.scoring.knowledge import Queries, read_knowledge
from recognize.scoring.presets import Settings, score
from training.starter.protocol import read_study_collection
from training.tables import decimals, markdown

N_SPECIES = 40
SIZES = (5, 20, 100)
MOST_ASKED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Photos of a site's species."""

    asked: Queries
    truths: list[str]
    """Species of each photo that is asked about."""
    taught: list[tuple[str, Path]]
    """Species and photo of birds to confirm."""


def read_site(folder: Path, taxon_ids: frozenset[str]) -> Site:
    """Return the photos of the site."""
    encoders = recognize.load_encoders("starter")
    collection = read_study_collection(folder)
    references = {collection.photos[i].path for mode in ("three", "wiki") for i in collection.anchors(mode)}
    chosen = [p for p in collection.photos if p.path not in references and taxon_id(p.species) in taxon_ids]
    photos = encode_photos(encoders, [folder / photo.path for photo in chosen])
    photos = photos.only(~near_duplicates(photos.hashes, training_hashes(encoders)))
    rows: dict[str, list[int]] = defaultdict(list)
    for row, at in enumerate(photos.positions.tolist()):
        rows[chosen[at].species].append(row)
    site = sorted(rows, key=lambda name: (-len(rows[name]), name))[:N_SPECIES]
    rng = np.random.default_rng(0)
    asked, others = list[int](), list[int]()
    for name in site:
        order = rng.permutation(rows[name]).tolist()
        n = min(len(order) // 2, MOST_ASKED)
        asked += order[:n]
        others += order[n:]
    is_near = near_duplicates(photos.hashes[others], photos.hashes[asked])
    taught = [row for row, near in zip(others, is_near.tolist(), strict=True) if not near]
    of = [chosen[at] for at in photos.positions.tolist()]
    return Site(
        asked=photos.queries[np.array(asked)],
        truths=[of[row].species for row in asked],
        taught=[(of[row].species, folder / of[row].path) for row in taught],
    )


def is_right(path: Path, site: Site) -> list[bool]:
    """Return for each photo asked about whether a knowledge base puts the right species first."""
    encoders = recognize.load_encoders("starter")
    with kb.open(path) as store:
        rankings = score("default", read_knowledge(store, encoders), site.asked, Settings(profile=encoders.profile))
        firsts = [store.taxon_ids[int(ranking.species[0])] for ranking in rankings]
    return [first == taxon_id(truth) for first, truth in zip(firsts, site.truths, strict=True)]


def learnt(shipped: Path, confirmed: list[tuple[str, Path]], work: Path) -> Path:
    """Return a copy of the shipped knowledge that learnt the confirmed photos."""
    photos, copy = work / "photos", work / "site.kb"
    for old in (photos, copy):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(shipped, copy)
    photos.mkdir()
    said = []
    for number, (name, photo) in enumerate(confirmed):
        file = shutil.copy(photo, photos / f"{number}{photo.suffix}")
        row = Identification(image=str(file), preset="default", status="not_sure")
        said.append((row, Answer(rank="species", name=name, confidence=None)))
    Corrections(photos / NAME).add(said)
    command = (sys.executable, "-c", "from cli.main import main; main()", "learn", str(photos), "--kb", str(copy))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return copy


def table(folder: Path, n_draws: int) -> str:
    """Return a row for each number of confirmed photos, means over the draws."""
    with kb.open() as store:
        shipped, taxon_ids = store.path, frozenset(store.taxon_ids)
    site = read_site(folder, taxon_ids)
    before = np.array(is_right(shipped, site))
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for size in SIZES:
            found = []
            for draw in range(n_draws):
                order = np.random.default_rng(draw).permutation(len(site.taught))[:size]
                confirmed = [site.taught[i] for i in order.tolist()]
                names = {name for name, _ in confirmed}
                mine = np.array([truth in names for truth in site.truths])
                after = np.array(is_right(learnt(shipped, confirmed, Path(work)), site))
                found.append((len(names), before.mean(), after.mean(), before[mine].mean(), after[mine].mean()))
                sys.stderr.write(f"{size} photos, draw {draw}: {found[-1]}\n")
            means = np.mean(found, axis=0).tolist()
            rows.append([str(size), f"{means[0]:.0f}", *map(decimals, means[1:])])
    heading = ["confirmed", "species", "before", "after", "its species taught: before", "after"]
    counts = f"{len(site.truths)} photos asked about, {len(site.taught)} to draw from"
    return "\n".join([counts, "", *markdown(heading, rows)])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=3)
    arguments = parser.parse_args()
    sys.stdout.write(table(arguments.data, arguments.draws) + "\n")


if __name__ == "__main__":
    main()
