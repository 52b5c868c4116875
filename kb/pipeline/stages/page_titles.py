"""Common names from the titles of articles: a wiki in another language, and its links to further ones."""

from __future__ import annotations

import re
from collections.abc import Mapping

from data.codec import dumps, loads
from data.records import Taxon
from kb.pipeline.stages.run import BuildRun
from kb.store.stage_outputs import FetchOutput

_QUALIFIER = re.compile(r"\s*[(（][^()（）]*[)）]$")


def add_page_titles(run: BuildRun) -> None:
    """Add the titles of fetched pages to the names of their species by language."""
    titled = {key: page.titles for key, page in run.ledger.outputs("fetch", FetchOutput, "done").items() if page.titles}
    if not titled:
        return
    changed = []
    for key, record in run.ledger.subjects("taxon").items():
        taxon = loads(Taxon, record)
        named = taxon.with_names(names_of(taxon, titled.get(key, {})))
        if named is not taxon:
            changed.append((key, "taxon", taxon.scientific_name, dumps(named)))
    with run.ledger.transaction():
        run.ledger.add_subjects((key, "taxon", name, record) for key, _, name, record in changed)


def names_of(taxon: Taxon, titles: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return language -> the common name in a title, without a qualifier; scientific titles give none.

    Example:
        >>> lady = Taxon(taxon_id="vanessa-cardui", scientific_name="Vanessa cardui", rank="species",
        ...              synonyms=("Cynthia cardui",))
        >>> names_of(lady, {"de": "Distelfalter", "fr": "Belle-dame (papillon)", "sv": "Vanessa cardui"})
        {'de': ('Distelfalter',), 'fr': ('Belle-dame',)}
    """
    genera = {name.split()[0].lower() for name in (taxon.scientific_name, *taxon.synonyms) if name.split()}
    found: dict[str, tuple[str, ...]] = {}
    for language, title in titles.items():
        name = _QUALIFIER.sub("", title).strip()
        if name and name.split()[0].lower() not in genera:
            found[language] = (name,)
    return found
