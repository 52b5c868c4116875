"""Entries of genera and families: in the knowledge base while none of their species has an article there."""

from __future__ import annotations

from data.codec import loads
from data.records import FetchedPage, LeftOut, Taxon
from kb import reasons
from kb.pipeline.stages.run import BuildRun
from kb.sources.mediawiki.taxoboxes import stated_taxon
from kb.store.additions import additions

GROUPS = ("genus", "family")
COVERED = "its species have their own articles"


def checked_group(run: BuildRun, taxon: Taxon, page: FetchedPage) -> FetchedPage | LeftOut:
    """Return the page of a genus or family, or a reason to leave it out if its taxobox states another taxon."""
    if taxon.rank not in GROUPS:
        return page
    box = run.source.parse(page).infobox
    if box is None:
        return LeftOut(name=page.page.title, reason=reasons.OTHER_SUBJECT, detail="no taxobox")
    stated = stated_taxon(box)
    if stated == (taxon.rank, taxon.scientific_name) or (
        stated.rank == "species" and stated.name.split()[0] == taxon.scientific_name  # its only one
    ):
        return page
    return LeftOut(name=page.page.title, reason=reasons.NOT_A_SPECIES, detail=" ".join(stated))


def settle_groups(run: BuildRun) -> None:
    """Take out each genus and family of which a species, or a genus, has an article by now; let the others in again.

    The rule looks at the whole knowledge base, so the order of builds does not matter: a species that gets its own
    article replaces the entry of its genus at the next build or update.
    """
    ledger = run.ledger
    taxa = {key: loads(Taxon, record) for key, record in ledger.subjects("taxon").items()}
    groups = [key for rank in GROUPS for key, taxon in taxa.items() if taxon.rank == rank]
    if not groups:
        return
    fetched, added = ledger.steps("fetch"), additions(ledger)
    held = {key for key in taxa if key in added or ((step := fetched.get(key)) and step.status == "done")}
    covered = {item for key in held if key not in groups for item in taxa[key].lineage.items()}
    with ledger.transaction():
        for key in groups:
            taxon, step = taxa[key], fetched.get(key)
            if step is None or step.output is None:  # no page, or another taxon's
                continue
            name = taxon.scientific_name
            if (taxon.rank, name) in covered:
                ledger.record([step._replace(status="left-out", error=COVERED)])
                ledger.set_left_out(
                    [LeftOut(name=name, reason=reasons.NOT_A_SPECIES, detail=f"{taxon.rank}; {COVERED}")]
                )
                continue
            covered |= set(taxon.lineage.items())
            if step.status == "left-out":
                ledger.record([step._replace(status="done", error=None)])
                ledger.drop_left_out([name])
