"""Texts that a bundle leaves out: web pages without a free licence, answers of web searches, and local files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from data.contracts import Encoders
from data.errors import UsageError
from data.records import WebAnswer
from kb.addresses import is_web_address
from kb.licences import licence_freedom
from kb.pipeline.stages.encode import encode
from kb.pipeline.stages.index import assemble, publish
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import is_page, owner_of
from kb.store.generations import publishing
from kb.store.layout import KnowledgeBaseInfo, Layout
from kb.store.ledger import Ledger
from kb.store.rows import term_of
from kb.store.stage_outputs import FetchOutput, held_pages
from kb.store.verify import digest_of


def withheld_pages(ledger: Ledger, *, with_unfree: bool = False) -> dict[str, str]:
    """Return id -> address or query of the texts that may not be published; local files are private in any case.

    The licence of a search model's answer is not stated: it repeats pages that it cites.
    """
    fetched = ledger.outputs("fetch", FetchOutput) if (names := ledger.subject_names("page")) else {}
    found = {}
    for key, name in names.items():
        licence = fetched[key].source.licence if key in fetched else None
        is_free = licence is not None and licence_freedom(licence) == "free"
        if not is_web_address(name) or not (is_free or with_unfree):
            found[key] = name
    if not with_unfree:
        terms = [term_of(entry.record) for entry in ledger.entries("term")]
        found |= {term.term_id: term.name for term in terms if isinstance(term, WebAnswer)}
    return found


def n_texts(ledger: Ledger, pages: Collection[str]) -> int:
    """Return the number of texts among these, as credits count them: each once, and none of a page without text."""
    held = [item for found in held_pages(ledger).values() for item in found.items()]
    sources = {output.source for key, output in held if key in pages and (output.summary or output.term)}
    return len(sources) + sum(not is_page(key) for key in pages)


@contextmanager
def without_pages(
    layout: Layout,
    info: KnowledgeBaseInfo,
    ledger: Ledger,
    pages: dict[str, str],
    load_encoders: Callable[[], Encoders] | None,
    folder: Path,
) -> Iterator[tuple[Layout, Ledger, str]]:
    """Yield a copy of a knowledge base without some pages, its ledger, and its digest.

    The texts of their species are encoded again. `folder` is a new one for the copy; `load_encoders` loads the encoders
    of the knowledge base.
    """
    if load_encoders is None:
        raise UsageError(
            f"{layout.root} has {len(pages):,} texts of the web that a bundle leaves out; the rest is encoded again.",
            hint="Give the encoders of the knowledge base.",
        )
    copied, info = Layout(folder), replace(info, chroma="")
    copied.articles, copied.anchors, copied.checklist = layout.articles, layout.anchors, layout.checklist
    copied.vectors.mkdir(parents=True)
    (copied.vectors / ledger.generation()).symlink_to((layout.vectors / ledger.generation()).absolute())
    ledger.copy_to(copied.ledger)
    with closing(Ledger(copied.ledger)) as copy:
        with copy.transaction():
            copy.drop_left_out(pages.values())
            copy.drop_subjects(pages)
        run = BuildRun(layout=copied, info=info, ledger=copy, encoders=load_encoders())
        subjects = assemble(run)
        failed = encode(run, subjects)
        with publishing(copied, info, copy):
            publish(run, subjects, failed=failed, gone={owner_of(key) for key in pages})
        yield copied, copy, digest_of(copied, info, copy)
