"""A finished knowledge base, as recognition and look-ups read it.

Chroma is the store. Scoring a photo needs every vector at once, so each collection is mirrored in `cache/` as a mapped
matrix, made from Chroma when the knowledge base has changed. With a warm cache nothing here imports chromadb.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from data.arrays import FloatArray
from data.codec import loads
from data.contracts import VectorTable
from data.errors import SpaceMismatch, StoreError
from data.files import turn
from data.records import SpeciesEntry, Status, Taxon, Term
from data.vectors import read_table, write_tables
from kb.store.layout import CollectionKind, KnowledgeBaseInfo, Layout, collection_name
from kb.store.ledger import Entry, Ledger
from kb.store.snapshots import is_newest, nearest, table_of

if TYPE_CHECKING:
    from kb.store.chroma import Collections  # imports chromadb when used; a warm cache needs none of it

DerivedT = TypeVar("DerivedT")


class KnowledgeBase:
    """A knowledge base on disk, read-only, in the state in which it was opened. Open one with `kb.open`.

    It keeps to that state while a writer goes on; opened again, it has the new one.

    Args:
        path: the folder.

    Raises:
        MissingKnowledgeBase: if there is none at `path`.
        StoreError: if its ledger cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.layout = Layout(Path(path))
        self.info: KnowledgeBaseInfo = self.layout.require()
        """Contents of `kb.toml`."""
        if not self.layout.ledger.is_file():
            raise StoreError(f"{self.layout.ledger} is missing", hint="run the kb build that made it once more")
        self.ledger = Ledger(self.layout.ledger, read_only=True)
        # Positions in `taxon_ids` mean something only together with the matrices of the same generation, and entries
        # only with both: all that is read until the ledger is closed is of one state.
        self.ledger.hold()
        self._generation = self.ledger.fact("generation") or ""
        self._columns = self.ledger.entry_columns("taxon")
        self._tables: dict[str, VectorTable] = {}
        self._derived: dict[object, Any] = {}
        self._derived_lock = RLock()

    @property
    def path(self) -> Path:
        """The folder."""
        return self.layout.root

    @property
    def spaces(self) -> tuple[str, ...]:
        """The encoder spaces, each once."""
        return self.info.spaces

    def derived(self, make: Callable[[Self], DerivedT]) -> DerivedT:
        """Return `make(self)`, made on first use and held as long as this is open: the look-up index, for example."""
        with self._derived_lock:
            if make not in self._derived:
                self._derived[make] = make(self)
            found: DerivedT = self._derived[make]
            return found

    def check_space(self, spaces: Sequence[str]) -> None:
        """Raise `SpaceMismatch` unless every one of `spaces` is one of the store's."""
        if set(spaces) - set(self.spaces):
            raise SpaceMismatch(expected=self.spaces, given=tuple(spaces))

    # --- what it knows -------------------------------------------------------------------------------------------

    @cached_property
    def taxon_ids(self) -> tuple[str, ...]:
        """All species, sorted by id; their positions are the species indices of every `VectorTable`."""
        return tuple(row[0] for row in self._columns)

    def summary_texts(self) -> list[str]:
        """Return the summaries of all species in the order of `taxon_ids`; empty where there is none."""
        return [row[2] for row in self._columns]

    def taxa(self) -> list[Taxon]:
        """Return the taxa of all species in the order of `taxon_ids`."""
        records = self.ledger.subjects("taxon")
        return [loads(Taxon, records[taxon_id]) for taxon_id in self.taxon_ids]

    def names(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Return `(taxon_id, scientific name, common names)` of all species in the order of `taxon_ids`."""
        return [(taxon.taxon_id, taxon.scientific_name, taxon.common_names) for taxon in self.taxa()]

    def species(self, taxon_ids: Sequence[str]) -> list[SpeciesEntry]:
        """Return the entries of these species, in this order.

        Raises:
            KeyError: for an id that is not in the knowledge base.
        """
        return [loads(SpeciesEntry, entry.record) for entry in self.ledger.entries("taxon", taxon_ids)]

    def terms(self) -> list[Term]:
        """Return all terms, sorted by name."""
        found = [loads(Term, entry.record) for entry in self.ledger.entries("term")]
        return sorted(found, key=lambda term: term.name)

    def chunk_texts(self, chunk_ids: Sequence[str]) -> list[str]:
        """Return the texts of these chunks, in this order, from Chroma, or what a writer took out from the ledger.

        Raises:
            KeyError: for an id that is not in the knowledge base.
        """
        name = collection_name("chunks", self.info.text_image[0])
        found: dict[str, str] = {}
        for page in self._collections.read(name, list(dict.fromkeys(chunk_ids))):
            found |= {row.id: row.document for row in page}
        if any(chunk_id not in found for chunk_id in chunk_ids):
            entries = (loads(SpeciesEntry, entry.record) for entry in self.ledger.entries("taxon"))
            found |= {chunk.chunk_id: chunk.text for entry in entries for chunk in entry.chunks}
        return [found[chunk_id] for chunk_id in chunk_ids]

    def article_text(self, taxon_id: str) -> str | None:
        """Return the plain text that the evidence of a species points into, or None if it has none.

        Texts that the user added come first, then the article.

        Raises:
            StoreError: if the text is missing or damaged.
        """
        from kb.store.additions import STAGE, Addition, joined_text
        from kb.store.stage_outputs import DistilOutput

        distilled, added = (self.ledger.step(taxon_id, stage) for stage in ("distil", STAGE))
        output = loads(DistilOutput, distilled.output) if distilled and distilled.output else DistilOutput()
        addition = loads(Addition, added.output) if added and added.output else Addition()
        article = None if output.text_sha256 is None else self.layout.articles.read(output.text_sha256).decode()
        if not addition.texts:
            return article
        return joined_text([self.layout.articles.read(text.sha256).decode() for text in addition.texts], article)

    def origins(self) -> dict[str, Mapping[str, str]]:
        """Return name of the source -> how it is opened again, of all sources that it was built from."""
        from kb.store.origins import read_origins

        return read_origins(self.ledger)

    def anchor_path(self, sha256: str) -> Path:
        """Return where the picture of an anchor lies."""
        return self.layout.anchors.path_of(sha256)

    def left_out(self) -> list[tuple[str, str, str]]:
        """Return `(name, reason, detail)` of everything that was left out, sorted by reason."""
        return sorted(self.ledger.left_out(), key=lambda row: (row[1], row[0]))

    def status(self) -> Status:
        """Return what it holds, what failed and what was left out by reason."""
        entries = [loads(SpeciesEntry, entry.record) for entry in self.ledger.entries("taxon")]
        left_out = Counter(reason for _, reason, _ in self.ledger.left_out())
        rows = [entry.rows for entry in self.ledger.entries("taxon")]
        chunks = collection_name("chunks", self.info.text_image[0])
        return Status(
            species=len(entries),
            articles=sum(entry.source is not None for entry in entries),
            summaries=sum(entry.summary is not None for entry in entries),
            chunks=sum(len(row.get(chunks, ())) for row in rows),
            anchors=sum(len(entry.anchors) for entry in entries),
            terms=len(self.ledger.entry_columns("term")),
            profile=self.info.profile,
            spaces=self.info.spaces,
            failures=tuple(self.ledger.failures()),
            left_out=dict(sorted(left_out.items())),
            marks=dict(sorted(Counter(mark for entry in entries for mark in entry.marks).items())),
            skipped_photos=dict(sorted(self._skipped_photos().items())),
        )

    def _skipped_photos(self) -> Counter[str]:
        from kb.store.stage_outputs import AnchorOutput

        steps = self.ledger.steps("anchor").values()
        outputs = [loads(AnchorOutput, step.output) for step in steps if step.status == "done" and step.output]
        return Counter(photo.reason for output in outputs for photo in output.skipped)

    # --- nearest neighbours, asked of Chroma ---------------------------------------------------------------------

    @cached_property
    def _collections(self) -> Collections:
        from kb.store.chroma import Collections

        return Collections(self.layout, self.info)

    def query_species(self, vector: FloatArray, n: int) -> list[tuple[str, float]]:
        """Return up to `n` `(taxon_id, cosine)` for a `(dim,)` unit vector of the sentence space, best first."""
        return self._query("species", vector, n)

    def query_terms(self, vector: FloatArray, n: int) -> list[tuple[str, float]]:
        """Return up to `n` `(term_id, cosine)` for a `(dim,)` unit vector of the sentence space, best first."""
        return self._query("terms", vector, n)

    def _query(self, kind: CollectionKind, vector: FloatArray, n: int) -> list[tuple[str, float]]:
        name = collection_name(kind, self.info.sentence)
        if name not in self._tables:
            found = self._collections.query(name, vector, n)
            if is_newest(self.layout, self._generation):  # asked afterwards: a writer may have begun meanwhile
                if not found and n > 0 and self._entries_of(kind):
                    where = self.info.chroma or str(self.layout.chroma)
                    raise StoreError(f"{where} holds nothing of {self.path}", hint="kb verify writes it there")
                return found
            self._tables[name] = self._held_table(name, kind)
        return nearest(self._tables[name], vector, n)

    def _held_table(self, name: str, kind: CollectionKind) -> VectorTable:
        return table_of(self.ledger, self._entries_of(kind), name, kind)

    def _entries_of(self, kind: CollectionKind) -> list[Entry]:
        return self.ledger.entries("term" if kind == "terms" else "taxon")

    # --- all vectors at once -------------------------------------------------------------------------------------

    def chunk_vectors(self, space: str) -> VectorTable:
        """Return the text vectors of all chunks in a text-image space, by species and place in the summary."""
        return self._table("chunks", space, self.info.text_image)

    def anchor_vectors(self, space: str) -> VectorTable:
        """Return the vectors of all anchors in a text-image or visual space, by species and the article's order."""
        return self._table("anchors", space, self.info.anchor_spaces)

    def _table(self, kind: CollectionKind, space: str, spaces: Sequence[str]) -> VectorTable:
        if space not in spaces:
            raise SpaceMismatch(expected=spaces, given=(space,))
        name = collection_name(kind, space)
        if name not in self._tables:
            table = read_table(self.layout.cache, self._generation, name)
            if table is None and is_newest(self.layout, self._generation):
                warm_cache(self.layout, self.ledger, self._collections)
                if is_newest(self.layout, self._generation):
                    table = read_table(self.layout.cache, self._generation, name)
            if table is None:  # a writer has gone on
                table = self._held_table(name, kind)
            self._tables[name] = table
        return self._tables[name]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all files."""
        self._tables.clear()
        self.ledger.close()
        if "_collections" in self.__dict__:
            self._collections.close()


def matrix_names(collections: Collections) -> list[str]:
    """Return the collections that are mirrored as matrices: those that photos are scored against."""
    return [name for name, (kind, _) in collections.names.items() if kind in ("chunks", "anchors")]


def tables_from_chroma(ledger: Ledger, collections: Collections) -> tuple[str, Mapping[str, VectorTable]]:
    """Return the generation, and every chunk and anchor collection as a table: rows by species, then by position."""
    with ledger.snapshot():
        generation = ledger.fact("generation") or ""
        owners = {row[0]: index for index, row in enumerate(ledger.entry_columns("taxon"))}
    tables: dict[str, VectorTable] = {}
    for name in matrix_names(collections):
        keys: list[tuple[int, int, str]] = []  # owner, position, item id: the order of the rows
        vectors: list[FloatArray] = []
        for page in collections.read(name):
            # A writer is ahead of its ledger for a moment; what the ledger does not know yet comes next generation.
            known = [row for row in page if row.metadata["taxon_id"] in owners]
            keys += [
                (owners[str(row.metadata["taxon_id"])], int(row.metadata["position"]), str(row.metadata["item_id"]))
                for row in known
            ]
            vectors += [row.vector for row in known]
        rows = sorted(range(len(keys)), key=keys.__getitem__)
        tables[name] = VectorTable(
            ids=tuple(keys[row][2] for row in rows),
            owners=np.asarray([keys[row][0] for row in rows], dtype=np.intp),
            vectors=np.stack([vectors[row] for row in rows]) if rows else np.zeros((0, 1), dtype=np.float32),
        )
    return generation, tables


def warm_cache(layout: Layout, ledger: Ledger, collections: Collections) -> None:
    """Write the matrices of the present generation unless they are there; of several processes one does it."""
    with turn(layout.cache_lock):
        generation = ledger.fact("generation") or ""
        if any(read_table(layout.cache, generation, name) is None for name in matrix_names(collections)):
            write_tables(layout.cache, *tables_from_chroma(ledger, collections))
