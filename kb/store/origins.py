"""Where the pages of a knowledge base came from: enough to open each source again, never a secret."""

from __future__ import annotations

import json
from collections.abc import Mapping

from data.contracts import ArticleSource
from kb.store.ledger import Ledger

PREFIX = "source:"


def note_origin(ledger: Ledger, source: ArticleSource) -> None:
    """Keep in the ledger how a source is opened again, under the name that all its pages are noted with."""
    if source.origin:
        ledger.set_fact(PREFIX + source.name, json.dumps(dict(source.origin), sort_keys=True))


def read_origins(ledger: Ledger) -> dict[str, Mapping[str, str]]:
    """Return name of the source -> how it is opened again, of all that built the knowledge base, sorted by name."""
    return {key.removeprefix(PREFIX): json.loads(value) for key, value in ledger.facts(PREFIX)}
