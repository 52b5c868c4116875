"""Photos and species with random vectors, and the figures of their retrieval by plain loops."""

import hashlib
from functools import cache
from typing import Any

import numpy as np
from PIL import Image

from data.arrays import as_unit_rows
from data.contracts import Encoders
from recognize.encoded_photos import EncodedPhotos
from recognize.photos import encode_pictures
from tests.recognize import vr_rag_reference as reference
from tests.toy.store import MemoryStore, Sketch
from tests.toy.words import PlainWords


class Hashed:
    """A `TextImageEncoder` with random vectors, the same for the same input."""

    max_tokens = None

    def __init__(self, name: Any, dim: Any) -> None:
        self.name, self.dim, self.space = name, dim, f"hashed/{name}"

    def count_tokens(self, text: Any) -> Any:
        return len(text.split())

    def _rows(self, contents: Any) -> Any:
        seeds = [hashlib.sha256(self.space.encode() + content).digest()[:8] for content in contents]
        rows = [np.random.default_rng(int.from_bytes(seed)).standard_normal(self.dim) for seed in seeds]
        return as_unit_rows(rows) if rows else np.empty((0, self.dim), dtype=np.float32)

    def encode_texts(self, texts: Any) -> Any:
        return self._rows([text.encode() for text in texts])

    def encode_images(self, images: Any) -> Any:
        return self._rows([image.tobytes() for image in images])


TEXT_IMAGE = tuple(Hashed(name, dim) for name, dim in (("a", 5), ("b", 6), ("c", 7)))
ENCODERS = Encoders(profile="paper", text_image=TEXT_IMAGE, visual=Hashed("v", 6), sentence=PlainWords())
NAMES = [f"{genus} {epithet}" for genus in ("Alba", "Nigra", "Rubra") for epithet in "abcdefghijklmno"]


def picture(number: Any) -> Any:
    return Image.new("RGB", (2, 2), (number % 256, number // 256, 7))


def sketch(number: Any) -> Sketch:
    texts = [f"Text {number} {i}." for i in range(number % 3 + (number < 40))]
    return Sketch(texts=texts, pictures=[picture(1000 + 10 * number + i) for i in range(number % 4)], common_name=None)


STORE = MemoryStore({name: sketch(i) for i, name in enumerate(NAMES)}, ENCODERS)


def encoded(pictures: Any) -> EncodedPhotos:
    n = len(pictures)
    return EncodedPhotos(
        positions=np.arange(n), queries=encode_pictures(ENCODERS, pictures), hashes=np.zeros(n, dtype=np.uint64),
        errors={},
    )  # fmt: skip


PHOTOS = encoded([picture(i) for i in range(60)])
LABELS = [STORE.taxon_ids[(7 * i) % 20] for i in range(60)]


def world(store: Any, kept: Any) -> Any:
    """Return the arrays of a store for the plain loops, in the spaces of the encoders in `kept`."""
    chunks = [store.chunk_vectors(TEXT_IMAGE[i].space) for i in kept]
    anchors = store.anchor_vectors("hashed/v")
    return reference.World(
        n_species=len(store.taxon_ids), chunks=[table.vectors.tolist() for table in chunks],
        chunk_owners=chunks[0].owners.tolist(), anchors=anchors.vectors.tolist(), anchor_owners=anchors.owners.tolist(),
        images=[store.anchor_vectors(TEXT_IMAGE[i].space).vectors.tolist() for i in kept],
        image_owners=anchors.owners.tolist(),
    )  # fmt: skip


@cache
def ranked_by_loops(store: Any, preset: str = "vr-rag-v1", kept: Any = (0, 1, 2)) -> Any:
    """Return (species, species of chunks) of each photo by name."""
    its, ids, found = world(store, kept), store.taxon_ids, []
    for i, visual in enumerate(PHOTOS.queries.visual):
        text = [PHOTOS.queries.text_image[at][i].tolist() for at in kept]
        if preset == "vr-rag-v1":
            chunks, species, *_ = reference.v1(its, text, visual.tolist(), 30)
        else:
            chunks, species, _ = reference.text_only(its, text, 30)
        found.append(([ids[i] for i in species], [ids[its.chunk_owners[row]] for row in chunks]))
    return found


def figures_by_loops(store: Any, preset: str, kept: Any = (0, 1, 2)) -> Any:
    sums = dict.fromkeys(("top-1", "hit@30", "MRR@5", "MRR@10", "chunk MRR@10", "genus"), 0.0)
    for (species, chunks), label in zip(ranked_by_loops(store, preset, kept), LABELS, strict=True):
        rank, chunk_rank = (side.index(label) + 1 if label in side else 10**9 for side in (species, chunks))
        sums["top-1"] += rank == 1
        sums["hit@30"] += rank <= 30
        sums["MRR@5"] += 1 / rank if rank <= 5 else 0
        sums["MRR@10"] += 1 / rank if rank <= 10 else 0
        sums["chunk MRR@10"] += 1 / chunk_rank if chunk_rank <= 10 else 0
        sums["genus"] += species[0].split("-")[0] == label.split("-")[0]
    return {name: total / len(LABELS) for name, total in sums.items()}
