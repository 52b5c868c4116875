"""A knowledge base in memory for look-ups, and a bag-of-words sentence encoder."""

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, TypeVar

import numpy as np

from data.arrays import FloatArray, as_unit_rows, rank_descending
from data.contracts import TextEncoder
from data.errors import MissingRequirement
from data.records import Source, SpeciesEntry, Taxon, Term
from data.starter.knowledge import read_terms
from kb.checklist.avilist import load_checklist

DerivedT = TypeVar("DerivedT")


class BagOfWords:
    """A `TextEncoder`: every word adds to one of `dim` numbers; a text without letters is a zero vector."""

    name = "bag-of-words"

    def __init__(self, *, dim: int = 2048, max_tokens: int | None = None) -> None:
        self.dim = dim
        self.max_tokens = max_tokens

    @property
    def space(self) -> str:
        return f"bag-of-words/{self.dim}"

    def count_tokens(self, text: str) -> int:
        """Return the number of words and marks, plus two for begin and end as in CLIP."""
        return len(re.findall(r"\w+|[^\w\s]", text)) + 2

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"[^\W\d_]+", text.lower()):
                row[int(hashlib.sha256(word.encode()).hexdigest(), 16) % self.dim] += 1
        return as_unit_rows(rows)


class ShelfStore:
    """A store for look-ups, over entries in a dict; vectors are compared one by one."""

    path = Path("shelf.kb")

    def __init__(self, entries: Sequence[SpeciesEntry], terms: Sequence[Term], encoder: TextEncoder) -> None:
        self.sentence_space = encoder.space
        self.checklist = load_checklist()
        self._entries = {entry.taxon.taxon_id: entry for entry in sorted(entries, key=lambda e: e.taxon.taxon_id)}
        self._derived: dict[object, Any] = {}
        removed = [(term.name, "term: removed by the user", "") for term in read_terms()]
        self.ledger = SimpleNamespace(left_out=lambda: removed)
        self._terms = sorted(terms, key=lambda term: term.name)
        self._species_vectors = encoder.encode_texts(self.summary_texts())
        self._term_vectors = encoder.encode_texts([f"{t.name}. {t.definition} {t.look_for}" for t in self._terms])

    def derived(self, make: Callable[[Self], DerivedT]) -> DerivedT:
        if make not in self._derived:
            self._derived[make] = make(self)
        found: DerivedT = self._derived[make]
        return found

    @property
    def layout(self) -> Any:
        raise MissingRequirement("a store in memory stores nothing")

    @property
    def taxon_ids(self) -> tuple[str, ...]:
        return tuple(self._entries)

    def taxa(self) -> list[Taxon]:
        return [entry.taxon for entry in self._entries.values()]

    def summary_texts(self) -> list[str]:
        return [entry.summary.text if entry.summary else "" for entry in self._entries.values()]

    def species(self, taxon_ids: Sequence[str]) -> list[SpeciesEntry]:
        return [self._entries[taxon_id] for taxon_id in taxon_ids]

    def sources_of_text(self, entry: SpeciesEntry, text: str) -> list[Source]:
        """Return the source of the article, from which all sentences are."""
        del text
        return [entry.source] if entry.source is not None and entry.summary is not None else []

    def terms(self) -> list[Term]:
        return self._terms

    def query_species(self, vector: FloatArray, n: int) -> list[tuple[str, float]]:
        return _nearest(self._species_vectors, list(self._entries), vector, n)

    def query_terms(self, vector: FloatArray, n: int) -> list[tuple[str, float]]:
        return _nearest(self._term_vectors, [term.term_id for term in self._terms], vector, n)


def _nearest(vectors: FloatArray, ids: list[str], vector: FloatArray, n: int) -> list[tuple[str, float]]:
    if not ids:
        return []
    similarities = vectors @ vector
    return [(ids[row], float(similarities[row])) for row in rank_descending(similarities, n)]
