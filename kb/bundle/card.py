"""Dataset card of a bundle: contents, how to read it, licences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template

from data.records import SpeciesEntry, Term
from kb.store.layout import KnowledgeBaseInfo

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def card(
    info: KnowledgeBaseInfo,
    species: Sequence[SpeciesEntry],
    terms: Sequence[Term],
    licences: Mapping[str, int],
    *,
    with_vectors: bool,
) -> str:
    """Return the dataset card as Markdown with a YAML header; `licences` counts the photos of each licence."""
    n_images = sum(licences.values())
    texts = Counter((entry.source.licence if entry.source else None) or "no licence stated" for entry in species)
    lineages = [entry.taxon.lineage for entry in species]
    highest = Counter(_plain(lineage.get("class") or lineage.get("order") or "") for lineage in lineages)
    of = ", ".join(f"{name} {n:,}" for name, n in highest.most_common(5) if name)
    spaces = ", ".join(f"`{_plain(space)}`" for space in info.spaces)
    template = Template(files("kb.bundle").joinpath("card.md").read_text(encoding="utf-8"))
    return template.substitute(  # licence `other`: each text and photo has its own
        title=f"Field marks of {len(species):,} species",
        languages="\n".join(f"- {language}" for language in info.languages),
        size=next((name for limit, name in _SIZES if n_images < limit), "n>1M"),
        n_species=f"{len(species):,}",
        of=f" ({of})" if of else "",
        n_terms=f"{len(terms):,}",
        n_images=f"{n_images:,}",
        vectors=f"unit vectors of chunks, photos, species and terms in the spaces {spaces}"
        if with_vectors
        else "not included; an import encodes texts and photos again",
        texts=", ".join(f"{_plain(name)} ({n:,} species)" for name, n in texts.most_common()) or "none",
        licences="\n".join(f"| {_plain(name)} | {n:,} |" for name, n in sorted(licences.items())) or "| - | 0 |",
    )


def _plain(text: str) -> str:
    return " ".join(text.replace("|", "/").split())
