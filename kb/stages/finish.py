"""What came of every subject once it is distilled and has its anchors: the species and terms to encode and index."""

from __future__ import annotations

from data.codec import loads
from data.records import SpeciesEntry, Taxon
from kb.distilling.chunk import pack_chunks
from kb.rows import Subject
from kb.stages.anchor import AnchorOutput, anchors_of
from kb.stages.distil import DistilOutput, distilled
from kb.stages.run import BuildRun


def finished(run: BuildRun) -> list[Subject]:
    """Return every species and term that was distilled, sorted by id; chunks are cut here, for this run's encoders."""
    taxa = run.ledger.subjects("taxon")
    anchors = {key: anchors_of(step) for key, step in run.ledger.steps("anchor").items()}
    fetched = {key for key, step in run.ledger.steps("fetch").items() if step.status == "done"}
    found: list[Subject] = []
    for key, output in sorted(distilled(run).items()):
        if key in taxa and key in fetched:
            found.append(_species(run, loads(Taxon, taxa[key]), output, anchors.get(key, AnchorOutput())))
        elif key not in taxa and output.term is not None:
            found.append(output.term)
    return found


def _species(run: BuildRun, taxon: Taxon, output: DistilOutput, anchors: AnchorOutput) -> SpeciesEntry:
    marks = []
    if output.summary is None:
        marks.append("no-summary")
    elif output.summary.scope == "article":
        marks.append("whole-article")
    if not anchors.anchors:
        marks.append("no-anchors")
    chunks = pack_chunks(output.summary, taxon.taxon_id, run.encoders.text_image) if output.summary else []
    return SpeciesEntry(
        taxon=taxon,
        source=output.source,
        summary=output.summary,
        chunks=tuple(chunks),
        anchors=anchors.anchors,
        marks=tuple(marks),
    )
