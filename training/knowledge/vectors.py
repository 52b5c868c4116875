"""Shipped vectors of up to three anchor photos of each species and of its descriptions, or of the text written for it.

The photos are the protocol's anchors `three`, of described species and of all others, so no test photo is among them.
The shipped model knows the species set aside, so they have anchors as well; figures of new species are of its twin.
Neither photos nor sentences can be recovered from the numbers.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from data.arrays import FloatArray
from data.contracts import Detector, Encoders, ImageEncoder
from data.files import sha256_hex
from data.images.decode import read_image
from data.images.views import encode_views, views_of_anchor
from data.records import Taxon
from kb.checklist.avilist import load_checklist
from training.collection import MAX_ANCHORS, Photo, anchor_order, read_collection
from training.knowledge.species import read_written

BATCH = 64
MIN_SAME = 0.999
"""Least share of anchors that keep their nearest neighbour in half precision."""


def make_vectors(folder: Path, encoders: Encoders) -> tuple[bytes, str]:
    """Return the file of vectors in the encoders' spaces, and a one-line summary."""
    by_space: dict[str, ImageEncoder] = {encoder.space: encoder for encoder in encoders.text_image}
    by_space[encoders.visual.space] = encoders.visual
    anchors = anchor_photos(folder)
    paths = [folder / path for _, path in anchors]
    arrays: dict[str, object] = {
        "spaces": np.array(list(by_space)),
        "taxon_ids": np.array([taxon.taxon_id for taxon, _ in anchors]),
        "anchor_ids": np.array([sha256_hex(path.read_bytes()) for path in paths]),
    }
    report = []
    found = _encoded(paths, by_space, encoders.detector)
    for i, (space, vectors) in enumerate(zip(by_space, found, strict=True)):
        arrays[f"vectors_{i}"] = stored = _stored(vectors)
        report.append(f"{space}: {stored.shape[1]} x {stored.dtype}")
    texts = described(folder)
    arrays["text_spaces"] = np.array([encoder.space for encoder in encoders.text_image])
    arrays["text_taxon_ids"] = np.array(list(texts))
    for i, reader in enumerate(encoders.text_image):
        vectors = reader.encode_texts(list(texts.values())).astype(np.float32)
        arrays[f"text_vectors_{i}"] = stored = _stored(vectors)
        report.append(f"{len(texts)} texts: {stored.shape[1]} x {stored.dtype}")
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    n_bytes = len(content.getvalue())
    n_species = len({taxon.taxon_id for taxon, _ in anchors})
    line = f"{len(anchors)} anchors of {n_species} species, {n_bytes / 1e6:.1f} MB; {'; '.join(report)}"
    return content.getvalue(), line


def anchor_photos(folder: Path) -> list[tuple[Taxon, str]]:
    """Return (species, path below `folder`) of the anchors, sorted by species, each species' best first."""
    collection, checklist = read_collection(folder), load_checklist()
    found: dict[str, list[tuple[Taxon, Photo]]] = {}
    for photo in collection.photos:
        taxon = checklist.find(photo.species)
        if taxon is not None and taxon.rank == "species":
            found.setdefault(taxon.taxon_id, []).append((taxon, photo))
    return [
        (taxon, photo.path)
        for key in sorted(found)
        for taxon, photo in sorted(found[key], key=lambda pair: anchor_order(pair[1]))[:MAX_ANCHORS]
    ]


def described(folder: Path) -> dict[str, str]:
    """Return taxon_id -> all its description sentences, else those written for it, one per line, sorted by id."""
    checklist = load_checklist()
    sentences: dict[str, list[str]] = {}
    for description in read_collection(folder).descriptions:
        taxon = checklist.find(description.species)
        if taxon is not None and taxon.rank == "species":
            sentences.setdefault(taxon.taxon_id, []).extend(description.sentences)
    found = {**read_written(), **sentences}
    return {key: "\n".join(found[key]) for key in sorted(found)}


def _encoded(
    paths: Sequence[Path], encoders: Mapping[str, ImageEncoder], detector: Detector | None
) -> list[FloatArray]:
    """Return the vectors of photos in each space, encoded as the reference photos of any knowledge base."""
    rows: list[list[FloatArray]] = [[] for _ in encoders]
    for start in range(0, len(paths), BATCH):
        birds = [views_of_anchor(read_image(path), detector) for path in paths[start : start + BATCH]]
        for found, encoder in zip(rows, encoders.values(), strict=True):
            found.append(encode_views(encoder, birds))
    return [np.concatenate(found).astype(np.float32) for found in rows]


def _stored(vectors: FloatArray) -> FloatArray | np.ndarray[tuple[int, ...], np.dtype[np.float16]]:
    """Return the vectors in half precision if that preserves nearest neighbours."""
    half = vectors.astype(np.float16)
    same = _nearest(vectors) == _nearest(half.astype(np.float32))
    return half if same.mean() >= MIN_SAME else vectors


def _nearest(vectors: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    similarities = vectors @ vectors.T
    np.fill_diagonal(similarities, -np.inf)
    return np.asarray(similarities.argmax(axis=1), dtype=np.intp)
