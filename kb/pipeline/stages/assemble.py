"""Assembly of species and terms from their summaries, reference photos and additions, ready to encode and index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from data.batches import grouped
from data.codec import loads
from data.records import Chunk, Source, SpeciesEntry, Summary, Taxon
from kb import reasons
from kb.distill.sentences import chunk_spans, chunks_at
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import is_page
from kb.store.additions import Addition, additions, held_pages, joined_summary, with_pages
from kb.store.ledger import StepStatus
from kb.store.rows import Subject
from kb.store.stage_outputs import AnchorOutput, DistilOutput

DISTILLED: Final[tuple[StepStatus, ...]] = ("done", "failed")
IN_MEMORY: Final = 200  # subjects read at a time
GROUP_MARKS = {"genus": reasons.GENUS_ARTICLE, "family": reasons.FAMILY_ARTICLE}


def assemble(run: BuildRun) -> Subjects:
    """Return the species and terms of the ledger with an article, a page or an addition."""
    ledger = run.ledger
    added, pages = additions(ledger), held_pages(ledger)
    steps = ledger.each_step("distil")
    ids = {step.subject_id for step in steps if step.output is not None and step.status in DISTILLED}
    ids.update(added, pages)
    return Subjects(run=run, ids=sorted(key for key in ids if not is_page(key)), added=added, pages=pages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subjects:
    """Species and terms that are made from the ledger at each reading, some hundreds at a time.

    Summaries are cut into chunks for this run's encoders. A page that a model failed to distil keeps its earlier
    summary, or has none.
    """

    run: BuildRun
    ids: Sequence[str]
    """Sorted; a reading passes over an id whose article is gone."""
    added: Mapping[str, Addition]
    pages: Mapping[str, Mapping[str, DistilOutput]]
    spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Id -> start and end of each chunk: tokens are counted once."""

    def __iter__(self) -> Iterator[Subject]:
        """Yield all, sorted by id."""
        return self.of(self.ids)

    def of(self, ids: Iterable[str]) -> Iterator[Subject]:
        """Yield chosen ones, in the order of `ids`."""
        for group in grouped(ids, IN_MEMORY):
            yield from self._made(group)

    def _made(self, ids: Sequence[str]) -> Iterator[Subject]:
        ledger = self.run.ledger
        taxa = ledger.subjects("taxon", ids=ids)
        fetched = {key: step.status for key, step in ledger.steps("fetch", ids=ids).items()}
        distilled = ledger.outputs("distil", DistilOutput, *DISTILLED, ids=ids)
        anchors = ledger.outputs("anchor", AnchorOutput, ids=ids)
        for key in ids:
            pages = self.pages.get(key, {})
            output, photos = distilled.get(key, DistilOutput()), anchors.get(key, AnchorOutput())
            addition = with_pages(self.added.get(key, Addition()), pages, self.run.layout)
            if fetched.get(key) == "left-out":  # the article is gone, additions stay
                output, photos = DistilOutput(), AnchorOutput()
            if key not in taxa:
                term = next(filter(None, (addition.term, *(page.term for page in pages.values()), output.term)), None)
                if term is not None:
                    yield replace(term, source=_shown(term.source))
            elif key in self.added or addition.texts or fetched.get(key) == "done":
                yield self._species(loads(Taxon, taxa[key]), output, photos, addition)

    def _species(self, taxon: Taxon, output: DistilOutput, photos: AnchorOutput, addition: Addition) -> SpeciesEntry:
        summary, own = joined_summary(addition, output.summary), {photo.anchor_id for photo in addition.anchors}
        anchors = (*addition.anchors, *(photo for photo in photos.anchors if photo.anchor_id not in own))
        marks = [GROUP_MARKS[taxon.rank]] if taxon.rank in GROUP_MARKS else []
        if summary is None:
            marks.append(reasons.NO_SUMMARY)
        elif summary.scope == "article":
            marks.append(reasons.WHOLE_ARTICLE)
        if not anchors:
            marks.append(reasons.NO_ANCHORS)
        return SpeciesEntry(
            taxon=taxon,
            source=_shown(output.source) or next((text.source for text in addition.texts), None),
            summary=summary,
            chunks=tuple(self._chunks(summary, taxon.taxon_id)) if summary else (),
            anchors=anchors,
            marks=tuple(marks),
        )

    def _chunks(self, summary: Summary, key: str) -> list[Chunk]:
        if key not in self.spans:
            self.spans[key] = chunk_spans(summary, self.run.encoders.text_image)
        return chunks_at(self.spans[key], summary, key)


def _shown(source: Source | None) -> Source | None:
    """Return a source; without the revision of a user's own text, which is a hash of its files."""
    return source if source is None or source.url is not None else replace(source, revision=None)
