"""Rollback of an empty first build, so that a build from another source starts clean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace

from data.contracts import ArticleSource
from data.errors import FieldmarkError
from kb.store.additions import additions
from kb.store.layout import KnowledgeBaseInfo, Layout, write_info
from kb.store.ledger import Ledger
from kb.store.project import keep_info
from kb.store.stage_outputs import ORIGIN, removed


@contextmanager
def taken_back_if_vain(layout: Layout) -> Iterator[None]:
    """Take back what a first build began, if it fails before anything was looked up; for the holder of the lock."""
    is_first = not layout.toml.exists()
    try:
        yield
    except BaseException:
        if is_first:
            with suppress(OSError, FieldmarkError):  # why the build failed is what the user must hear
                _take_back(layout)
        raise


def _take_back(layout: Layout) -> None:
    own = {layout.lock.name, layout.toml.name, *(layout.ledger.name + end for end in ("", "-wal", "-shm"))}
    # Collections on a server are found by the id in `kb.toml` alone, and a file of any other kind holds something.
    if layout.require().chroma or any(path.name not in own for path in layout.root.iterdir()):
        return
    if layout.ledger.is_file():
        with closing(Ledger(layout.ledger, read_only=True)) as ledger:
            if ledger.subjects("taxon") or ledger.subjects("term") or ledger.left_out():
                return
    # `kb.toml` last: a ledger without it would be a knowledge base that has lost it.
    for path in sorted(layout.root.glob(f"{layout.ledger.name}*")):
        path.unlink()
    layout.toml.unlink()


def begun_anew(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, source: ArticleSource) -> KnowledgeBaseInfo:
    """Return what the knowledge base is for a build from `source`: its own, where no other source gave anything yet.

    What was looked up elsewhere is then forgotten, with what was left out and what failed there. A page that was
    fetched, whatever the user added or removed, and pages that `--only resolve` has looked up to the end stay.
    """
    if info.source == source.name or not _is_empty(ledger):
        return info
    with ledger.transaction():
        ledger.drop_subjects([*ledger.subjects("taxon"), *ledger.subjects("term")])
        ledger.drop_left_out([name for name, _, _ in ledger.left_out()])
        for prefix in ("resolved:", ORIGIN):
            ledger.drop_facts(prefix)
    anew = replace(info, source=source.name)
    write_info(layout.toml, anew)
    keep_info(ledger, anew)
    return anew


def _is_empty(ledger: Ledger) -> bool:
    fetches = ledger.steps("fetch").values()
    if any(step.status == "done" for step in fetches):
        return False
    is_resolved = any(step.status == "done" for step in ledger.steps("resolve").values())
    if is_resolved and not fetches and ledger.fact("building") is None:
        return False
    has_entries = bool(ledger.entry_columns("taxon") or ledger.entry_columns("term"))
    return not (has_entries or additions(ledger) or removed(ledger))
