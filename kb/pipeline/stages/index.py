"""Index: encoded subjects become the entries that readers see, and Chroma is filled with their rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from data.batches import grouped
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import is_page, owner_of
from kb.store.additions import held_pages
from kb.store.generations import GROUP, publishing
from kb.store.ledger import Entry
from kb.store.published_texts import TEXTS, note_texts
from kb.store.rows import Subject, entry_of, items_of, subject_id


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
            _keep_vectors(run, [entry for entry in changed if entry.subject_id in old])
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


def _keep_vectors(run: BuildRun, entries: Sequence[Entry]) -> None:
    for name, (kind, _) in run.collections.items():
        for entry in entries:
            items = entry.items.get(kind, [])
            run.ledger.given.keep(name, entry.subject_id, items)
            if not items:  # if they come back, they are encoded again
                run.ledger.drop_steps([entry.subject_id], ["encode"], space=name)
