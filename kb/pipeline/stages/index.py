"""Index: species and terms assembled from the results of the stages, and published as the entries that readers see."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from data.batches import grouped
from data.codec import loads
from data.records import Chunk, Source, SpeciesEntry, Summary, Taxon
from kb import reasons
from kb.pipeline.stages.chunks import chunk_spans, chunks_at
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import is_page, owner_of
from kb.store.generations import GROUP, publishing
from kb.store.ledger import Entry, StepStatus
from kb.store.rows import Subject, entry_of, items_of, subject_id, subject_of
from kb.store.stage_outputs import (
    TEXTS,
    Addition,
    AnchorOutput,
    DistilOutput,
    additions,
    held_pages,
    joined_summary,
    note_texts,
    with_pages,
)

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


class KnownSubjects(Subjects):
    """The same as readers know them."""

    def _made(self, ids: Sequence[str]) -> Iterator[Subject]:
        yield from map(subject_of, self.run.ledger.entries_of(ids).values())


def _shown(source: Source | None) -> Source | None:
    """Return a source; without the revision of a user's own text, which is a hash of its files."""
    return source if source is None or source.url is not None else replace(source, revision=None)


def index(
    run: BuildRun, subjects: Iterable[Subject], *, failed: Collection[str] = (), is_encoding_alone: bool = False
) -> None:
    """Publish new entries with their vectors, and withdraw old ones.

    An encoding alone gives readers new vectors of the entries that they know. Subjects that `encode` failed to encode
    stay as they were.
    """
    left_out = [step.subject_id for step in run.ledger.each_step("fetch") if step.status == "left-out"]
    # Failed subjects stay as they were; only articles that are gone from the source are withdrawn.
    gone = {owner_of(key) for key in left_out if not is_page(key) or run.ledger.step(owner_of(key), "fetch") is None}
    with publishing(run.layout, run.info, run.ledger, track=lambda n: run.track("index", n).add):
        if is_encoding_alone:
            publish(run, subjects, failed=failed, gone=(), is_encoding_alone=True)
        else:
            publish(run, subjects, failed=failed, gone=gone)


def publish(
    run: BuildRun,
    subjects: Iterable[Subject],
    *,
    failed: Collection[str],
    gone: Iterable[str],
    is_encoding_alone: bool = False,
) -> None:
    """Change the entries in the block of `publishing`; those of `gone` without contents are withdrawn."""
    ledger, lost, new_vectors = run.ledger, set(gone), run.ledger.encoded.subjects()
    pages = held_pages(ledger)
    for group in grouped(subjects, GROUP):
        new = _encoded(run, [subject for subject in group if subject_id(subject) not in failed])
        old = ledger.entries_of([entry.subject_id for entry in new])
        lost.difference_update(map(subject_id, group))
        changed = [e for e in new if e != old.get(e.subject_id) or e.subject_id in new_vectors]
        if is_encoding_alone:
            changed = [entry for entry in changed if entry == old.get(entry.subject_id)]
        if changed:
            ledger.publish(changed)
            for name, (kind, _) in run.collections.items():  # items that come back are encoded again
                without = [
                    entry.subject_id for entry in changed if entry.subject_id in old and not entry.items.get(kind)
                ]
                ledger.drop_steps(without, ["encode"], space=name)
        species = [entry.subject_id for entry in (changed if is_encoding_alone else new) if entry.kind == "taxon"]
        noted = set(ledger.steps(TEXTS, ids=species)).difference(entry.subject_id for entry in changed)
        note_texts(run.layout, ledger, pages, (key for key in species if key not in noted))
    if withdrawn := sorted(key for key in lost if ledger.entry(key) is not None):
        ledger.publish([], gone=withdrawn)
        ledger.drop_steps(withdrawn, ["encode", TEXTS])


def _encoded(run: BuildRun, subjects: Sequence[Subject]) -> list[Entry]:
    ids = [subject_id(subject) for subject in subjects]
    lacking: set[str] = set()
    for name, (kind, _) in run.collections.items():
        steps = run.ledger.steps("encode", name, ids=ids)
        done = {key for key, step in steps.items() if step.status == "done"}
        lacking.update(
            key for key, subject in zip(ids, subjects, strict=True) if key not in done and items_of(subject, kind)
        )
    return [entry_of(subject) for key, subject in zip(ids, subjects, strict=True) if key not in lacking]
