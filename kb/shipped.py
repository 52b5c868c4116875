"""The knowledge base that ships with Fieldmark, and `kb.open`."""

from __future__ import annotations

import logging
import shutil
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.errors import MissingRequirement
from data.files import sha256_hex, user_folder, writer_lock
from data.images.views import views_mark
from kb.store.knowledge_base import KnowledgeBase

if TYPE_CHECKING:
    from data.contracts import Encoders

STARTER: Final = "starter"
ENCODERS: Final = "fieldmark.encoders"
"""Entry points of encoders by profile; `kb` imports no encoder itself."""
MAX_WAIT_S: Final = 300.0  # for another process that unpacks it

logger = logging.getLogger(__name__)


def open_knowledge_base(
    path: str | Path | None = None,
    *,
    home: Path | None = None,
    encoders: Encoders | None = None,
    language: str | None = None,
) -> KnowledgeBase:
    """Return a knowledge base opened for reading; this is `kb.open`.

    Args:
        path: its folder; None or `"starter"` is the knowledge that ships with Fieldmark, unpacked on first
            use (about half a minute).
        home: where the shipped knowledge is unpacked; without it, `FIELDMARK_HOME`, else `~/.local/share/fieldmark`.
        encoders: the starter encoders, to unpack it with; without them, those of the installed distribution.
        language: code of the language whose common names come first; by default that of the knowledge base.

    Raises:
        MissingKnowledgeBase: if there is none at `path`.
        StoreError: if its ledger cannot be read, or another version wrote it.
        KnowledgeBaseLocked: if another process is still unpacking the shipped knowledge after five minutes.
        MissingRequirement: if it must be unpacked and no encoders are given or installed.

    Example:
        >>> import tempfile, kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source = StarterSource(with_vectors=False)
        >>> owls = [taxon for taxon in source.taxa() if taxon.common_name == "Snowy Owl"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = kb.build(f"{folder}/owls.kb", owls, source, recognize.load_encoders("starter"))
        ...     with kb.open(f"{folder}/owls.kb") as store:
        ...         [entry] = store.species(["bubo-scandiacus"])
        >>> entry.taxon.common_name, len(entry.anchors)
        ('Snowy Owl', 3)
    """
    if path is None or path == STARTER:
        path = unpack_shipped(home or user_folder(), encoders or _installed_encoders())
    return KnowledgeBase(path, language=language)


def unpack_shipped(home: Path, encoders: Encoders) -> Path:
    """Return the folder of the shipped knowledge base, unpacked below `home` on first use.

    Its name depends on the versions of source and store, the encoders' spaces and the detector, so that an upgrade
    unpacks it again. It is built under another name and renamed when complete. Of several processes, one builds it and
    the others wait.

    Raises:
        KnowledgeBaseLocked: if another process is still unpacking it after five minutes.
    """
    from kb.pipeline.builder import build
    from kb.sources.starter import StarterSource
    from kb.store.layout import SCHEMA_VERSION
    from kb.store.ledger.file import LEDGER_VERSION

    source = StarterSource(spaces=encoders.anchor_spaces)
    versions = f"{SCHEMA_VERSION} {LEDGER_VERSION}"
    key = sha256_hex("\n".join([source.name, versions, *encoders.spaces, views_mark(encoders.detector)]))[:16]
    folder = home / STARTER
    path = folder / f"{key}.kb"
    if path.is_dir():
        return path
    with writer_lock(folder / f"{key}.lock", wait_s=MAX_WAIT_S):
        if path.is_dir():
            return path
        logger.info("Unpacking the shipped knowledge (first use only)")
        parts = folder / f"{key}.part"
        shutil.rmtree(parts, ignore_errors=True)  # left by a killed process: we hold its lock
        build(parts, source.taxa(), source, encoders, terms=source.terms())
        parts.rename(path)
    return path


def _installed_encoders() -> Encoders:
    for offered in entry_points(group=ENCODERS, name=STARTER):
        encoders: Encoders = offered.load()(STARTER)
        return encoders
    raise MissingRequirement(
        "The shipped knowledge needs the starter encoders, and no installed package offers them.",
        hint='pip install . in Fieldmark\'s folder, or kb.open("starter", encoders=recognize.load_encoders("starter"))',
    )
