"""Assembly of species and terms from their summaries, reference photos and additions, ready to encode and index."""

from __future__ import annotations

from dataclasses import replace

from data.codec import loads
from data.records import Source, SpeciesEntry, Taxon
from kb import reasons
from kb.distill.chunk import pack_chunks
from kb.pipeline.stages.run import BuildRun
from kb.sources.page_keys import is_page
from kb.store.additions import Addition, additions, joined_anchors, joined_summary
from kb.store.pages import held_pages, page_term, with_pages
from kb.store.rows import Subject
from kb.store.stage_outputs import AnchorOutput, DistilOutput

GROUP_MARKS = {"genus": reasons.GENUS_ARTICLE, "family": reasons.FAMILY_ARTICLE}


def assemble(run: BuildRun) -> list[Subject]:
    """Return every species and term with an article or an addition, sorted by id.

    Summaries are cut into chunks for this run's encoders. A page that a model failed to distil keeps its earlier
    summary, or has none.
    """
    ledger = run.ledger
    taxa = ledger.subjects("taxon")
    fetched = {key: step.status for key, step in ledger.steps("fetch").items()}
    distilled = ledger.outputs("distil", DistilOutput, "done", "failed")
    anchors = ledger.outputs("anchor", AnchorOutput)
    added, pages = additions(ledger), held_pages(ledger)
    found: list[Subject] = []
    for key in sorted(distilled.keys() | added.keys() | pages.keys()):
        if is_page(key):  # part of its species or term
            continue
        output, photos = distilled.get(key, DistilOutput()), anchors.get(key, AnchorOutput())
        addition = with_pages(added.get(key, Addition()), pages.get(key, {}), run.layout)
        if fetched.get(key) == "left-out":  # the article is gone, additions stay
            output, photos = DistilOutput(), AnchorOutput()
        if key not in taxa:
            term = addition.term or page_term(pages.get(key, {})) or output.term
            found += [replace(term, source=_shown(term.source))] if term is not None else []
        elif key in added or addition.texts or fetched.get(key) == "done":
            found.append(_species(run, loads(Taxon, taxa[key]), output, photos, addition))
    return found


def _species(
    run: BuildRun, taxon: Taxon, output: DistilOutput, photos: AnchorOutput, addition: Addition
) -> SpeciesEntry:
    summary, anchors = joined_summary(addition, output.summary), joined_anchors(addition, photos.anchors)
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
        chunks=tuple(pack_chunks(summary, taxon.taxon_id, run.encoders.text_image)) if summary else (),
        anchors=anchors,
        marks=tuple(marks),
    )


def _shown(source: Source | None) -> Source | None:
    """Return a source; without the revision of a user's own text, which is a hash of its files."""
    return source if source is None or source.url is not None else replace(source, revision=None)
