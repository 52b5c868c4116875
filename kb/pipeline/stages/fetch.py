"""Fetch: the body of every page, stored by its hash, and the names in its title.

A stored revision is never fetched again. Entries of genera and families are in the knowledge base while none of their
species has an article there.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from data.codec import dumps, loads
from data.errors import SourceUnavailable, StoreError
from data.records import HIGHER_RANKS, Article, Failure, FetchedPage, LeftOut, PageRef, Taxon
from data.words import without_qualifier
from kb import reasons
from kb.pipeline.stages.resolve import located_pages, page_mark, term_left_out
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import ArticleSource, is_page, owner_of
from kb.sources.mediawiki.taxoboxes import stated_taxon
from kb.store.layout import Layout
from kb.store.ledger import Ledger, Step, StepStatus
from kb.store.stage_outputs import FetchOutput, additions, note_origin

_log = logging.getLogger(__name__)


def fetch(run: BuildRun) -> None:
    """Fetch every new page, one transaction per page.

    Raises:
        SourceUnavailable: if `max_failures_in_a_row` pages fail; fetched pages are kept.
    """
    pages = located_pages(run)
    marks = {key: page_mark(run, page) for key, page in pages.items()}
    todo = run.todo("fetch", marks)
    taxa, terms = run.ledger.subject_names("taxon"), run.ledger.subject_names("term")
    records = run.ledger.subjects("taxon")
    known = (loads(Taxon, records[key]) for key in todo if key in records)
    unclassified = {taxon.taxon_id: taxon for taxon in known if "class" not in taxon.lineage}
    tracker = run.track("fetch", len(todo), kept=len(marks) - len(todo))
    in_a_row = 0
    for page, result in run.source.fetch([pages[key] for key in todo]):
        key = page.subject_id
        if key in records and isinstance(result, FetchedPage):
            result = checked_group(run, loads(Taxon, records[key]), result)
        step = _step(run.layout, key, marks[key], result)
        with run.ledger.transaction():
            run.ledger.record([step])
            if isinstance(result, FetchedPage):
                note_origin(run.ledger, run.source)  # an update asks only the sources of pages
            if isinstance(result, FetchedPage) and key in unclassified:
                _complete_lineage(run, unclassified[key], result)
            if isinstance(result, LeftOut):
                lost = term_left_out(terms[key], result) if key in terms else result
                run.ledger.set_left_out([replace(lost, name=taxa.get(key, lost.name))])
        if isinstance(result, FetchedPage) and is_page(key):
            _warn_of_another_species(run, result)
        failed = isinstance(result, Failure)
        in_a_row = in_a_row + 1 if failed else 0
        tracker.add(failed=int(failed))
        if run.source.is_one_place and in_a_row >= run.settings.max_failures_in_a_row:
            raise SourceUnavailable(
                f"Too many pages failed in a row ({in_a_row}). Last error: {step.error}",
                hint="Fetched pages are kept. Run the same command again when the wiki responds.",
            )


def _complete_lineage(run: BuildRun, taxon: Taxon, page: FetchedPage) -> None:
    """Add the higher taxa in the taxobox of its page to a taxon that no checklist classifies."""
    box = run.source.parse(page).infobox
    classification = box.classification if box else {}
    stated = {"phylum": classification.get("division", ""), **classification, **taxon.lineage}
    ranks: Sequence[str] = ("kingdom", "phylum", *HIGHER_RANKS)
    if taxon.rank in HIGHER_RANKS:
        ranks = ranks[: ranks.index(taxon.rank)]
    lineage: dict[str, str] = {rank: stated[rank] for rank in ranks if stated.get(rank)}
    if lineage != taxon.lineage:
        full = replace(taxon, lineage=lineage)
        run.ledger.add_subjects([(taxon.taxon_id, "taxon", taxon.scientific_name, dumps(full))])


def _warn_of_another_species(run: BuildRun, page: FetchedPage) -> None:
    owner = owner_of(page.page.subject_id)
    record = run.ledger.subjects("taxon", ids=[owner]).get(owner)
    if not record:
        return
    taxon, article = loads(Taxon, record), run.source.parse(page)
    text = f"{article.source.title} {article.text}"
    names = {*taxon.common_names, *(name.split()[-1] for name in taxon.common_names), *taxon.synonyms}
    names |= {taxon.scientific_name, taxon.scientific_name.split()[0]}
    if not any(re.search(rf"\b{re.escape(name)}(?:s|es)?\b", text, re.IGNORECASE) for name in names):
        name = f"{taxon.common_name} ({taxon.scientific_name})"
        _log.warning("%s does not name %s. Is it about another species?", page.source.url, name)


def _step(layout: Layout, key: str, mark: str, result: FetchedPage | LeftOut | Failure) -> Step:
    if not isinstance(result, FetchedPage):
        status: StepStatus = "failed" if isinstance(result, Failure) else "left-out"
        return Step(subject_id=key, stage="fetch", fingerprint=mark, status=status, error=result.reason)
    output = FetchOutput(
        sha256=layout.articles.write(result.body.encode()),
        media_type=result.media_type,
        source=result.source,
        properties=result.properties,
        titles=result.titles,
        retrieved_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return Step(subject_id=key, stage="fetch", fingerprint=mark, output=dumps(output))


def fetched_pages(run: BuildRun) -> dict[str, FetchOutput]:
    """Return subject_id -> fetched page, for all pages of this run's source."""
    own = located_pages(run)
    return {key: page for key, page in run.ledger.outputs("fetch", FetchOutput, "done").items() if key in own}


def read_article(layout: Layout, source: ArticleSource, subject_id: str, output: FetchOutput) -> Article:
    """Return the article of a fetched page, parsed by its source.

    Raises:
        StoreError: if its file is missing or damaged.
    """
    fetched = FetchedPage(
        page=PageRef(subject_id=subject_id, title=output.source.title, revision=output.source.revision),
        body=layout.articles.read(output.sha256).decode(),
        media_type=output.media_type,
        source=output.source,
        properties=output.properties,
    )
    return source.parse(fetched)


def lost_body(ledger: Ledger, key: str, error: StoreError) -> Step:
    """Return a failed distil step for a page with a lost body, and let the next run fetch the page again."""
    with ledger.transaction():
        ledger.drop_steps([key], ["fetch"])
    return Step(subject_id=key, stage="distil", fingerprint="", status="failed", error=str(error))


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
    """Return language -> the common name in a title, without a qualifier; scientific titles give none."""
    genera = {name.split()[0].lower() for name in (taxon.scientific_name, *taxon.synonyms) if name.split()}
    found: dict[str, tuple[str, ...]] = {}
    for language, title in titles.items():
        name = without_qualifier(title).strip()
        if name and name.split()[0].lower() not in genera:
            found[language] = (name,)
    return found


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
