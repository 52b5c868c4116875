"""Knowledge base in memory: a few species with texts and photos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data.arrays import FloatArray
from data.contracts import Encoders, VectorTable
from data.errors import SpaceMismatch
from data.files import sha256_hex
from data.records import Anchor, Chunk, SpeciesEntry, Statement, Summary, Taxon, Term, taxon_id

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """Texts of a species (each becomes a chunk) and photos (each becomes an anchor)."""

    texts: Sequence[str] = ()
    pictures: Sequence[Image] = ()
    common_name: str | None = None
    credit: str = "own picture"
    lineage: Mapping[str, str] = field(default_factory=dict)


class MemoryStore:
    """A `KnowledgeStore` of a few texts and photos; nothing is written to disk."""

    def __init__(self, species: Mapping[str, Sketch], encoders: Encoders) -> None:  # scientific name -> sketch
        self.path, self.generation = Path("memory"), "memory"
        self.spaces = encoders.spaces
        sketches = {taxon_id(name): (name, sketch) for name, sketch in species.items()}
        self.taxon_ids = tuple(sorted(sketches))
        self._entries = {key: _entry(key, *sketches[key]) for key in self.taxon_ids}
        owners = {key: i for i, key in enumerate(self.taxon_ids)}
        chunks = [chunk for key in self.taxon_ids for chunk in self._entries[key].chunks]
        anchors = [anchor for key in self.taxon_ids for anchor in self._entries[key].anchors]
        pictures = [picture for key in self.taxon_ids for picture in sketches[key][1].pictures]
        self._texts = {chunk.chunk_id: chunk.text for chunk in chunks}

        def table(items: Sequence[Chunk | Anchor], ids: Sequence[str], vectors: FloatArray) -> VectorTable:
            rows = np.array([owners[item.subject_id] for item in items], dtype=np.intp)
            return VectorTable(ids=tuple(ids), owners=rows, vectors=vectors)

        chunk_ids, anchor_ids = [c.chunk_id for c in chunks], [a.anchor_id for a in anchors]
        self._chunks = {
            encoder.space: table(chunks, chunk_ids, encoder.encode_texts([chunk.text for chunk in chunks]))
            for encoder in encoders.text_image
        }
        self._anchors = {
            encoder.space: table(anchors, anchor_ids, encoder.encode_images(pictures))
            for encoder in (*encoders.text_image, encoders.visual)
        }

    def chunk_vectors(self, space: str) -> VectorTable:
        self._check(space, self._chunks)
        return self._chunks[space]

    def anchor_vectors(self, space: str) -> VectorTable:
        self._check(space, self._anchors)
        return self._anchors[space]

    def species(self, taxon_ids: Sequence[str]) -> list[SpeciesEntry]:
        return [self._entries[taxon_id] for taxon_id in taxon_ids]

    def chunk_texts(self, chunk_ids: Sequence[str]) -> list[str]:
        return [self._texts[chunk_id] for chunk_id in chunk_ids]

    def terms(self) -> list[Term]:
        return []

    def calibration_text(self, preset: str) -> str | None:
        return None

    def check_space(self, spaces: Sequence[str]) -> None:
        if not set(spaces) <= set(self.spaces):
            raise SpaceMismatch(expected=self.spaces, given=spaces)

    def _check(self, space: str, tables: Mapping[str, VectorTable]) -> None:
        if space not in tables:
            raise SpaceMismatch(expected=tuple(tables), given=(space,))


def _entry(taxon_id: str, name: str, sketch: Sketch) -> SpeciesEntry:
    taxon = Taxon(
        taxon_id=taxon_id,
        scientific_name=name,
        rank="species",
        common_names=(sketch.common_name,) if sketch.common_name else (),
        lineage=sketch.lineage,
    )
    summary = Summary(statements=tuple(Statement(text=text) for text in sketch.texts), scope="facts")
    chunks: list[Chunk] = []
    start = 0
    for text in sketch.texts:
        end = start + len(text)
        digest = sha256_hex(f"{taxon_id}:{start}:{text}")[:16]
        chunks.append(Chunk(chunk_id=digest, subject_id=taxon_id, text=text, start=start, end=end))
        start = end + 1
    anchors = tuple(
        Anchor(
            anchor_id=f"{taxon_id}/{number}",
            subject_id=taxon_id,
            sha256=sha256_hex(picture.tobytes()),
            author=sketch.credit,
            licence="private",
        )
        for number, picture in enumerate(sketch.pictures, start=1)
    )
    return SpeciesEntry(taxon=taxon, summary=summary if sketch.texts else None, chunks=tuple(chunks), anchors=anchors)
