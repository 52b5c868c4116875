"""Look-up index of an open knowledge base: names, words of summaries and terms, stored answers, shipped glossary.

SQLite's FTS5 ranks the words. Databases made from all summaries are kept in `cache/`, so that a new process need not
read the summaries.
"""

from __future__ import annotations

import logging
import math
import sqlite3
from collections.abc import Callable, Iterable
from copy import copy
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock

import numpy as np

import data.lexicon
from data.arrays import FloatArray
from data.contracts import TextEncoder
from data.errors import FieldmarkError, MissingRequirement, SpaceMismatch
from data.files import SelfClosing, sha256_hex, write_atomic
from data.lexicon.words import WHOLE_WORD, tokens
from data.records import Term, WebAnswer
from data.starter.knowledge import read_terms
from fieldmark import fieldmark_version
from kb.checklist.names import fold
from kb.lookup.mentions import NameFinder
from kb.shipped import learnt_terms
from kb.store.generations import prefix_of_lookups
from kb.store.knowledge_base import KnowledgeBase
from kb.store.stage_outputs import removed

log = logging.getLogger(__name__)


def kept(store: KnowledgeBase, name: str, fill: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    """Return a database in memory that `fill` filled, from its file in the cache if there is a sound one.

    The name of the file has a hash of the species that were opened, then one of the language, and of the code and word
    lists that read the summaries; its checksum stands before its contents. A file that is missing or damaged is made
    again, and none is kept where the folder cannot be written. The writer of the matrices removes those of other
    species.
    """
    db = sqlite3.connect(":memory:", check_same_thread=False, factory=SelfClosing)
    try:
        folder = store.layout.cache
    except FieldmarkError:  # a store in memory
        fill(db)
        return db
    mark = sha256_hex("\n".join((store.language, name, _code())))[:20]
    path = folder / f"{prefix_of_lookups(store.ledger)}{mark}.bin"
    try:
        content = path.read_bytes()
    except OSError:
        content = b""
    if sha256(content[32:]).digest() == content[:32]:
        db.deserialize(content[32:])
        return db
    with db:
        fill(db)
    packed = db.serialize()
    try:
        write_atomic(path, sha256(packed).digest() + packed, is_durable=False)
    except (OSError, MissingRequirement) as error:
        log.debug("%s is not kept: %s", path, error)
    return db


@cache
def _code() -> str:
    """Return a hash of the code and word lists that read the summaries, and of the version."""
    folders = (Path(__file__).parent, *map(Path, data.lexicon.__path__))
    found = (file for folder in folders for file in folder.rglob("*") if file.suffix in (".py", ".txt"))
    files = [*sorted(found), Path(__file__).parents[1] / "checklist" / "names.py"]
    return sha256_hex(b"".join((fieldmark_version().encode(), *(file.read_bytes() for file in files))))


_K1, _LEAST_IDF = 1.2, 1e-6  # of FTS5's `bm25`


class WordIndex:
    """Texts in rows 0 to `size` - 1 by the words in them: a full-text table `words`, ranked by BM25."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.size: int = db.execute("SELECT count(*) FROM words").fetchone()[0]

    @staticmethod
    def fill(db: sqlite3.Connection, texts: Iterable[str]) -> None:
        """Write the content words of texts into an empty database."""
        db.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='porter unicode61')")
        rows = ((row, " ".join(tokens(text))) for row, text in enumerate(texts, start=1))
        db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)

    @classmethod
    def of(cls, texts: Iterable[str]) -> WordIndex:
        """Return the index of texts, in memory."""
        db = sqlite3.connect(":memory:", check_same_thread=False, factory=SelfClosing)
        cls.fill(db, texts)
        return cls(db)

    def match(self, words: Iterable[str]) -> tuple[FloatArray, FloatArray]:
        """Return the scores of all texts for the `tokens` of a query, and the shares of its distinct words in them.

        Both are float32 `(size,)` in [0, 1]. A score is the BM25 sum divided by the highest possible one.
        """
        scores, n_words = np.zeros((2, self.size), dtype=np.float32)
        most, distinct = 0.0, list(dict.fromkeys(words))
        for word in distinct:
            sql = "SELECT rowid - 1, -bm25(words) FROM words WHERE words MATCH ?"
            found = np.asarray(self._db.execute(sql, (f'"{word}"',)).fetchall(), dtype=np.float64).reshape(-1, 2)
            n, rows = len(found), found[:, 0].astype(np.intp)
            # FTS5 gives a word of half of the texts no weight, such as "red" among seven birds.
            idf, weight = math.log((self.size - n + 0.5) / (n + 0.5)), math.log((self.size + 1) / (n + 0.5))
            scores[rows] += (found[:, 1] * weight / (idf if idf > 0 else _LEAST_IDF)).astype(np.float32)
            n_words[rows] += 1
            most += (_K1 + 1) * weight
        return scores / np.float32(most or 1), n_words / np.float32(max(len(distinct), 1))

    def __contains__(self, word: str) -> bool:
        """Return whether a text has a word or a form of it."""
        return bool(tokens(word)) and bool(self.match(tokens(word))[1].max(initial=0) == 1)


_NEGATIONS = frozenset(("no", "not", "neither", "nor"))
# Words around the contents of a query.
_EMPTY = frozenset(
    tokens(
        "photo photograph picture image showing shown seen visible clearly performing doing exhibiting engaged",
        unify=False,
    )
)


def query_key(query: str) -> tuple[str, ...]:
    """Return the contents of a query: the stems of its words in order, without "photo of", "showing", "a"."""
    words = [word.lower() for word in WHOLE_WORD.findall(query)]
    stems = [[word] if word in _NEGATIONS else tokens(word, unify=False) for word in words]  # a Greenish Warbler
    return tuple(stem for each in stems for stem in each if stem not in _EMPTY) or tuple(words)


class LookupIndex:
    """Names, words of summaries (rows as in `taxa`) and words of terms (rows as in `word_ids`) of one knowledge base.

    Terms are those of the store and those learnt since it was opened, then those of the shipped glossary.
    """

    def __init__(self, store: KnowledgeBase) -> None:
        self.taxa = store.taxa()
        self.summaries = WordIndex(kept(store, "summaries", lambda db: WordIndex.fill(db, _texts(store))))
        self._glossary = glossary_of(store)
        self._fill({term.term_id: term for term in (*learnt_terms(store.path), *store.terms())})

    def with_terms(self, terms: Iterable[Term]) -> LookupIndex:
        """Return an index that has these terms too."""
        found = copy(self)
        found._fill(self.stored | {term.term_id: term for term in terms})
        return found

    def _fill(self, terms: dict[str, Term]) -> None:
        self.stored = terms
        every = sorted(terms.values(), key=lambda term: term.name)
        every += [term for term in self._glossary if term.term_id not in terms]
        words = [term for term in every if not isinstance(term, WebAnswer)]
        self.names = NameFinder(self.taxa, words)
        self.terms = {term.term_id: term for term in every}
        self.term_words = WordIndex.of(" ".join((t.name, *t.aliases, t.definition, t.look_for)) for t in words)
        self.word_ids = tuple(term.term_id for term in words)
        answers = (term for term in every if isinstance(term, WebAnswer))
        self._answers = {query_key(each.name): each for each in sorted(answers, key=lambda answer: answer.asked_on)}

    def answer_to(self, query: str) -> WebAnswer | None:
        """Return the stored answer to the same query, or to one with the same contents."""
        return self._answers.get(query_key(query))


def index_of(store: KnowledgeBase) -> LookupIndex:
    """Return the look-up index of an open knowledge base, with all terms learnt so far."""
    return store.derived(_held)[0]


def learn(store: KnowledgeBase, terms: Iterable[Term]) -> None:
    """Add terms to the look-up index; on disk, the open store keeps the state in which it was opened.

    The index is replaced at once: other threads read the one before or the new one.
    """
    held = store.derived(_held)
    with _LEARNING:
        held[0] = held[0].with_terms(terms)


_LEARNING = Lock()


def _held(store: KnowledgeBase) -> list[LookupIndex]:
    return [LookupIndex(store)]


def _texts(store: KnowledgeBase) -> Iterable[str]:
    """Yield the names and summary of each species."""
    for taxon, text in zip(store.taxa(), store.summary_texts(), strict=True):
        above = (taxon.lineage.get(rank, "") for rank in ("family", "order"))
        yield " ".join((*taxon.common_names, taxon.scientific_name, *above, text))


def check_encoder(store: KnowledgeBase, encoder: TextEncoder) -> None:
    """Raise `SpaceMismatch` unless the encoder made the vectors of summaries and terms."""
    if encoder.space != store.sentence_space:
        raise SpaceMismatch(expected=(store.sentence_space,), given=(encoder.space,))


def vector_of(encoder: TextEncoder, text: str) -> FloatArray | None:
    """Return the unit vector of a text, or None for a zero vector."""
    vector: FloatArray = encoder.encode_texts([text])[0]
    return vector if bool(np.any(vector)) else None


def glossary_of(store: KnowledgeBase) -> list[Term]:
    """Return the glossary terms that the user of a knowledge base did not remove."""
    removed_names = {fold(name) for name in removed(store.ledger)}
    return [term for term in read_terms() if fold(term.name) not in removed_names]
