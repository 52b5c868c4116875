"""Moving the collections of a knowledge base: from its folder to a Chroma server, to another server, or back."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace

from data.errors import SourceUnavailable
from kb.store.chroma import Collections
from kb.store.layout import KnowledgeBaseInfo, Layout, write_info
from kb.store.ledger import Ledger
from kb.store.verify import keep_info, mend_chroma


def collections_at(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, to: str | None) -> KnowledgeBaseInfo:
    """Return what `kb.toml` says with the collections at `to`, moved there if need be; None leaves them where they are.

    Raises:
        SourceUnavailable: if the server that has them, or shall, does not answer: before hours are spent on fetching.
    """
    if to is not None and to != info.chroma:
        return move_collections(layout, info, ledger, to=to)
    if info.chroma:
        Collections(layout, info).close()
    return info


def move_collections(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, *, to: str) -> KnowledgeBaseInfo:
    """Return what `kb.toml` says once the collections lie at `to`: a server's address, or empty for the folder.

    They are written anew from the ledger, and `kb.toml` names the new place only when all is there: stopped before,
    the old place still holds. Only then the old one is emptied, if it can be reached. For the holder of the lock.

    Raises:
        ConfigError: if `to` is no address.
        SourceUnavailable: if the server there does not answer.
    """
    moved = replace(info, chroma=to)
    if not to:  # what an earlier move left half done
        shutil.rmtree(layout.chroma, ignore_errors=True)
    with Collections(layout, moved, forget=not to) as target:
        mend_chroma(ledger, target)
    write_info(layout.toml, moved)
    keep_info(ledger, moved)
    if not info.chroma:
        shutil.rmtree(layout.chroma, ignore_errors=True)
        return moved
    with suppress(SourceUnavailable), Collections(layout, info) as source:  # that it is gone may be why they move
        for name in source.names:
            source.drop(name)
    return moved
