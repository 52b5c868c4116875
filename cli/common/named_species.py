"""Species that a query names: their vectors, and the search for photos that the recognizer judges."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from cli.common import output, wiring
from cli.common.output import counted_calls
from cli.common.settings import Settings
from data.arrays import FloatArray, as_unit_rows
from data.contracts import SeesWords
from data.words import plural

if TYPE_CHECKING:
    from data.contracts import ImageCollection, KnowledgeStore, TextImageEncoder
    from data.records import Job, QueryPart
    from kb.store.knowledge_base import KnowledgeBase
    from rerank.feedback.queries import FindNames, NamedSpecies
    from rerank.retrievers import ShortlistRetriever


def name_finder(store: KnowledgeBase, encoder: TextImageEncoder) -> FindNames:
    """Return a thread-safe function from a query to the species of the knowledge base that it names."""
    from rerank.feedback.queries import NamedSpecies

    find_parts, held = wiring.query_parts(store), set(store.taxon_ids)

    def find(text: str) -> tuple[NamedSpecies | None, tuple[str, ...]]:
        parts, notes = wanted_parts(text, find_parts(text))
        taxon_ids = dict.fromkeys(taxon_id for part in parts for taxon_id in part.taxon_ids if taxon_id in held)
        rows = directions_of(store, list(taxon_ids), encoder)
        if not rows:
            return None, notes
        named = NamedSpecies(
            names=", ".join(dict.fromkeys(part.name for part in parts)),
            vector=as_unit_rows([sum(as_unit_rows([each.sum(axis=0)])[0] for each in rows)])[0],
            is_whole=not says_more(text, parts, encoder),
        )
        return named, notes

    return find


def wanted_parts(text: str, parts: Sequence[QueryPart]) -> tuple[list[QueryPart], tuple[str, ...]]:
    """Return the species and groups that a query asks for, and a warning for each name that it excludes."""
    from rerank.decompose.plain_questions import is_excluded

    named = [part for part in parts if part.kind in ("species", "group")]
    excluded = [part for part in named if is_excluded(text, part)]
    notes = (f'A search finds likenesses and cannot exclude "{part.name}"; kb rerank can' for part in excluded)
    return [part for part in named if part not in excluded], tuple(notes)


def directions_of(store: KnowledgeStore, taxon_ids: Sequence[str], encoder: TextImageEncoder) -> list[FloatArray]:
    """Return the mean vectors of the species' reference photos and of their descriptions, `(n, dim)` unit rows each.

    Empty in a space that the knowledge base lacks.
    """
    if encoder.space not in store.spaces:
        return []
    at = {taxon_id: row for row, taxon_id in enumerate(store.taxon_ids)}
    wanted = [at[taxon_id] for taxon_id in taxon_ids]
    found = []
    for table in (store.anchor_vectors(encoder.space), store.chunk_vectors(encoder.space)):
        means = [table.vectors[table.owners == row].sum(axis=0) for row in wanted if np.any(table.owners == row)]
        if means:
            found.append(as_unit_rows(means))
    return found


def says_more(text: str, parts: Sequence[QueryPart], encoder: TextImageEncoder) -> bool:
    """Return whether a query has words to search by beside the names."""
    for part in parts:
        text = text.replace(part.text, " ")
    return bool(encoder.visible_words(text)) if isinstance(encoder, SeesWords) else True


def named_search(
    settings: Settings,
    job: Job,
    collection: ImageCollection,
    encoder: TextImageEncoder,
    stack: ExitStack,
    *,
    quiet: bool = True,
) -> tuple[ShortlistRetriever, str] | None:
    """Return the search for the species in a query and a note, None if it names none that the recognizer can judge.

    The shortlist is that of the species' descriptions and reference photos, and of the words where they say more than
    the names. The judge is that of `kb rerank --judge encoder`.
    """
    from cli.common.rerank_resources import photo_cache
    from rerank.decompose.reranker import DecomposeReranker
    from rerank.judges.encoder import EncoderJudge
    from rerank.retrievers import DEPTH, ShortlistRetriever

    store = stack.enter_context(wiring.open_knowledge_base(settings))
    find_parts = wiring.query_parts(store)
    parts, notes = wanted_parts(job.text, find_parts(job.text))
    for each in notes:
        output.warn(each)
    named = list(dict.fromkeys(taxon_id for part in parts for taxon_id in part.taxon_ids))
    n_judged = min(DEPTH, len(collection.ids))
    meter = stack.enter_context(counted_calls("judged", n_judged, quiet=quiet))
    scorer = wiring.species_scorer(store, on_photo=lambda done: meter(done, 0)) if named else None
    known = [taxon_id for taxon_id in named if scorer is not None and scorer.knows(taxon_id)]
    directions = directions_of(store, known, encoder)
    if not directions or says_more(job.text, parts, encoder):
        directions.append(encoder.encode_texts([job.text]))
    if not known or not all(map(np.any, directions)):
        return None
    encoders = wiring.load_encoders(store.info.profile).text_image
    judge = EncoderJudge(encoders, species=scorer, cache=stack.enter_context(photo_cache(settings)))
    look_up = wiring.context_look_up(store)
    reranker = DecomposeReranker(judge, context=look_up, parts=find_parts)
    names = ", ".join(dict.fromkeys(part.name for part in parts))
    n = plural(n_judged, "photo")
    note = (
        f"{names}: the {n} nearest to descriptions and reference photos are judged by the recognizer; "
        "scores are chances in percent"
    )
    return ShortlistRetriever(collection, directions, reranker), note
