"""The knowledge base that ships with Fieldmark, and `kb.open`."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.cache_file import CacheFile
from data.errors import FieldmarkError, MissingRequirement
from data.files import STARTER, is_shipped, sha256_hex, user_folder, writer_lock
from data.records import STAGES, Progress, Term
from kb.store.knowledge_base import KnowledgeBase
from kb.store.rows import term_of

if TYPE_CHECKING:
    from data.contracts import Encoders

ENCODERS: Final = "fieldmark.encoders"
"""Entry points of encoders by profile; `kb` imports no encoder itself."""
MAX_WAIT_S: Final = 300.0  # for another process that unpacks it
LEARNT: Final = "learnt.sqlite"
"""File of the terms and web answers learnt beside it, which the next version finds too."""

logger = logging.getLogger(__name__)


def open_knowledge_base(
    path: str | Path | None = None,
    *,
    home: Path | None = None,
    encoders: Encoders | None = None,
    language: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> KnowledgeBase:
    """Return a knowledge base opened for reading; this is `kb.open`.

    Args:
        path: its folder; None or `"starter"` is the knowledge that ships with Fieldmark, unpacked on first
            use (about half a minute).
        home: where the shipped knowledge is unpacked; without it, `FIELDMARK_HOME`, else `~/.local/share/fieldmark`.
        encoders: the starter encoders, to unpack it with; without them, those of the installed distribution.
        language: code of the language whose common names come first; by default that of the knowledge base.
        progress: called while it is unpacked; without it a bar appears on stderr in terminals and notebooks.

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
        path = unpack_shipped(home or user_folder(), encoders or _installed_encoders(), progress)
    return KnowledgeBase(path, language=language)


def unpack_shipped(home: Path, encoders: Encoders, progress: Callable[[Progress], None] | None = None) -> Path:
    """Return the folder of the shipped knowledge base, unpacked below `home` on first use.

    Its name depends on the versions of source and store, the encoders' spaces and the detector, so that an upgrade
    unpacks it again. It is built under another name and renamed when complete. Of several processes, one builds it and
    the others wait.

    Raises:
        KnowledgeBaseLocked: if another process is still unpacking it after five minutes.
    """
    from data.images.views import views_mark
    from kb.sources.starter import StarterSource
    from kb.store.layout import SCHEMA_VERSION
    from kb.store.ledger_file import LEDGER_VERSION

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
        from kb.pipeline.builder import build

        logger.info("Unpacking the shipped knowledge (first use only)")
        parts = folder / f"{key}.part"
        shutil.rmtree(parts, ignore_errors=True)  # left by a killed process: we hold its lock
        with _bar() if progress is None else nullcontext(progress) as show:
            build(parts, source.taxa(), source, encoders, terms=source.terms(), progress=show)
        parts.rename(path)
    return path


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    """Give a function that moves a bar over all stages on stderr; without a terminal or notebook nothing appears."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not (console.is_terminal or console.is_jupyter)) as bar:
        task = bar.add_task("Unpacking the shipped knowledge (first use only)", total=len(STAGES))

        def show(now: Progress) -> None:
            bar.update(task, completed=STAGES.index(now.stage) + now.done / max(now.total, 1))

        yield show


def _installed_encoders() -> Encoders:
    for offered in entry_points(group=ENCODERS, name=STARTER):
        encoders: Encoders = offered.load()(STARTER)
        return encoders
    raise MissingRequirement(
        "The shipped knowledge needs the starter encoders, and no installed package offers them.",
        hint='pip install . in Fieldmark\'s folder, or kb.open("starter", encoders=recognize.load_encoders("starter"))',
    )


def learnt_terms(path: Path) -> list[Term]:
    """Return the terms and web answers learnt beside the shipped knowledge base; none beside another one."""
    if not is_shipped(path) or not path.with_name(LEARNT).exists():
        return []
    try:
        with learnt_file(path) as file:
            return [term_of(text) for text in file.texts()]
    except FieldmarkError as error:
        logger.warning("Terms and answers learnt earlier are not used: %s", error)
        return []


def learnt_file(path: Path) -> CacheFile:
    """Return the file beside the shipped knowledge base with the terms and web answers learnt, by id."""
    return CacheFile(path.with_name(LEARNT), lost="terms and answers are looked up again")
