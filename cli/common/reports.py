"""Records as text for people. Pure: every function returns what is to be printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common.output import as_fields, as_table, plural, wrapped
from data.records import Context, SpeciesEntry, Status, Taxon, TaxonMatch, Term

if TYPE_CHECKING:
    from cli.common.wiring import FoundTaxon

RANKS = ("class", "order", "family", "genus")
LEFT_OUT_COLUMNS = ("name", "reason", "detail")
MAX_FAILURES = 10  # shown in a report; `--format json` has all of them


def status_text(status: Status, path: Path) -> str:
    """Return the counts of a knowledge base, its failures, and what was left out by reason."""
    return "\n".join([as_fields({"knowledge base": str(path), **_counts(status)}), *_failures(status)])


def _counts(status: Status) -> dict[str, object]:
    return {
        "species": status.species,
        "articles": status.articles,
        "summaries": status.summaries,
        "chunks": status.chunks,
        "anchors": status.anchors,
        "terms": status.terms,
        "marked": by_reason(status.marks),
        "left out": by_reason(status.left_out),
        "photos passed over": by_reason(status.skipped_photos),
        "failures": len(status.failures) or None,
        "profile": status.profile,
        "spaces": ", ".join(status.spaces),
    }


def by_reason(counts: Mapping[str, int]) -> str:
    """Return counts by reason as one line, the most frequent first."""
    return ", ".join(f"{reason} {n:,}" for reason, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _failures(status: Status) -> list[str]:
    lines = [f"failed  {failure.taxon}: {failure.stage}: {failure.reason}" for failure in status.failures]
    if len(lines) > MAX_FAILURES:
        lines[MAX_FAILURES:] = [f"        and {len(lines) - MAX_FAILURES:,} more (kb status --format json)"]
    return lines


def build_text(
    status: Status, path: Path, *, seconds: float, n_requests: int | None, model: Mapping[str, object] | None = None
) -> str:
    """Return the report of a build: what the knowledge base holds now, what was asked of a model, what the run cost."""
    cost = {**(model or {}), "requests": n_requests, "seconds": f"{seconds:.1f}"}
    return "\n".join([as_fields({"knowledge base": str(path), **_counts(status), **cost}), *_failures(status)])


def context_text(context: Context, *, is_model_asked: bool = False) -> str:
    """Return the passage with its sources, or that nothing was found; and who wrote it, where a model was asked to."""
    if not context.found:
        return "nothing found"
    lines = [wrapped(paragraph) for paragraph in context.passage.split("\n")]
    if is_model_asked and context.written_by is None:
        lines += ["(put together from the texts; no model wrote it)"]
    elif context.written_by is not None:
        lines += [f"(written by {context.written_by} out of the texts below)"]
    if context.sources:
        lines += ["", "Sources"]
    for source in context.sources:
        revision = f"revision {source.revision}" if source.revision is not None else None
        lines.append("  " + ", ".join(part for part in (source.title, source.url, revision, source.licence) if part))
    return "\n".join(lines)


def matches_table(matches: Sequence[TaxonMatch]) -> str:
    """Return the species found, best first."""
    rows = [(rank, match.common_name, match.scientific_name, match.score) for rank, match in enumerate(matches, 1)]
    return as_table(["#", "common name", "scientific name", "score"], rows, right=["#", "score"])


def taxa_table(found: Sequence[FoundTaxon]) -> str:
    """Return the taxa found with their lineage, the number of species in them, and whether the KB has them."""
    is_kb_known = any(item.n_in_kb is not None for item in found)
    columns = ["rank", "scientific name", "common name", "lineage", "species", *(["in KB"] if is_kb_known else [])]
    rows = [
        (
            item.match.rank,
            item.match.scientific_name,
            item.match.common_name,
            lineage_text(item.taxon),
            f"{item.n_species:,}",
            *([item.n_in_kb] if is_kb_known else []),
        )
        for item in found
    ]
    return as_table(columns, rows, right=["species", "in KB"])


def lineage_text(taxon: Taxon) -> str:
    """Return the taxa above one, the highest first: `Aves > Passeriformes > Cardinalidae`."""
    # By rank, not as stored: canonical JSON sorts keys. Ranks that we do not know come last.
    known = [rank for rank in RANKS if rank in taxon.lineage]
    return " > ".join(taxon.lineage[rank] for rank in [*known, *(taxon.lineage.keys() - set(known))])


def species_text(entry: SpeciesEntry, quotes: Sequence[Sequence[str]], terms: Sequence[Term]) -> str:
    """Return all that is known of a species: names, summary with the words of its article, anchors with credits.

    Args:
        entry: the species.
        quotes: for each statement of the summary the passages of the article that support it.
        terms: the terms that its summary uses.
    """
    taxon, source = entry.taxon, entry.source
    identifiers = ", ".join(f"{checklist} {identifier}" for checklist, identifier in sorted(taxon.ids.items()))
    head = {
        "species": f"{taxon.common_name} ({taxon.scientific_name})",
        "also": ", ".join((*taxon.common_names[1:], *taxon.synonyms)),
        "lineage": lineage_text(taxon),
        "identifiers": identifiers,
        "marks": ", ".join(entry.marks),
    }
    if source is not None:
        revision = f"revision {source.revision}" if source.revision is not None else None
        head["article"] = ", ".join(part for part in (source.title, source.url, revision, source.licence) if part)
    lines = [as_fields(head)]
    if entry.summary is not None:
        lines += ["", f"Summary ({entry.summary.words} words, {entry.summary.distiller})"]
        for statement, passages in zip(entry.summary.statements, quotes, strict=True):
            lines.append(wrapped(statement.text, indent="  "))
            others = [passage for passage in passages if passage != statement.text]
            lines += [wrapped(f"from: {passage}", indent="      ") for passage in others]
        n_same = sum(
            bool(passages) and all(passage == statement.text for passage in passages)
            for statement, passages in zip(entry.summary.statements, quotes, strict=True)
        )
        if n_same:
            told = "all sentences are" if n_same == len(entry.summary.statements) else f"{plural(n_same, 'sentence')}:"
            lines.append(f"  ({told} in the article's own words)")
    if entry.anchors:
        lines += ["", "Anchors"]
        lines += [
            f"  {anchor.file or anchor.anchor_id}: {anchor.credit or 'a vector, no picture'}"
            for anchor in entry.anchors
        ]
    if terms:
        lines += ["", "Terms"]
        lines += [wrapped(f"{term.name}: {term.definition}", indent="  ") for term in terms]
    return "\n".join(lines)


def term_text(term: Term) -> str:
    """Return a term: its name, what it means, what to look for, where that comes from."""
    source = term.source
    where = ", ".join(str(part) for part in (source.title, source.url, source.licence) if part) if source else ""
    fields = {"term": term.name, "also": ", ".join(term.aliases), "means": term.definition, "look for": term.look_for}
    return as_fields({**fields, "source": where})


def found_photos(n: int, n_passed_over: int) -> str:
    """Return how many photos are to be identified, and how many other files the folders held."""
    passed_over = f"; {plural(n_passed_over, 'other file')} passed over" if n_passed_over else ""
    return plural(n, "photo") + passed_over
