"""Chroma's collections moved between the folder of a knowledge base and a server."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from data.errors import SourceUnavailable
from kb.store.chroma import Collections
from kb.store.chroma.folder_clients import throw_away
from kb.store.layout import KnowledgeBaseInfo, Layout, write_info
from kb.store.ledger import Ledger
from kb.store.project import drop_collections, empty, project


def collections_at(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, to: str | None) -> KnowledgeBaseInfo:
    """Return `kb.toml` with the collections at `to`, a server's address or empty for the folder; None: where they are.

    They are filled from the ledger, and `kb.toml` is changed when all are there. Then the old ones are deleted, if
    their server answers. For the holder of the writer's lock.

    Raises:
        ConfigError: if `to` is not an address.
        SourceUnavailable: if the server does not answer; this is found before pages are fetched for hours.
    """
    if to is None or to == info.chroma:
        if info.chroma:
            Collections(layout, info).close()
        return info
    moved = replace(info, chroma=to)
    empty(layout, moved, ledger)
    project(layout, moved, ledger)
    write_info(layout.toml, moved)
    if info.chroma:
        with suppress(SourceUnavailable):  # which may be the reason for moving
            drop_collections(layout, info)
    else:
        throw_away(layout.chroma)
    return moved
