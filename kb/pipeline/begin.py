"""Beginning of a build: a new or matching knowledge base, and rollback of a first build without results."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from data.codec import loads
from data.contracts import Checklist, Encoders
from data.errors import FieldmarkError, SpaceMismatch, UsageError
from data.records import Taxon
from kb.checklist.wiki_checklist import WithTaxoboxes
from kb.sources.article_source import ArticleSource
from kb.store.additions import additions
from kb.store.layout import KnowledgeBaseInfo, Layout, keep_info, new_info, write_info
from kb.store.ledger import Ledger
from kb.store.stage_outputs import ORIGIN, removed


def begin(layout: Layout, source: ArticleSource, encoders: Encoders) -> KnowledgeBaseInfo:
    """Return the contents of `kb.toml`, written first for a new knowledge base; needs the writer's lock."""
    layout.remove_leftovers()
    if not layout.toml.exists():
        info = new_info(encoders, source=source.name)
        write_info(layout.toml, info)
        return info
    info = layout.require()
    if info.spaces != encoders.spaces:
        raise SpaceMismatch(
            expected=info.spaces, given=encoders.spaces, hint=_other_profile_hint(layout.root, encoders.profile)
        )
    return info


def profile_to_build(path: Path, wanted: str | None) -> str | None:
    """Return the profile of the knowledge base at `path`, or `wanted` if there is none."""
    own = Layout(path).profile
    if own is not None and wanted not in (None, own):
        raise UsageError(
            f"{path} was built with the profile {own}, expected {wanted}.", hint=_other_profile_hint(path, wanted)
        )
    return own or wanted


def _other_profile_hint(path: Path, profile: str | None) -> str:
    kb, new = shlex.quote(str(path)), shlex.quote(f"{path.stem}-{profile}.kb")
    bundle = shlex.quote(f"{path.stem}-bundle")
    return (
        f"Build another one (kb build --profile {profile} --kb {new} ...), or encode its texts and photos again: "
        f"kb export {bundle} --kb {kb}, then kb import {bundle} --re-encode --profile {profile} --kb {new}"
    )


@contextmanager
def rolled_back_if_empty(layout: Layout) -> Iterator[None]:
    """Remove a new knowledge base if its first build or addition fails before any content; needs the writer's lock."""
    is_first = not layout.toml.exists()
    try:
        yield
    except BaseException:
        if is_first:
            with suppress(OSError, FieldmarkError):  # the user must see the error of the build
                _roll_back(layout)
        raise


def _roll_back(layout: Layout) -> None:
    own = {path.name for path in (layout.lock, layout.toml, layout.checklist)}
    own |= {layout.ledger.name + end for end in ("", "-wal", "-shm")}
    # Collections on a server are only found by the id in `kb.toml`; any other file is content.
    if layout.require().chroma or any(path.name not in own for path in layout.root.iterdir()):
        return
    if layout.ledger.is_file():
        with closing(Ledger(layout.ledger, read_only=True)) as ledger:
            if ledger.subjects("taxon") or ledger.subjects("term") or ledger.left_out():
                return
    # `kb.toml` last: a ledger without it would be a damaged knowledge base.
    for path in sorted(layout.root.glob(f"{layout.ledger.name}*")):
        path.unlink()
    layout.checklist.unlink(missing_ok=True)
    layout.toml.unlink()


def note_names(
    layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, checklist: Checklist | None, language: str | None
) -> KnowledgeBaseInfo:
    """Return `info` with checklist and language of this build, where they are given, and record them."""
    noted = info
    if checklist is not None:
        name, digest = checklist.name, checklist.digest
        if isinstance(checklist, WithTaxoboxes):
            name, digest = checklist.recorded_for([loads(Taxon, each) for each in ledger.subjects("taxon").values()])
        noted = replace(info, checklist=name, checklist_digest=digest)
    if language is not None:
        noted = replace(noted, languages=(language, *(each for each in info.languages if each not in (language, "en"))))
    if noted == info:
        return info
    write_info(layout.toml, noted)
    with ledger.transaction():
        keep_info(ledger, noted)
    return noted


def restart_if_empty(
    layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, source: ArticleSource
) -> KnowledgeBaseInfo:
    """Return `info`, with `source` as its source if no other source has given anything yet.

    Look-ups, left-out names and failures of the earlier source are then deleted. Fetched pages, additions, removals and
    the completed look-ups of `--only resolve` prevent a restart.
    """
    fetches = ledger.steps("fetch").values()
    is_resolved = any(step.status == "done" for step in ledger.steps("resolve").values())
    if (
        info.source == source.name
        or any(step.status == "done" for step in fetches)
        or (is_resolved and not fetches and ledger.fact("building") is None)
        or next(ledger.entries(), None) or additions(ledger) or removed(ledger)
    ):  # fmt: skip
        return info
    with ledger.transaction():
        ledger.drop_subjects([*ledger.subjects("taxon"), *ledger.subjects("term"), *ledger.subjects("page")])
        ledger.drop_left_out([name for name, _, _ in ledger.left_out()])
        for prefix in ("resolved:", ORIGIN):
            ledger.drop_facts(prefix)
    restarted = replace(info, source=source.name)
    write_info(layout.toml, restarted)
    with ledger.transaction():
        keep_info(ledger, restarted)
    return restarted
