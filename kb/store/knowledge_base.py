"""A knowledge base as recognition and look-ups read it: species, terms, texts, status, vectors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from threading import RLock
from typing import Any, Final, Literal, Self, TypeVar

import numpy as np

from data.arrays import FloatArray, products, rank_descending
from data.codec import loads
from data.contracts import Checklist, Encoders, VectorTable
from data.errors import FieldmarkError, SourceUnavailable, SpaceMismatch, StoreError
from data.files import Closing
from data.records import Source, SpeciesEntry, Status, Taxon, Term
from kb.store.calibrations import calibrations
from kb.store.chroma import Chroma
from kb.store.generations import SERVER, generation_of, private_folder, read_table
from kb.store.layout import CollectionKind, KnowledgeBaseInfo, Layout, check_info, collection_name
from kb.store.ledger import Ledger
from kb.store.rows import end_of_mark, term_of
from kb.store.stage_outputs import BETWEEN_TEXTS, read_origins, source_of, texts_of
from kb.store.status import skipped_photos, status_of

log = logging.getLogger(__name__)
DerivedT = TypeVar("DerivedT")
TIES: Final = 16  # more candidates than wanted, so that of equal scores those with the first ids are among them


class KnowledgeBase(Closing):
    """A knowledge base, read-only, in the state in which `kb.open` found it, also while a writer changes it.

    Args:
        path: the folder.
        language: code of the language whose common names come first; by default that of the knowledge base.

    Raises:
        MissingKnowledgeBase: if there is none at `path`.
        StoreError: if its ledger is missing or damaged.
    """

    def __init__(self, path: str | Path, *, language: str | None = None) -> None:
        self.path = Path(path)
        self.layout = Layout(self.path)
        self.info: KnowledgeBaseInfo = self.layout.require()
        self.language = language or self.info.language
        self.spaces = self.info.spaces
        self.sentence_space = self.info.sentence
        with ExitStack() as opened:
            self.ledger = opened.enter_context(closing(Ledger(self.layout.ledger, read_only=True)))
            self._published = opened.enter_context(generation_of(self.layout, self.ledger))
            check_info(self.layout, self.info, self.ledger)
            self.generation = self._published.name
            """The name of the state that was opened, which every change of the species replaces."""
            self.taxon_ids: tuple[str, ...] = tuple(self.ledger.entry_ids("taxon"))
            """All species, sorted by id; their positions are the species indices of every `VectorTable`."""
            opened.pop_all()
        self._tables: dict[str, VectorTable] = {}
        self._derived: dict[object, Any] = {}
        self._derived_lock = RLock()
        self._folders = ExitStack()

    def derived(self, make: Callable[[Self], DerivedT]) -> DerivedT:
        """Return `make(self)`, computed once and kept until this is closed: the look-up index, for example."""
        with self._derived_lock:
            if make not in self._derived:
                self._derived[make] = make(self)
            found: DerivedT = self._derived[make]
            return found

    def check_space(self, spaces: Sequence[str]) -> None:
        """Raise `SpaceMismatch` unless every one of `spaces` is one of the store's."""
        if set(spaces) - set(self.spaces):
            raise SpaceMismatch(expected=self.spaces, given=tuple(spaces))

    def outdated_anchors(self, encoders: Encoders) -> int:
        """Return the number of species with reference photos encoded with another detector or rule of views."""
        from data.images.views import views_mark  # look-ups need no photos

        end = end_of_mark(views_mark(encoders.detector))
        collections = [collection_name("anchors", space) for space in self.info.anchor_spaces]
        return self.ledger.n_marked_otherwise("encode", collections, end=end)

    @cached_property
    def checklist(self) -> Checklist:
        """The checklist of the last build, or the part of it that is kept; without it, the species are their own."""
        from kb.checklist.shelf import checklist_for
        from kb.checklist.wiki_checklist import WikiChecklist

        name, digest = self.info.checklist, self.info.checklist_digest
        try:
            return checklist_for(self.layout.checklist, name, digest, self.taxa, language=self.language)
        except StoreError as error:  # look-ups go on with what is there
            log.warning("%s. Names are looked up among the species of the knowledge base alone", str(error).rstrip("."))
            return WikiChecklist(self.taxa())

    def summary_texts(self) -> list[str]:
        """Return the summaries of all species in the order of `taxon_ids`; empty where there is none."""
        return [entry.document for entry in self.ledger.entries("taxon")]

    def taxa(self) -> list[Taxon]:
        """Return the taxa of all species in the order of `taxon_ids`, read once."""
        return list(self._taxa)

    @cached_property
    def _taxa(self) -> list[Taxon]:
        records = self.ledger.subjects("taxon")
        return [self._in_language(loads(Taxon, records.pop(taxon_id))) for taxon_id in self.taxon_ids]

    def _in_language(self, taxon: Taxon) -> Taxon:
        """Return a taxon with the names in the language of this knowledge base first, its own before those of birds."""
        if self.language != "en":
            from kb.checklist.bird_names import load_bird_names  # English names are those of the records

            if names := load_bird_names().shown(taxon.scientific_name, self.language):
                taxon = taxon.with_names({self.language: names})
        return taxon.in_language(self.language)

    def species(self, taxon_ids: Sequence[str]) -> list[SpeciesEntry]:
        """Return the entries of these species, in this order.

        Raises:
            KeyError: for an id that is not in the knowledge base.
        """
        found = []
        for taxon_id in taxon_ids:
            entry = self.ledger.entry(taxon_id)
            if entry is None or entry.kind != "taxon":
                raise KeyError(f"no species {taxon_id!r} in {self.path}")
            species = loads(SpeciesEntry, entry.record)
            found.append(replace(species, taxon=self._in_language(species.taxon)))
        return found

    def terms(self) -> list[Term]:
        """Return all terms, sorted by name."""
        found = [term_of(entry.record) for entry in self.ledger.entries("term")]
        return sorted(found, key=lambda term: term.name)

    def chunk_texts(self, chunk_ids: Sequence[str]) -> list[str]:
        """Return the texts of these chunks, in this order.

        Raises:
            KeyError: for an id that is not in the knowledge base.
        """
        return [self._chunks[chunk_id] for chunk_id in chunk_ids]

    @cached_property
    def _chunks(self) -> dict[str, str]:
        entries = (loads(SpeciesEntry, entry.record) for entry in self.ledger.entries("taxon"))
        return {chunk.chunk_id: chunk.text for entry in entries for chunk in entry.chunks}

    def article_text(self, taxon_id: str) -> str | None:
        """Return the plain text that the evidence of a species points into, or None if it has none.

        Texts that the user added come first, then those of web pages, then the article.

        Raises:
            StoreError: if the text is missing or damaged.
        """
        held = texts_of(self.layout, self.ledger, taxon_id)
        hashes = [*(text.sha256 for text in held.texts), *([held.article] if held.article is not None else [])]
        return BETWEEN_TEXTS.join(self.layout.articles.read(sha256).decode() for sha256 in hashes) if hashes else None

    def statement_sources(self, entry: SpeciesEntry) -> list[Source | None]:
        """Return the source of each statement of a summary: the user's text, web page or article that it comes from."""
        texts = texts_of(self.layout, self.ledger, entry.taxon.taxon_id).texts
        statements = entry.summary.statements if entry.summary is not None else ()
        return [source_of(statement, texts, entry.source) for statement in statements]

    def sources_of_text(self, entry: SpeciesEntry, text: str) -> list[Source]:
        """Return the sources of the statements of a species that a text quotes, each once."""
        statements = entry.summary.statements if entry.summary is not None else ()
        pairs = zip(statements, self.statement_sources(entry), strict=True)
        return list(dict.fromkeys(source for each, source in pairs if source is not None and each.text in text))

    def origins(self) -> dict[str, Mapping[str, str]]:
        """Return name of the source -> how it is opened again, of all sources that it was built from."""
        return read_origins(self.ledger)

    def anchor_path(self, sha256: str) -> Path:
        """Return where the picture of an anchor lies."""
        return self.layout.anchors.path_of(sha256)

    def calibration_text(self, preset: str) -> str | None:
        """Return the JSON that `kb calibrate` wrote for a preset, if it did."""
        return calibrations(self.ledger).get(preset)

    def left_out(self) -> list[tuple[str, str, str]]:
        """Return `(name, reason, detail)` of everything that was left out, sorted by reason."""
        return sorted(self.ledger.left_out(), key=lambda row: (row[1], row[0]))

    def skipped_photos(self) -> list[tuple[str, str, str]]:
        """Return `(species: file, reason, detail)` of every photo that was skipped, by species."""
        return skipped_photos(self.ledger)

    def status(self) -> Status:
        """Return the contents in numbers, the failures, and the names left out by reason."""
        return status_of(self.info, self.ledger, self.taxon_ids)

    def query_species(self, vector: FloatArray, n: int) -> list[tuple[str, float]]:
        """Return up to `n` `(taxon_id, cosine)` for a `(dim,)` unit vector of the sentence space, best first."""
        return self.nearest("species", np.asarray(vector)[None], n)[0]

    def query_terms(self, vector: FloatArray, n: int) -> list[tuple[str, float]]:
        """Return up to `n` `(term_id, cosine)` for a `(dim,)` unit vector of the sentence space, best first."""
        return self.nearest("terms", np.asarray(vector)[None], n)[0]

    def nearest(self, kind: Literal["species", "terms"], vectors: FloatArray, n: int) -> list[list[tuple[str, float]]]:
        """Return up to `n` `(id, cosine)` for each of `(q, dim)` unit vectors of the sentence space, ties by id.

        Chroma gives the candidates; their scores are those of the vectors in the opened state, exactly. Without a sound
        Chroma in that state all rows are scored.
        """
        name, queries = collection_name(kind, self.info.sentence), np.asarray(vectors, dtype=np.float32)
        table = self._table(kind, self.info.sentence, (self.info.sentence,))
        if not table.ids:
            return [[] for _ in queries]
        rows = {each: row for row, each in enumerate(table.ids)}
        least = min(n + TIES, len(rows))
        candidates = self._candidates(name, queries, least, len(rows))
        found = []
        for place, query in enumerate(queries):
            at = sorted(rows[each] for each in candidates[place] if each in rows)
            if len(at) < least:
                at = list(range(len(rows)))
            scores = products(table.vectors[at], query)
            found.append([(table.ids[at[best]], float(scores[best])) for best in rank_descending(scores, n)])
        return found

    def _candidates(self, name: str, queries: FloatArray, n: int, n_rows: int) -> list[list[str]]:
        """Return about the `n` nearest ids to each query; none if Chroma cannot be asked, which is not tried again."""
        try:
            if self._chroma is not None:
                found = self._chroma.nearest(name, queries, n)
                self._check_server(self._chroma, name, n_rows)
                return found
        except (StoreError, SourceUnavailable) as error:
            _warn_once(f"{error}")
            self._drop_chroma()
        return [[] for _ in queries]

    def _check_server(self, chroma: Chroma, name: str, n_rows: int) -> None:
        """Raise `StoreError` unless a server gave its last answer in the opened state: writers mark it before."""
        if self.info.chroma and not chroma.is_at(name, self.generation, n_rows):
            raise StoreError("The Chroma server holds another state, of a build or before kb verify")

    def _drop_chroma(self) -> None:
        if (chroma := self.__dict__.get("_chroma")) is not None:
            chroma.close()
        self.__dict__["_chroma"] = None  # for good

    @cached_property
    def _chroma(self) -> Chroma | None:
        """The Chroma on the server, or that in the folder, opened in a private one; None if there is none to ask."""
        try:
            if self.info.chroma:
                if self.ledger.fact(SERVER) != self.info.chroma:
                    raise StoreError("The Chroma server is not filled; kb verify fills it")
                return Chroma(self.info, self.path, self.path)
            if self._published.has_chroma():
                folder = self._folders.enter_context(private_folder())
                self._published.copy_chroma(folder, Path.symlink_to)
                return Chroma(self.info, folder, self.path)
            _warn_once(f"Chroma in {self._published.folder} is missing or damaged; kb verify repairs it")
        except (FieldmarkError, OSError, ImportError) as error:  # ImportError: a system without locks
            _warn_once(str(error))
        return None

    def chunk_vectors(self, space: str) -> VectorTable:
        """Return the vectors of all chunks in a text-image space, by species and position in the summary."""
        return self._table("chunks", space, self.info.text_image)

    def anchor_vectors(self, space: str) -> VectorTable:
        """Return the vectors of all anchors in a text-image or visual space, by species."""
        return self._table("anchors", space, self.info.anchor_spaces)

    def _table(self, kind: CollectionKind, space: str, spaces: Sequence[str]) -> VectorTable:
        if space not in spaces:
            raise SpaceMismatch(expected=spaces, given=(space,))
        name = collection_name(kind, space)
        if name not in self._tables:
            self.ledger.read("SELECT 1")  # raises if this is closed
            if (table := self._published.table(name)) is None:
                _warn_once(f"{self._published.folder}/{name}.npy is missing or damaged; kb verify repairs it")
                if self._chroma is None or name in self._published.lost:
                    hint = f"kb verify --kb {self.path} says how they are restored."
                    raise StoreError(f"The vectors of {self.path} are missing or damaged", hint=hint)
                table = read_table(self._chroma, self.ledger, name, kind)
                self._check_server(self._chroma, name, len(table.ids))
            self._tables[name] = table
        return self._tables[name]

    def close(self) -> None:
        """Close all files."""
        self._tables.clear()
        self._drop_chroma()
        self._folders.close()
        self._published.close()
        self.ledger.close()


@cache  # each question would say so
def _warn_once(message: str) -> None:
    log.warning("%s. The answers are the same, but slower.", message.rstrip("."))
