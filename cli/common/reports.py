"""Reports that several verbs print: the contents of a knowledge base, the lineage of a taxon, models and groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output
from cli.common.output import as_fields, as_table
from data.records import HIGHER_RANKS, Failure, Source, Status, Taxon
from kb.reasons import FAMILY_ARTICLE, GENUS_ARTICLE, NO_ANCHORS, NO_SUMMARY, WHOLE_ARTICLE

if TYPE_CHECKING:
    from kb.checklist.reconcile import UnmatchedName
    from kb.lookup.entries import ListedSpecies
    from kb.store.status import FamilyCoverage

NOTES = {
    NO_ANCHORS: "no reference photos",
    NO_SUMMARY: "no summary",
    WHOLE_ARTICLE: "summary of the whole article",
    GENUS_ARTICLE: "genus article",
    FAMILY_ARTICLE: "family article",
}
"""Mark of an incomplete species, or of an entry that stands for several -> words."""
MISSING = "known by name only"
"""Note of a species of the checklist that the knowledge base lacks."""
MAX_FAILURES = 10  # shown in a report; `--format json` has all of them


def status_text(status: Status, path: Path, *, cost: Mapping[str, object] | None = None) -> str:
    """Return the contents of a knowledge base, names left out by reason, the cost of a build, and failures."""
    counts = {
        "knowledge base": str(path),
        "species": f"{status.species:,}",
        "articles": f"{status.articles:,}",
        "summaries": f"{status.summaries:,}",
        "chunks": f"{status.chunks:,}",
        "reference photos": f"{status.anchors:,}",
        "terms": f"{status.terms:,}",
        "notes": by_reason({NOTES[mark]: n for mark, n in status.marks.items()}),
        "left out": by_reason(status.left_out),
        "photos skipped": by_reason(status.skipped_photos),
        "failures": f"{len(status.failures):,}" if status.failures else None,
        "not finished": " and ".join(f"the last {work}" for work in status.unfinished) or None,
        "profile": status.profile,
        "checklist": status.checklist or None,
        "calibration": "; ".join(f"{preset}: {note}" for preset, note in status.calibrations.items()) or None,
        **(cost or {}),
    }
    return "\n".join([as_fields(counts), *failure_lines(status.failures)])


def species_table(species: Sequence[ListedSpecies]) -> str:
    """Return a table of species: words of the description, reference photos, notes."""
    rows = [
        (each.common_name, each.scientific_name, each.description_words or None, each.reference_photos or None,
         ", ".join(NOTES[note] for note in each.notes) if each.is_included else MISSING)
        for each in species
    ]  # fmt: skip
    heads = ["common name", "scientific name", "words", "photos", "notes"]
    return as_table(heads, rows, right=["words", "photos"])


def coverage_text(families: Sequence[FamilyCoverage]) -> str | None:
    """Return how many of the species looked for have an article, and the least covered family; None if all have."""
    n_species, n_articles = sum(each.species for each in families), sum(each.articles for each in families)
    known = [each for each in families if each.family and each.articles < each.species]
    if not known:
        return None
    least = min(known, key=lambda each: (each.articles / each.species, -each.species))
    n_begun = sum(each.articles > 0 for each in families)
    return (
        f"{n_articles:,} of {n_species:,} species, in {n_begun:,} of {len(families):,} families; "
        f"least {least.family}: {least.articles:,} of {least.species:,}"
    )


def by_reason(counts: Mapping[str, int]) -> str:
    """Return counts by reason as one line, the most frequent first."""
    return ", ".join(f"{reason} {n:,}" for reason, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def unmatched_text(names: Sequence[UnmatchedName], *, rest: str = "") -> str:
    """Return names without a species, with the reason and near names; `rest` says where the others are."""
    texts = [
        f"{name.name} ({name.reason}{', like ' + ' or '.join(name.suggestions) if name.suggestions else ''})"
        for name in names
    ]
    return output.first_few(texts, rest=rest)


def failure_lines(failures: Sequence[Failure]) -> list[str]:
    """Return the first failures, one a line, and the number of others."""
    lines = [f"failed  {failure.taxon}: {failure.stage}: {failure.reason}" for failure in failures]
    if len(lines) > MAX_FAILURES:
        lines[MAX_FAILURES:] = [f"        and {len(lines) - MAX_FAILURES:,} more (kb status --format json)"]
    return lines


def source_text(source: Source) -> str:
    """Return title, address, revision and licence of a source; a page without a title has its address once."""
    revision = f"revision {source.revision}" if source.revision is not None else None
    parts = (source.title, source.url if source.url != source.title else None, revision, source.licence)
    return ", ".join(part for part in parts if part)


def lineage_text(taxon: Taxon) -> str:
    """Return the taxa above one, the highest first: `Aves > Passeriformes > Cardinalidae`."""
    # By rank, not as stored: canonical JSON sorts keys. Ranks that we do not know come last.
    known = [rank for rank in ("kingdom", "phylum", *HIGHER_RANKS) if rank in taxon.lineage]
    return " > ".join(taxon.lineage[rank] for rank in [*known, *(taxon.lineage.keys() - set(known))])
