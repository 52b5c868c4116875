"""`kb show`: everything that a knowledge base holds of one species or term."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import options, output, wiring
from cli.common.reports import NOTES, lineage_text, source_text, species_payload, species_table
from data.errors import BadInput
from data.words import plural

if TYPE_CHECKING:
    from data.records import Anchor, Taxon, Term
    from kb.lookup.entries import FoundSpecies


@click.command()
@options.words_argument("name")
@options.kb_option()
@options.format_option("text", "json")
def show(name: str, kb: Path | None, form: str) -> None:
    """Show a species or a term: summary with its evidence, reference photos with credits, terms.

    NAME is a scientific name, a common name or a term. Of a genus, family or order, the species are listed.

    Example: kb show "Northern Cardinal"
    """
    from data.records import Term
    from kb.lookup.entries import find_entry, members_of

    with wiring.open_knowledge_base(options.settings(kb=kb)) as store:
        try:
            found = find_entry(store, name)
        except BadInput:
            if not (members := members_of(store, name)):
                raise
            output.write_record(form, members, lambda: species_table(members))
            return
    if not isinstance(found, Term) and found.note:
        output.note(found.note)
    if isinstance(found, Term):
        output.write_record(form, {"term": found}, lambda: term_text(found))
    else:
        output.write(output.as_json(species_payload(found)) if form == "json" else species_text(found))


def species_text(found: FoundSpecies) -> str:
    """Return a species for people: names, summary with its evidence, reference photos with credits, terms."""
    entry = found.entry
    taxon = entry.taxon
    head = {
        "species": f"{taxon.common_name} ({taxon.scientific_name})",
        "other names": ", ".join((*taxon.common_names[1:], *taxon.synonyms)),
        "languages": foreign_names(taxon),
        "lineage": lineage_text(taxon),
        "identifiers": ", ".join(f"{checklist} {identifier}" for checklist, identifier in sorted(taxon.ids.items())),
        "notes": ", ".join(NOTES[mark] for mark in entry.marks),
        "article": source_text(entry.source) if entry.source is not None else "",
    }
    lines = [output.as_fields(head)]
    if entry.summary is not None:
        lines += ["", f"Summary ({entry.summary.words} words, {entry.summary.distiller})"]
        following = (*found.sources[1:], None)
        is_extractive = all(name.startswith("extractive") for name in entry.summary.distiller.split(" + "))
        quoted = zip(entry.summary.statements, found.quotes, found.sources, following, strict=True)
        n_same = 0
        for statement, passages, source, next_source in quoted:
            lines.append(output.wrapped(statement.text, indent="  "))
            # The extractive distiller cites the sentence itself last, after the one that its pronoun refers to.
            n_context = max(0, len(passages) - 1) if is_extractive else 0
            n_same += bool(passages) and set(passages[n_context:]) == {statement.text}
            lines += [
                output.wrapped(f"{'context' if i < n_context else 'evidence'}: {passage}", indent="      ")
                for i, passage in enumerate(passages)
                if passage != statement.text
            ]
            if source not in (None, entry.source, next_source):
                lines.append(output.wrapped(f"from: {source_text(source)}", indent="      "))
        if n_same:
            n_all = len(entry.summary.statements)
            which = "all sentences" if n_same == n_all else f"{n_same} of {plural(n_all, 'sentence')}"
            text = "article" if set(found.sources) == {entry.source} else "texts"
            lines.append(f"  ({which} quoted from the {text})")
    if entry.anchors:
        lines += ["", "Reference photos", *photo_lines(entry.anchors)]
    if found.terms:
        lines += ["", "Terms"]
        lines += [output.wrapped(f"{term.name}: {term.definition}", indent="  ") for term in found.terms]
    return "\n".join(lines)


def foreign_names(taxon: Taxon) -> str:
    """Return the names in other languages than the names already shown, each language with its code."""
    shown = set(taxon.names)
    by_language = (
        (language, [name for name in names if name not in shown]) for language, names in taxon.names_by_language.items()
    )
    return "; ".join(f"{language} {', '.join(names)}" for language, names in by_language if names)


def photo_lines(anchors: Sequence[Anchor]) -> list[str]:
    """Return the reference photos: file and credit of each, and the number of those held as vectors only."""
    photos = [anchor for anchor in anchors if anchor.sha256 is not None]
    lines = [output.wrapped(f"{anchor.file or anchor.anchor_id}: {anchor.credit}", indent="  ") for anchor in photos]
    if n_vectors := len(anchors) - len(photos):
        lines.append(f"  {plural(n_vectors, 'photo')} stored as {'vectors' if n_vectors > 1 else 'a vector'} only")
    return lines


def term_text(term: Term) -> str:
    """Return a term for people: its name, definition, what to look for, and the source."""
    return output.as_fields(
        {
            "term": term.name,
            "other names": ", ".join(term.aliases),
            "definition": term.definition,
            "look for": term.look_for,
            "source": source_text(term.source) if term.source else "",
        }
    )
