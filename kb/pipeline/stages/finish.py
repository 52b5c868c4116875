"""Species and terms to encode and index, once they are distilled and have their anchors."""

from __future__ import annotations

from data.codec import loads
from data.records import SpeciesEntry, Taxon
from kb import reasons
from kb.distill.chunk import pack_chunks
from kb.pipeline.stages.distil import distilled
from kb.pipeline.stages.run import BuildRun
from kb.store.additions import Addition, additions, joined_anchors, joined_summary
from kb.store.rows import Subject
from kb.store.stage_outputs import AnchorOutput, DistilOutput, anchors_of


def finished(run: BuildRun) -> list[Subject]:
    """Return every species and term that was distilled or added by hand, sorted by id.

    Chunks are cut here, for this run's encoders.
    """
    taxa = run.ledger.subjects("taxon")
    anchors = {key: anchors_of(step) for key, step in run.ledger.steps("anchor").items()}
    fetches = run.ledger.steps("fetch")
    lost = {key for key, step in fetches.items() if step.status == "left-out"}
    fetched = {key for key, step in fetches.items() if step.status == "done"}
    added = additions(run.ledger)
    outputs = distilled(run)
    found: list[Subject] = []
    for key in sorted(outputs.keys() | added.keys()):
        output, addition = outputs.get(key, DistilOutput()), added.get(key, Addition())
        photos = anchors.get(key, AnchorOutput())
        if key in taxa and (key in fetched or key in added):
            if key in lost:  # the article is gone, what the user added stays
                output, photos = DistilOutput(), AnchorOutput()
            found.append(_species(run, loads(Taxon, taxa[key]), output, photos, addition))
        elif key not in taxa and (addition.term is not None or (output.term is not None and key not in lost)):
            found.append(addition.term or output.term)  # type: ignore[arg-type]  # one of them is there
    return found


def _species(
    run: BuildRun, taxon: Taxon, output: DistilOutput, photos: AnchorOutput, addition: Addition
) -> SpeciesEntry:
    summary, anchors = joined_summary(addition, output.summary), joined_anchors(addition, photos.anchors)
    marks = []
    if summary is None:
        marks.append(reasons.NO_SUMMARY)
    elif summary.scope == "article":
        marks.append(reasons.WHOLE_ARTICLE)
    if not anchors:
        marks.append(reasons.NO_ANCHORS)
    own = next((text.source for text in addition.texts), None)
    return SpeciesEntry(
        taxon=taxon,
        source=output.source or own,
        summary=summary,
        chunks=tuple(pack_chunks(summary, taxon.taxon_id, run.encoders.text_image)) if summary else (),
        anchors=anchors,
        marks=tuple(marks),
    )
