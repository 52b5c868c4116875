"""Reports that several verbs print: the contents of a knowledge base, the lineage of a taxon, models and groups."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from cli.common import output
from cli.common.output import as_fields, as_table
from data.files import place_of
from data.records import HIGHER_RANKS, Failure, Source, Status, Taxon
from data.words import capitalised, plural
from kb.reasons import FAMILY_ARTICLE, GENUS_ARTICLE, NO_ANCHORS, NO_SUMMARY, WHOLE_ARTICLE
from recognize.settings import BIRD_PROFILE, GENERAL_PROFILE

if TYPE_CHECKING:
    from kb.checklist.reconcile import MatchedName, UnmatchedName
    from kb.lookup.entries import FoundSpecies, ListedSpecies
    from kb.store.knowledge_base import KnowledgeBase
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
BETTER: Final = "--profile best (pip install '.[models]') is the better choice"
_ASKED: Final = 64  # species, evenly spaced, that tell the group of a knowledge base
MAX_FAILURES = 10  # shown in a report; `--format json` has all of them


MAX_LEFT_OUT = 3  # names of one reason that are named
LeftOut = tuple[str, str, str]
"""Name, reason, detail."""


def status_text(
    status: Status,
    path: Path,
    *,
    left_out: Sequence[tuple[str, str, str]] = (),
    cost: Mapping[str, object] | None = None,
) -> str:
    """Return the contents of a knowledge base, names left out by reason, the cost of a build, and failures.

    Of `left_out` the names of a reason are named, if they are few.
    """
    counts = {
        "knowledge base": str(path),
        "species": f"{status.species:,}",
        "articles": f"{status.articles:,}",
        "summaries": f"{status.summaries:,}",
        "chunks": f"{status.chunks:,}",
        "reference photos": f"{status.anchors:,}",
        "terms": f"{status.terms:,}",
        "notes": by_reason({NOTES[mark]: n for mark, n in status.marks.items()}),
        "left out": left_out_text(status.left_out, left_out, path),
        "photos skipped": by_reason(status.skipped_photos),
        "failures": f"{len(status.failures):,}" if status.failures else None,
        "not finished": " and ".join(f"the last {work}" for work in status.unfinished) or None,
        "profile": status.profile,
        "checklist": status.checklist or None,
        "calibration": "; ".join(f"{preset}: {note}" for preset, note in status.calibrations.items()) or None,
        **(cost or {}),
    }
    return "\n".join([as_fields(counts), *failure_lines(status.failures)])


def left_out_text(counts: Mapping[str, int], rows: Sequence[LeftOut], path: Path) -> str:
    """Return the numbers of names left out by reason, with the names where they are few, and the way to see all."""
    few = {
        reason: [name for name, why, _ in rows if why == reason] for reason, n in counts.items() if n <= MAX_LEFT_OUT
    }
    text = by_reason(counts, {reason: f" ({', '.join(names)})" for reason, names in few.items() if names})
    return f"{text}; all of them: kb status --kb {shlex.quote(str(path))} --left-out" if rows and text else text


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


def by_reason(counts: Mapping[str, int], names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return counts by reason as one line, the most frequent first, each with a text on its names, if any."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{reason} {n:,}{names.get(reason, '')}" for reason, n in ordered)


def unmatched_text(names: Sequence[UnmatchedName], *, rest: str = "") -> str:
    """Return names without a species, with the reason and near names; `rest` says where the others are."""
    texts = [
        f"{name.name} ({name.reason}{', like ' + ' or '.join(name.suggestions) if name.suggestions else ''})"
        for name in names
    ]
    return output.first_few(texts, rest=rest)


def partial_text(names: Sequence[MatchedName]) -> str:
    """Return names matched without their bracket or third word, with their species."""
    texts = [f"{name.name} as {name.taxon.scientific_name}" for name in names]
    return f"{plural(len(texts), 'name')} matched without a bracket or third word: {output.first_few(texts)}"


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


def note_group_once(store: KnowledgeBase, home: Path) -> None:
    """Say how photos are compared as `note_group` does, once per knowledge base, and what is seldom named each time."""
    told = home / "notices" / store.info.id
    if not told.exists():
        note_group(store)
        with suppress(OSError):  # then it is said again
            told.parent.mkdir(parents=True, exist_ok=True)
            told.touch()
    n_without = store.status().marks.get(NO_ANCHORS, 0) if store.info.profile == GENERAL_PROFILE else 0
    if 0 < n_without < len(store.taxon_ids):
        have = "has no reference photo and is" if n_without == 1 else "have no reference photos and are"
        output.note(f"{plural(n_without, 'species', 'species')} {have} seldom named: kb add --photo gives one")


def note_group(store: KnowledgeBase) -> None:
    """Say how the photos of a knowledge base are compared, if not by a model trained on its species."""
    if store.info.profile == GENERAL_PROFILE:
        output.note(
            "The small models that ship were trained on birds. Other groups are compared by general features: with two "
            "reference photos of each of 350 species, the first name was right for .68 of the photos (of birds, as if "
            f"no model knew them). {BETTER}"
        )
    elif store.info.profile == BIRD_PROFILE and (n := n_others(store)):
        output.warn(bird_model_text(n))


def n_others(store: KnowledgeBase) -> int:
    """Return the number of species that are not birds, among up to 64 of them."""
    from kb.checklist.avilist import is_bird

    ids = store.taxon_ids
    asked = [ids[at * len(ids) // _ASKED] for at in range(_ASKED)] if len(ids) > _ASKED else ids
    return sum(not is_bird(entry.taxon) for entry in store.species(asked))


def bird_model_text(n: int) -> str:
    """Return the warning about species that are not birds in a knowledge base of the bird models."""
    return (
        f"{plural(n, 'species', 'species')} of this knowledge base {'is' if n == 1 else 'are'} no bird, but photos are "
        "compared, and confidence is estimated, by models trained on birds. Build another knowledge base for other "
        f"groups: it gets the profile {GENERAL_PROFILE}; {BETTER}"
    )


def species_payload(found: FoundSpecies) -> dict[str, object]:
    """Return a species as JSON values: every statement with source, evidence and quote, every photo with its credit."""
    from data.codec import to_json

    summary = found.entry.summary
    payload = to_json(found.entry)
    if summary is not None:
        for statement, source in zip(payload["summary"]["statements"], found.sources, strict=True):
            statement["source"] = to_json(source) if source is not None else None
        for statement, passages in zip(payload["summary"]["statements"], found.quotes, strict=True):
            # Without the article (bare facts) a statement has no evidence either.
            for span, passage in zip(statement["evidence"], passages, strict=False):
                span["quote"] = passage
        payload["summary"] |= {"text": summary.text, "words": summary.words}
    for given, anchor in zip(payload["anchors"], found.entry.anchors, strict=True):
        given["credit"] = anchor.credit
    return {**payload, "terms": [to_json(term) for term in found.terms]}


def unread_text(store: KnowledgeBase) -> str:
    """Return a sentence on species whose articles the extractive distiller could not read; empty if there are none."""
    entries = store.species(store.taxon_ids)
    counts = Counter(
        entry.source.language
        for entry in entries
        if entry.source is not None
        and entry.source.language != "en"
        and (entry.summary is None or entry.summary.distiller.startswith("extractive"))
    )
    if not counts:
        return ""
    return (
        f"The articles of {plural(counts.total(), 'species', 'species')} are in other languages "
        f"({', '.join(sorted(counts))}). The extractive distiller reads English alone, so their descriptions are "
        "missing or poor: --distiller model with a model in [llm.text] writes them. Names, photos and look-ups by name "
        "work."
    )


def lacks_language(store: KnowledgeBase) -> str:
    """Return a sentence, without full stop, if no species has a name in the language of the look-up; else empty."""
    if (language := store.language) == "en":
        return ""
    from kb.checklist.bird_names import speaks

    if any(speaks(language, each) for taxon in store.taxa() for each in taxon.names_by_language):
        return ""
    return (
        f'{capitalised(place_of(store.path))} has no names in the language "{language}": use English or scientific ones'
    )
