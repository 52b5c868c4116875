"""Copy of `kb.toml` in the ledger, which tells a damaged file and restores it."""

from __future__ import annotations

from dataclasses import replace

from data.errors import StoreError
from kb.store.layout import KnowledgeBaseInfo, Layout, info_text, parse_info
from kb.store.ledger import Ledger

INFO = "kb.toml"
"""Fact with the text of `kb.toml`."""


def keep_info(ledger: Ledger, info: KnowledgeBaseInfo) -> None:
    """Copy `kb.toml` into the ledger, from which `verify` can restore it."""
    if ledger.fact(INFO) != info_text(info):
        ledger.set_fact(INFO, info_text(info))


def check_info(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger) -> None:
    """Raise `StoreError` if `kb.toml` differs from the ledger's copy in anything but `chroma`, which users may edit."""
    copied = ledger.fact(INFO)
    if copied is not None and replace(parse_info(copied, layout.toml), chroma=info.chroma) != info:
        raise StoreError(
            f"{layout.toml} is damaged: it differs from the ledger's copy",
            hint=f"kb verify --kb {layout.root} restores it",
        )
