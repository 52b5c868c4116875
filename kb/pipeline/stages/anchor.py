"""Anchor: free reference photos of each species from its article, stored by hash, with author and licence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from data.batches import grouped
from data.codec import dumps
from data.errors import StoreError
from data.records import Anchor, AnchorImage, Failure, LeftOut
from kb import reasons
from kb.pipeline.stages.fetch import fetched_pages, read_article
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import AnchorBatch
from kb.store.generations import BARE
from kb.store.layout import collection_name
from kb.store.ledger import Step, fingerprint
from kb.store.stage_outputs import AnchorOutput, anchors_of

GROUP = 50  # articles: their photos' licences are asked for 50 titles a request


def anchor(run: BuildRun) -> None:
    """Get the reference photos of every species with a new article."""
    taxa = run.ledger.subjects("taxon")
    pages = {key: page for key, page in fetched_pages(run).items() if key in taxa}
    done = run.ledger.steps("anchor")
    limit = run.settings.anchors_per_species
    rules = [run.source.photo_rules] if run.source.photo_rules else []
    marks = {
        key: fingerprint(page.sha256, page.source.revision, run.source.name, run.source.parser, limit, *rules)
        for key, page in pages.items()
    }
    todo = run.todo("anchor", marks)
    again = asked_again(done).intersection(marks).difference(todo)
    todo += sorted(again)
    # After a loss (no fingerprint), all photos are downloaded again: a whole file may be unreadable.
    trusted = [done[key] for key in todo if key in done and done[key].fingerprint]
    run.source.reuse_photos(_stored_photos(run, trusted))
    tracker = run.track("anchor", len(todo), kept=len(marks) - len(todo))
    for group in grouped(todo, GROUP):
        articles = []
        for key in group:
            try:
                articles.append((key, read_article(run.layout, run.source, key, pages[key])))
            except StoreError as error:
                with run.ledger.transaction():
                    run.ledger.drop_steps([key], ["fetch"])
                    run.ledger.record([_failed(key, marks[key], str(error), done.get(key))])
                tracker.add(failed=1)
        for key, result in run.source.fetch_anchors(articles, limit=limit):
            if key in again and isinstance(result, Failure):  # in vain: nothing is lost
                tracker.add()
                continue
            _store(run, key, marks[key], result, done.get(key))
            tracker.add(failed=int(isinstance(result, Failure)))


def asked_again(steps: Mapping[str, Step]) -> set[str]:
    """Return the finished species with a photo in whose place the server sent a web page, a refusal or nothing.

    The wiki has the file, and its server may be well again.
    """
    found = set()
    for key, step in steps.items():
        is_named = any(reason in (step.output or "") for reason in (reasons.NOT_AN_IMAGE, reasons.NO_FILE))
        if step.status == "done" and is_named and any(map(_was_not_sent, anchors_of(step).skipped)):
            found.add(key)
    return found


def _was_not_sent(photo: LeftOut) -> bool:
    # A file that the wiki itself lacks has no detail.
    return photo.reason == reasons.NOT_AN_IMAGE or (photo.reason == reasons.NO_FILE and photo.detail != "")


def _store(run: BuildRun, key: str, mark: str, result: AnchorBatch | Failure, before: Step | None) -> None:
    if isinstance(result, Failure):
        with run.ledger.transaction():
            run.ledger.record([_failed(key, mark, result.reason, before)])
        return
    for image in result.images:
        if image.content is not None and run.layout.anchors.write(image.content) != image.anchor.sha256:
            raise StoreError(f"Reference photo {image.anchor.anchor_id} of {key} does not match its SHA-256.")
    anchors = tuple(image.anchor for image in result.images)
    output = AnchorOutput(anchors=anchors, skipped=result.skipped, versions=result.versions)
    with run.ledger.transaction():
        for space in run.info.anchor_spaces:
            _put_given_vectors(run, key, collection_name("anchors", space), space, result.images)
        run.ledger.record([Step(subject_id=key, stage="anchor", fingerprint=mark, output=dumps(output))])


def _stored_photos(run: BuildRun, steps: Iterable[Step]) -> dict[str, Anchor]:
    stored: dict[str, Anchor] = {}
    for step in steps:
        output = anchors_of(step)
        for held in output.anchors:
            version = output.versions.get(held.file)
            if version and held.sha256 is not None and run.layout.anchors.is_whole(held.sha256):
                stored[version] = held
    return stored


def _put_given_vectors(run: BuildRun, key: str, collection: str, space: str, images: tuple[AnchorImage, ...]) -> None:
    """Take the vectors of images without a photo, which cannot be encoded."""
    bare = [image for image in images if image.anchor.sha256 is None and space in image.vectors]
    rows = [(key, image.anchor.anchor_id, np.asarray(image.vectors[space], dtype=np.float32)) for image in bare]
    if rows:
        run.ledger.set_fact(BARE, "yes")
        run.ledger.encoded.put(collection, rows)
        run.ledger.drop_steps([key], ["encode"], space=collection)  # the mark of the vectors before does not hold


def _failed(key: str, mark: str, reason: str, before: Step | None) -> Step:
    output = before.output if before is not None else None
    return Step(subject_id=key, stage="anchor", fingerprint=mark, status="failed", error=reason, output=output)
