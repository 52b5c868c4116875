"""What a reader is told of a candidate: its refined summary, the one before, chunks, the raw article, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from data.contracts import KnowledgeStore
from data.errors import MissingRequirement, UsageError
from data.records import Summary

Context = Literal["refined", "summary", "chunks", "article", "names"]
CONTEXTS: Final[tuple[Context, ...]] = get_args(Context)

TextOf = Callable[[str], str | None]
"""Taxon id -> a text, None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierTexts:
    """What a knowledge base was distilled from, where it has kept it."""

    article: TextOf
    """The plain text of the article."""
    draft: TextOf
    """The summary that the first of two passes made."""


def context_of(name: str) -> Context:
    """Return the context of that name.

    Raises:
        UsageError: if there is none.
    """
    for context in CONTEXTS:
        if name == context:
            return context
    raise UsageError(f"there is no context {name!r} of a reader", hint=f"one of: {', '.join(CONTEXTS)}")


def _nothing(_taxon_id: str) -> str | None:
    return None


NO_EARLIER: Final = EarlierTexts(article=_nothing, draft=_nothing)


class Told:
    """Looks up what a reader is told; each species is read once.

    Source: VR-RAG, table 5: raw article, chunks, summary, refined summary; `names` alone is ours. Its chunks are of
        articles, and so are ours in a knowledge base of the distiller `chunks`; else they are parts of the summary.
        Either way a candidate comes with those of its chunks that are among the k best, not with all.
    """

    def __init__(self, store: KnowledgeStore, context: Context, earlier: EarlierTexts = NO_EARLIER) -> None:
        """Keep the store.

        Args:
            store: holds the summaries and chunks.
            context: what the reader is told.
            earlier: where articles and first summaries are.

        Raises:
            MissingRequirement: if the store has no such text of any species.
        """
        self.context: Final = context
        self._store, self._earlier = store, earlier
        self._kept: dict[str, str] = {}
        if context in ("summary", "article") and not any(map(self._text, store.taxon_ids)):
            self._refuse()

    def texts(self, taxon_ids: Sequence[str], chunk_ids: Sequence[Sequence[str]] = ()) -> list[str | None]:
        """Return the text of each species, empty where there is none; None in the context `names`.

        Args:
            taxon_ids: the species.
            chunk_ids: for the context `chunks`, those of each species.
        """
        if self.context == "names":
            return [None] * len(taxon_ids)
        if self.context == "chunks":
            return [" ".join(self._store.chunk_texts(ids)) if ids else "" for ids in chunk_ids]
        return [self._text(taxon_id) for taxon_id in taxon_ids]

    def _text(self, taxon_id: str) -> str:
        if taxon_id not in self._kept:
            self._kept[taxon_id] = self._look_up(taxon_id)
        return self._kept[taxon_id]

    def _look_up(self, taxon_id: str) -> str:
        if self.context == "article":
            return self._earlier.article(taxon_id) or ""
        [entry] = self._store.species([taxon_id])
        if self.context == "summary":
            return self._earlier.draft(taxon_id) or _first_pass(entry.summary)
        return entry.summary.text if entry.summary is not None else ""

    def _refuse(self) -> None:
        if self.context == "article":
            raise MissingRequirement(
                f"{self._store.path} holds no articles, so a reader can be told none",
                hint="one that kb build made from a wiki or a folder holds them",
            )
        raise MissingRequirement(
            f"{self._store.path} holds no summaries of a first pass",
            hint="kb build --distiller model-two-pass keeps them, --distiller model-summary makes no others",
        )


def _first_pass(summary: Summary | None) -> str:
    """Return a summary that was not refined; raw texts that stand in a summary's place are none."""
    if summary is None or summary.stage != "summary" or summary.distiller.startswith(("article/", "chunks/")):
        return ""
    return summary.text
