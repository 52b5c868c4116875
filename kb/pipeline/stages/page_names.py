"""Pages that do not name their species."""

from __future__ import annotations

import re

from data.records import Article, Taxon


def names_species(article: Article, taxon: Taxon) -> bool:
    """Return whether an article names a species: by any name, the last word of an English one, or its genus."""
    text = f"{article.source.title} {article.text}"
    names = {*taxon.common_names, *(name.split()[-1] for name in taxon.common_names), *taxon.synonyms}
    names |= {taxon.scientific_name, taxon.scientific_name.split()[0]}
    return any(re.search(rf"\b{re.escape(name)}(?:s|es)?\b", text, re.IGNORECASE) for name in names)
