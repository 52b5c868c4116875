"""How the verbs that keep a knowledge base up are wired: its sources opened again, names that become taxa."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import wiring
from cli.common.config import Settings
from cli.common.models import chosen_distiller, usage_fields
from data.errors import BadInput, UsageError
from data.records import Added, Exported, Imported, Progress, Removed, Taxon, Update

if TYPE_CHECKING:
    from data.contracts import ArticleSource, Encoders  # numpy is behind it


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateOrder:
    """What an update is asked for: the wiki's address where the one on record is not enough, and limits."""

    api_url: str | None = None
    kinds: tuple[str, ...] = ()
    """Kinds of sources to ask (wikipedia, folder, starter); all if empty."""
    max_cost: float | None = None
    is_offline: bool = False


def updated(
    settings: Settings, order: UpdateOrder, progress: Callable[[Progress], None]
) -> tuple[Update, Mapping[str, object]]:
    """Bring the knowledge base that the settings name up to date, and return what changed and what a model took.

    Of the settings the contact and the models count; the wiki, its language and the distiller are the knowledge base's
    own.

    Raises:
        UsageError: if there is no record of a source, none of the kinds asked for, or only what ships with Fieldmark.
    """
    import kb

    path = wiring.named(settings)
    with kb.open(path) as store:
        known, profile, is_empty = store.origins(), store.info.profile, not store.taxon_ids
    chosen = [origin for origin in known.values() if not order.kinds or origin["kind"] in order.kinds]
    if not known and is_empty:
        raise UsageError(f"{path} holds no species yet, so there is nothing to update", hint="kb build takes some in")
    if not chosen:
        wanted = f"no source of kind {', '.join(order.kinds)}" if known else "no record of where its pages came from"
        raise UsageError(f"{path} has {wanted}", hint="run the kb build that made it once more")
    if all(origin["kind"] == "starter" for origin in chosen):
        raise UsageError(
            f"{path} holds knowledge that ships with Fieldmark: there is no wiki or folder to update it from",
            hint="build one of your own, which kb update keeps up: kb build --taxon Aves --kb birds.kb",
        )
    encoders = wiring.load_encoders(profile)
    own = replace(settings, distiller=None)
    with ExitStack() as stack:
        distilling = stack.enter_context(chosen_distiller(own, path, max_cost=order.max_cost, offline=order.is_offline))
        sources = [_opened_again(origin, settings, order.api_url, encoders.spaces, stack) for origin in chosen]
        found = kb.update(path, sources, encoders, distiller=distilling.distiller, progress=progress)
        return found, usage_fields(distilling)


def _opened_again(
    origin: Mapping[str, str], settings: Settings, api_url: str | None, spaces: Sequence[str], stack: ExitStack
) -> ArticleSource:
    if origin["kind"] == "folder":
        from kb.sources.folder import FolderSource

        return FolderSource(origin["path"])
    if origin["kind"] == "starter":
        from kb.sources.starter import StarterSource

        return StarterSource(spaces=spaces)
    from kb.sources.mediawiki.source import WikipediaSource

    wiki = WikipediaSource(
        api_url or origin["api_url"],
        contact=settings.contact,
        language=origin["language"],
        thumbnail_px=int(origin["thumbnail_px"]),
        allow_any_licence=origin["licences"] == "any",
    )
    stack.callback(wiki.close)
    return wiki


@dataclass(frozen=True, slots=True, kw_only=True)
class Addendum:
    """What a user wants to add: a species by its name, with what no checklist says of it, or a term."""

    name: str | None = None
    term: str | None = None
    common_names: tuple[str, ...] = ()
    lineage: Mapping[str, str]
    texts: tuple[Path, ...] = ()
    photos: tuple[Path, ...] = ()
    author: str | None = None
    licence: str | None = None
    url: str | None = None
    as_is: bool = False

    def __post_init__(self) -> None:
        if (self.name is None) == (self.term is None):
            raise UsageError("expected --name for a species or --term for a term")
        if self.term is not None and (self.photos or self.common_names or any(self.lineage.values())):
            raise UsageError("a term has a text, and neither photos nor a lineage", hint="--name adds a species")


def added(settings: Settings, addendum: Addendum) -> Added:
    """Add a species or term of the user's own to the knowledge base that the settings name."""
    import kb

    path = wiring.named(settings)
    credit = {"licence": addendum.licence, "url": addendum.url}
    texts = [kb.OwnText(text=_read(file), title=file.name, **credit) for file in addendum.texts]
    photos = [kb.OwnPhoto(path=file, author=addendum.author, **credit) for file in addendum.photos]
    subject = addendum.term if addendum.term is not None else _taxon(addendum)
    return kb.add(path, subject, _encoders(path, settings), texts=texts, photos=photos, as_is=addendum.as_is)


def removed(settings: Settings, names: Sequence[str]) -> Removed:
    """Take species and terms out of the knowledge base that the settings name."""
    import kb

    return kb.remove(wiring.named(settings), names)


def exported(settings: Settings, out: Path, *, with_vectors: bool) -> Exported:
    """Write the knowledge base that the settings name as a bundle."""
    import kb

    return kb.export_bundle(wiring.named(settings), out, with_vectors=with_vectors)


def imported(
    settings: Settings, bundle: Path, *, profile: str | None, re_encode: bool, progress: Callable[[Progress], None]
) -> Imported:
    """Make a bundle the knowledge base that the settings name, with the models of `profile`, else the bundle's own."""
    import kb
    from cli.common.config import PROFILES
    from kb.bundle.manifest import read_manifest

    path = wiring.named(settings)
    own = read_manifest(bundle).profile
    encoders = wiring.load_encoders(profile or (own if own in PROFILES else settings.profile))
    return kb.import_bundle(bundle, path, encoders, re_encode=re_encode, progress=progress)


def _encoders(path: Path, settings: Settings) -> Encoders:
    """Return the encoders of a knowledge base; those of the settings' profile for one that is to be made."""
    from kb.store.layout import Layout

    toml = Layout(path).toml
    return wiring.load_encoders(Layout(path).require().profile if toml.exists() else settings.profile)


def _taxon(addendum: Addendum) -> Taxon:
    """Return the species of the checklist that goes by the name, else one made of what the user says."""
    from kb.checklist.avilist import load_checklist
    from kb.checklist.selection import own_taxon

    name = " ".join((addendum.name or "").split())
    found = load_checklist().find(name)
    if found is not None and found.rank == "species":
        return replace(found, common_names=tuple(dict.fromkeys((*found.common_names, *addendum.common_names))))
    if found is not None:
        raise BadInput(f"{name} is a {found.rank}, expected a species")
    return own_taxon(name, common_names=addendum.common_names, lineage=addendum.lineage)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} is not UTF-8 text: {error.reason} at byte {error.start}") from error
