"""Dataset card of a bundle: contents, how to read it, licences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from string import Template

from data.records import SpeciesEntry, Term
from kb.store.layout import KnowledgeBaseInfo

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

# Licence `other`: each text and photo has its own.
_CARD = Template("""\
---
pretty_name: $title
license: other
language:
$languages
task_categories:
- image-classification
- zero-shot-image-classification
tags:
- biology
- biodiversity
- species
- fieldmark
size_categories:
- $size
configs:
- config_name: default
  drop_labels: true
  data_files:
  - split: train
    path:
    - images/metadata.parquet
    - images/**
---

# $title

A knowledge base of $n_species species$of and $n_terms terms, built with Fieldmark:
a short description of each species, reference photos, and their sources.

| file | contents |
|---|---|
| `images/`, `images/metadata.parquet` | $n_images photos, and a row for each: species, author, licence, file page |
| `species.parquet` | a row per species: names, lineage, summary, article; `record` is the complete entry as JSON |
| `terms.parquet` | a row per term: definition, what to look for, source |
| `articles.parquet` | the texts behind the summaries, by sha256 |
| `vectors/` | $vectors |
| `ledger/`, `calibration/`, `manifest.json` | data for Fieldmark; size and sha256 of every file |

## How to read it

```python
import pandas as pd
species = pd.read_parquet("species.parquet")
photos = pd.read_parquet("images/metadata.parquet")

from datasets import load_dataset
photos = load_dataset("imagefolder", data_dir=".", split="train")  # with the photos themselves
```

With Fieldmark: `kb import . --kb my.kb`.

## Licences

Texts: $texts.
The summary of an article under CC BY-SA is an adaptation under the same licence; `species.parquet` names the article,
revision and licence of each.

Photos, each to be credited to the `author` in its row:

| licence | photos |
|---|---|
$licences
""")


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
    return _CARD.substitute(
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
