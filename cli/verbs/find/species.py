"""Queries that name species: the nearest photos by the knowledge base's vectors, judged by its recognizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cli.common import wiring
from cli.common.config import Settings
from cli.common.photos.species import directions_of, says_more, wanted_parts
from cli.common.progress import counted_calls
from data.words import plural

if TYPE_CHECKING:
    from data.contracts import ImageCollection, SpeciesScorer, TextImageEncoder
    from data.records import Job
    from rerank.collection.shortlist import ShortlistRetriever


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSearch:
    """The search for species that a query names, and a note about it."""

    retriever: ShortlistRetriever
    note: str


class CountedScorer:
    """A `SpeciesScorer` that reports the number of photos it has seen."""

    def __init__(self, scorer: SpeciesScorer, on_photo: Callable[[int], None]) -> None:
        self._scorer, self._on_photo = scorer, on_photo
        self._seen: set[Path] = set()

    @property
    def name(self) -> str:
        """The name of the scorer."""
        return self._scorer.name

    @property
    def is_calibrated(self) -> bool:
        """Whether the chances of the scorer are calibrated."""
        return self._scorer.is_calibrated

    def knows(self, taxon_id: str) -> bool:
        """Return whether the scorer knows the species."""
        return self._scorer.knows(taxon_id)

    def chance(self, path: Path, taxon_ids: Sequence[str]) -> float:
        """Return the chance of the scorer."""
        found = self._scorer.chance(path, taxon_ids)
        self._seen.add(path)
        self._on_photo(len(self._seen))
        return found


def named_search(
    settings: Settings,
    job: Job,
    collection: ImageCollection,
    encoder: TextImageEncoder,
    stack: ExitStack,
    *,
    quiet: bool = True,
) -> NamedSearch | None:
    """Return the search for the species in a query, None if it names none that the recognizer can judge.

    The shortlist is that of the species' descriptions and reference photos, and of the words where they say more than
    the names. The judge is that of `kb rerank --judge encoder`.
    """
    from rerank.collection.shortlist import DEPTH, ShortlistRetriever
    from rerank.decompose.reranker import DecomposeReranker
    from rerank.judgement_cache import JudgementCache
    from rerank.judges.encoder import EncoderJudge

    store = stack.enter_context(wiring.open_knowledge_base(settings))
    find_parts = wiring.query_parts(store)
    parts = wanted_parts(job.text, find_parts(job.text))
    named = list(dict.fromkeys(taxon_id for part in parts for taxon_id in part.taxon_ids))
    scorer = wiring.species_scorer(store) if named else None
    known = [taxon_id for taxon_id in named if scorer is not None and scorer.knows(taxon_id)]
    directions = directions_of(store, known, encoder)
    if not directions or says_more(job.text, parts, encoder):
        directions.append(encoder.encode_texts([job.text]))
    if not known or not all(map(np.any, directions)):
        return None
    n_judged = min(DEPTH, len(collection.ids))
    meter = stack.enter_context(counted_calls("judged", n_judged, quiet=quiet))
    counted = None if scorer is None else CountedScorer(scorer, lambda done: meter(done, 0))
    judge = EncoderJudge(wiring.load_encoders(store.info.profile).text_image, species=counted)
    cache = stack.enter_context(JudgementCache(settings.home / "rerank" / "judgements.sqlite"))
    look_up = wiring.context_look_up(store, wiring.ContextSources())
    reranker = DecomposeReranker(judge, context=look_up, parts=find_parts, cache=cache)
    stack.callback(reranker.close)
    names = ", ".join(dict.fromkeys(part.name for part in parts))
    n = plural(n_judged, "photo")
    return NamedSearch(
        retriever=ShortlistRetriever(collection, directions, reranker),
        note=f"{names}: the {n} nearest to descriptions and reference photos are judged by the recognizer; "
        "scores are chances in percent",
    )
