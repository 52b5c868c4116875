"""Detection of an unsuitable species list, from photos with confident answers.

    python -m benchmarks.list_fit --data ../shared/birds

Identifies the hidden half of the starter protocol with the shipped knowledge, like `kb identify --species-list`. The
lists are those of `benchmarks.species_lists` and five common birds of European gardens and lakes. `kb identify` advises
the share of unlisted species among photos that are confident without a list; all photos are identified again with that
share.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import kb
from benchmarks.species_lists import LISTS, PAIRS, PHOTOS
from cli.common import wiring
from cli.common.settings import resolve
from kb.shipped import unpack_shipped
from kb.store.knowledge_base import KnowledgeBase
from recognize import SpeciesList, load_encoders
from recognize.confidence.prior import ListFit
from recognize.settings import MIN_CONFIDENCE, OFF_LIST_SHARE, UNKNOWN_PRIOR
from training.collection import Photo, read_collection
from training.tables import decimals, markdown

FIVE = ("Ardea cinerea", "Anas platyrhynchos", "Buteo buteo", "Parus major", "Erithacus rubecula")


def identify(
    store: KnowledgeBase, folder: Path, photos: Sequence[Photo], listed: set[str], share: float | None
) -> tuple[float, ListFit]:
    """Return the top-1 accuracy and the fit of the list; without a share no list is used."""
    taxon_ids = frozenset(taxon.taxon_id for taxon in store.taxa() if taxon.scientific_name in listed)
    recognizer = wiring.make_recognizer(
        store, preset="default", k=1, min_confidence=MIN_CONFIDENCE, unknown_prior=UNKNOWN_PRIOR,
        species_list=None if share is None else SpeciesList(taxon_ids=taxon_ids, off_list_share=share),
    )  # fmt: skip
    fit = ListFit(listed, OFF_LIST_SHARE)
    n_right = 0
    rows = recognizer.identify([folder / photo.path for photo in photos])
    for photo, row in zip(photos, (row for row in rows if row.bird == 1), strict=True):
        n_right += bool(row.candidates) and row.candidates[0].scientific_name == photo.species
        fit.add(row)
    return n_right / len(photos), fit


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of photos.csv")
    folder = parser.parse_args().data
    collection = read_collection(folder)
    hidden = [collection.photos[i] for i in collection.hidden]
    lists = {
        name: {photo.species for photo in collection.photos if photo.source == source} for name, source in LISTS.items()
    }
    cases = [
        (place, name, [photo for photo in hidden if photo.source in PHOTOS[place]], lists[name])
        for place, name in PAIRS
    ]
    missing = set(range(len(collection.photos))) - set(np.flatnonzero(collection.labels >= 0).tolist())
    nepal = [collection.photos[i] for i in sorted(missing) if collection.photos[i].source in PHOTOS["Nepal"]]
    cases += [("Nepal, not in the knowledge base", "Nepal", nepal, lists["Nepal"])]
    cases += [("all", "five birds", hidden, set(FIVE))]
    head = ["photos", "list", "n", "unlisted", "confident", "confident, unlisted", "confident, changed"]
    head += ["top-1 without", "share .1", "share advised", "with that"]
    rows: list[list[object]] = []
    with kb.open(unpack_shipped(resolve().home, load_encoders("starter"))) as store:
        for place, name, photos, listed in cases:
            without, _ = identify(store, folder, photos, listed, None)
            first, fit = identify(store, folder, photos, listed, OFF_LIST_SHARE)
            off = sum(photo.species not in listed for photo in photos) / len(photos)
            again = "" if fit.fits else decimals(identify(store, folder, photos, listed, fit.share_off)[0])
            advised = "" if fit.fits else decimals(fit.share_off)
            row = [place, name, len(photos), decimals(off), fit.n_sure, fit.n_sure_off, fit.n_sure_changed]
            rows.append([*row, decimals(without), decimals(first), advised, again])
    sys.stdout.write("\n".join(markdown(head, rows)) + "\n")


if __name__ == "__main__":
    main()
