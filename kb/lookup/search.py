"""Search for species by name or description in everyday words, and suggestions for misspelt names in queries."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable
from functools import cache
from itertools import combinations

import numpy as np
from rapidfuzz.distance import OSA

from data.contracts import TextEncoder
from data.lexicon.appearance import appearance
from data.lexicon.words import BIRDS, VISUAL_GROUPS, column, group_of_taxon, groups, tokens, variants
from data.records import TaxonMatch
from data.words import likenesses, nearest
from kb.checklist.names import fold
from kb.checklist.selection import taxa_named
from kb.lookup.entries import MAX_NAME_WORDS, relatives, subspecies_of
from kb.lookup.field_marks import MarkIndex
from kb.lookup.findings import is_plain
from kb.lookup.lookup_index import LookupIndex, check_encoder, index_of, kept, vector_of
from kb.lookup.variants import EARLY_STAGES
from kb.store.knowledge_base import KnowledgeBase

MIN_LETTERS = 4  # of a word that is corrected: shorter ones are one letter away from too many others
LETTERS = re.compile(r"[a-z]+")
"""A word in lower case, or the part of it before a hyphen or an accent."""


def in_lexicon_words(text: str, *, is_known: Callable[[str], bool] = lambda word: False) -> str:
    """Return a description in lower case, spelling corrected and everyday words replaced by the lexicon's.

    Words that `is_known` are not corrected.
    """
    text = LETTERS.sub(lambda found: corrected(found[0], is_known), text.lower().replace("’", "'"))
    text = re.sub(r"\bgray", "grey", text)
    phrases, replacements = _everyday()
    return phrases.sub(lambda found: replacements[found[0]], text)


def corrected(word: str, is_known: Callable[[str], bool] = lambda word: False) -> str:
    """Return the word of the lexicon that is one slip after the first letter away, else or if it is known the word.

    A slip is a letter that is dropped, added, changed, or swapped with the next.
    """
    if len(word) < MIN_LETTERS or is_listed(word) or is_known(word):
        return word
    near = (other for other in _visual_words() if other[0] == word[0] and len(other) >= MIN_LETTERS)
    return next((other for other in near if OSA.distance(word, other, score_cutoff=1) == 1), word)


def is_listed(word: str) -> bool:
    """Return whether a lower-case word, its singular or its base form is in the lexicon."""
    return not _listed().isdisjoint((word, *variants(word)))


@cache
def _listed() -> frozenset[str]:
    return frozenset(_visual_words()).union(*groups().values())


@cache
def _visual_words() -> tuple[str, ...]:
    words: Iterable[str] = (
        *column("colours", "field_mark"),
        *column("parts", "field_mark"),
        *column("looks", "field_mark"),
        *("bird", "grayish", "greyish", "with"),
        *(word for words in column("everyday", "lexicon") for word in words.split()),
        *(word for name in VISUAL_GROUPS for word in sorted(groups()[name])),
    )
    return tuple(dict.fromkeys(piece for word in words for piece in word.split("-") if piece.isalpha()))


@cache
def _everyday() -> tuple[re.Pattern[str], dict[str, str]]:
    table = dict(column("everyday", "lexicon"))
    longest_first = sorted(table, key=lambda words: -len(words))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])"), table


# Weights of words, vectors and field marks, chosen on the tuning half of benchmarks/descriptions.py; a name counts more
# than any description. Vectors count only for the marks that a summary lacks: beside known marks they add noise.
WORDS_SHARE = 1.2
VECTOR_SHARE = 0.1
MARKS_SHARE = 1.0
MIN_SIMILARITY = 0.35

# Points of names: above any description for a species, below it for a group ("owl") within a text.
NAME, NAME_IN_TEXT, NAME_BEGUN = 3.0, 2.5, 2.2
GROUP, GROUP_IN_TEXT, FAMILY_IN_TEXT = 2.0, 0.6, 0.4
N_NEAR, NEAR_NAME = 5, 0.8  # species with a misspelt name, and the likeness of the two


def search(store: KnowledgeBase, text: str, encoder: TextEncoder, *, n: int = 10) -> list[TaxonMatch]:
    """Return up to `n` species that match a name or description, best first, ties by name.

    The name of a species of the checklist that the knowledge base lacks finds its nearest relatives. Misspelt and
    everyday words are read as words of the lexicon ("tummy", "rust-coloured"). The score adds points for a name in the
    text (up to 5); the fit of the field marks, part by part and near colours too (up to 1); the BM25 score of the words
    of name and summary (up to 1.2); and, for marks that the summary lacks, the cosine of text and summary (up to 0.1).

    Raises:
        SpaceMismatch: for another encoder.

    Example:
        >>> import kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
        >>> _ = kb.build("birds.kb", source.drawn_taxa()[:4], source, encoders)
        >>> with kb.open("birds.kb") as store:
        ...     kb.search(store, "red shoulder patch", encoders.sentence, n=1)[0].common_name
        'Red-winged Blackbird'
    """
    if n < 1:
        raise ValueError(f"expected n of at least 1, got {n}")
    check_encoder(store, encoder)
    if not text.strip():
        return []
    index = index_of(store)
    row_of = {taxon.taxon_id: row for row, taxon in enumerate(index.taxa)}
    description = in_lexicon_words(text, is_known=index.summaries.__contains__)
    fit, missing = store.derived(_mark_index).scores(description)
    words = tokens(description)
    telling = [word for word in words if word not in store.derived(_words_of_all)]
    by_words, _ = index.summaries.match(telling or words)
    scores = WORDS_SHARE * by_words.astype(np.float64) + MARKS_SHARE * fit
    vector = vector_of(encoder, description)
    for taxon_id, similarity in store.query_species(vector, max(50, 5 * n)) if vector is not None and row_of else []:
        row = row_of[taxon_id]
        if scores[row] > 0 or similarity >= MIN_SIMILARITY:
            scores[row] += VECTOR_SHARE * missing[row] * max(similarity, 0.0)
    for taxon_id, points in _name_points(store, index, text).items():
        scores[row_of[taxon_id]] += points
    least = np.partition(scores, -n)[-n] if n < len(scores) else 0.0
    best = np.flatnonzero((scores > 0) & (scores >= least))
    rows = sorted(best, key=lambda row: (-scores[row], index.taxa[row].common_name))
    fields = ("taxon_id", "scientific_name", "common_name", "rank")
    return [
        TaxonMatch(**{name: getattr(index.taxa[row], name) for name in fields}, score=round(float(scores[row]), 6))
        for row in rows[:n]
    ]


def _words_of_all(store: KnowledgeBase) -> frozenset[str]:
    """Return words that tell no species apart ("butterfly", "larva"); none if there are birds, whose words count."""
    kinds = {group_of_taxon(taxon.lineage, taxon.scientific_name) for taxon in index_of(store).taxa}
    found: set[str] = set()
    for looks in map(appearance, kinds if BIRDS not in kinds else ()):
        named = {*looks.adults, *(word for word, stage in looks.others.items() if stage in EARLY_STAGES)}
        found |= {word for word in named if looks.part_at([word], 0) in (None, looks.whole)}
    return frozenset(tokens(" ".join(found)))


def _name_points(store: KnowledgeBase, index: LookupIndex, text: str) -> dict[str, float]:
    """Return taxon_id -> points of the species named in the text."""
    wanted, named = fold(text), store.derived(_folded_names)
    points: dict[str, float] = {}
    for mention in index.names.find(text):
        is_all = fold(mention.text) == wanted
        if mention.kind == "species":
            points[mention.ids[0]] = NAME if is_all else NAME_IN_TEXT
        elif mention.kind == "group":
            # A Mallard is a duck too.
            members = set(mention.ids)
            families = {taxon.lineage.get("family") for taxon in index.taxa if taxon.taxon_id in members} - {None}
            related = (taxon.taxon_id for taxon in index.taxa if taxon.lineage.get("family") in families)
            given = dict.fromkeys(() if is_all else related, FAMILY_IN_TEXT)
            given |= dict.fromkeys(mention.ids, GROUP if is_all else GROUP_IN_TEXT)
            best = store.checklist.also_called(text) if is_all else []  # of an everyday name the best known first
            held = [taxon.taxon_id for taxon in best if taxon.taxon_id in given]
            given |= {taxon_id: GROUP + NAME / n for n, taxon_id in enumerate(held, 1)}
            points |= {taxon_id: max(points.get(taxon_id, 0.0), value) for taxon_id, value in given.items()}
    if len(wanted) >= 3:
        begun = (taxon_id for name, taxon_id in named if name.startswith(wanted))
        points |= {taxon_id: max(points.get(taxon_id, 0.0), NAME_BEGUN) for taxon_id in begun}
    for taxon in index.taxa:  # names in other languages, which would be taken for other words within a text
        if taxon.names_by_language and wanted in map(fold, taxon.all_names):
            points[taxon.taxon_id] = NAME
    if points or len(text.split()) > MAX_NAME_WORDS:
        return points
    if listed := _points_of_checklist(store, index, text):
        return listed
    near = likenesses(wanted, (name for name, _ in named), at_least=NEAR_NAME)
    for name, taxon_id in named:
        points[taxon_id] = max(points.get(taxon_id, 0.0), GROUP * near.get(name, 0.0))
    return dict(sorted(points.items(), key=lambda item: -item[1])[:N_NEAR])


def _folded_names(store: KnowledgeBase) -> list[tuple[str, str]]:
    return [(fold(name), taxon.taxon_id) for taxon in index_of(store).taxa for name in taxon.names]


def _points_of_checklist(store: KnowledgeBase, index: LookupIndex, text: str) -> dict[str, float]:
    """Return the points of the species that the checklist knows by a name, or of those next to a species with it."""
    held = {taxon.taxon_id for taxon in index.taxa}
    points: dict[str, float] = {}
    lumped = subspecies_of(store, text)
    for found in taxa_named(store.checklist, text) if lumped is None else lumped[:1]:
        if found.taxon_id in held:
            points[found.taxon_id] = NAME
        elif found.rank == "species":
            points |= dict.fromkeys((taxon.taxon_id for taxon in relatives(store, found)[1]), GROUP)
        else:
            points |= dict.fromkeys(held.intersection(store.checklist.species_ids(found)), GROUP)
    return points


def _mark_index(store: KnowledgeBase) -> MarkIndex:
    """Return the field marks of names and summaries."""

    def fill(db: sqlite3.Connection) -> None:
        taxa = store.taxa()
        texts = (f"{taxon.common_name}. {text}" for taxon, text in zip(taxa, store.summary_texts(), strict=True))
        MarkIndex.fill(db, texts, [group_of_taxon(taxon.lineage, taxon.scientific_name) for taxon in taxa])

    return MarkIndex(kept(store, "marks", fill))


MIN_NAME_LETTERS = 5  # of a misspelt name: shorter ones are one letter away from too many words
MIN_LIKENESS = 0.85  # of a misspelt name, which may have several wrong letters
MAX_RUN_WORDS = 3
MAX_QUERY_WORDS = 20  # each run of the words of a longer query would be compared with all names


def suggestions(store: KnowledgeBase, query: str, *, n: int = 3) -> list[str]:
    """Return up to `n` names of terms and species that are spelt like words of a query, in the query's order.

    Everyday words and names that the knowledge base has are not misspelt.
    """
    index = index_of(store)
    words = query.split()
    if len(words) > MAX_QUERY_WORDS:
        return []
    terms = {fold(name): name for i in index.word_ids for name in (index.terms[i].name, *index.terms[i].aliases)}
    names = {fold(name): taxon.common_name for taxon in index.taxa for name in taxon.names} | terms
    known = {word for mention in index.names.find(query) for word in mention.text.split()}
    found: dict[str, None] = {}
    for run in (words[first:end] for first, end in combinations(range(len(words) + 1), 2)):
        typed = fold(" ".join(run))
        is_known = bool(known.intersection(run)) or all(map(is_plain, run)) or is_listed(typed)
        if len(run) <= MAX_RUN_WORDS and len(typed) >= MIN_NAME_LETTERS and not is_known:
            near = nearest(typed, names, 1, at_least=MIN_LIKENESS)
            near += [key for key in terms if OSA.distance(typed, key, score_cutoff=1) == 1]
            found |= dict.fromkeys(names[key] for key in near if key != typed)
    return list(found)[:n]
