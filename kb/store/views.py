"""What the profiles of a knowledge base see of a subject: each has its own collections, and most its own chunks.

A knowledge base is built with one profile; the entries in the ledger are what that one sees. A profile that was added
sees the same texts and photos, in chunks that its own encoders read whole. The ledger keeps where they begin and end
(the stage `cut`), so that rows of every profile can be made again without any encoder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from data.codec import loads
from data.records import Chunk, Span, SpeciesEntry
from kb.distill.chunk import chunks_of_spans
from kb.store.layout import CollectionKind, KnowledgeBaseInfo, collection_owners, owned_collections
from kb.store.ledger import Entry, Ledger, fingerprint
from kb.store.rows import Subject, encode_mark, entry_of, items_of, row_id, subject_id, subject_of

STAGE = "cut"
"""The stage of the ledger that keeps the chunks of an added profile; its `space` is the profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where the chunks of a summary begin and end."""

    spans: tuple[Span, ...] = ()


class Views:
    """The subjects of a knowledge base as each of its collections holds them.

    Args:
        info: the knowledge base with all its profiles.
        ledger: where the cuts are.
    """

    def __init__(self, info: KnowledgeBaseInfo, ledger: Ledger) -> None:
        self._info, self._ledger = info, ledger
        self._owners = collection_owners(info)
        self._cuts = {added.profile: added.cut for added in info.added}
        self._collections = {added.profile: owned_collections(info, added.profile) for added in info.added}

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the profiles that were added."""
        return tuple(self._collections)

    def is_first(self, collection: str) -> bool:
        """Return whether the profile that the knowledge base was built with fills a collection."""
        return self._owners[collection] == self._info.profile

    def owner(self, collection: str) -> str:
        """Return the profile that fills a collection."""
        return self._owners[collection]

    def collections(self, profile: str) -> dict[str, tuple[CollectionKind, str]]:
        """Return collection name -> (kind, space) of those that an added profile fills."""
        return self._collections[profile]

    def of(self, collection: str, subject: Subject) -> Subject:
        """Return a subject as a collection holds it; without chunks where its summary is not cut for that yet."""
        return self.of_profile(self._owners[collection], subject)

    def of_profile(self, profile: str, subject: Subject) -> Subject:
        """Return a subject as a profile sees it.

        To an added one anchors that are vectors alone do not exist: nobody can encode them once more.
        """
        if profile not in self._cuts or not isinstance(subject, SpeciesEntry):
            return subject
        anchors = tuple(anchor for anchor in subject.anchors if anchor.sha256 is not None)
        return replace(subject, chunks=self.chunks(profile, subject), anchors=anchors)

    def chunks(self, profile: str, subject: SpeciesEntry) -> tuple[Chunk, ...]:
        """Return the chunks that a profile reads of a species; none where its summary is not cut for it yet."""
        if subject.summary is None or profile == self._info.profile:
            return subject.chunks
        step = self._ledger.step(subject_id(subject), STAGE, profile)
        if step is None or step.status != "done" or step.fingerprint != cut_mark(subject):
            return ()
        if self._cuts[profile] != profile:
            return self.chunks(self._cuts[profile], subject)
        if step.output is None:
            return ()
        return tuple(chunks_of_spans(subject.taxon.taxon_id, subject.summary.text, loads(Cut, step.output).spans))

    def entry_of(self, subject: Subject) -> Entry:
        """Return a subject as readers get it, with its rows in the collections of all profiles that are done with it.

        Of an added profile all rows are in or none: encoders whose scores are averaged must be of the same chunks.
        """
        entry = entry_of(subject, self._info)
        return replace(entry, rows=entry.rows | self._added_rows(subject)) if self._cuts else entry

    def _added_rows(self, subject: Subject) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for profile, collections in self._collections.items():
            rows: dict[str, list[str]] = {}
            view = self.of_profile(profile, subject)
            for name, (kind, _) in collections.items():
                if not is_in(subject, view, kind):
                    continue
                if not self.is_encoded(name, kind, view):
                    break
                rows[name] = [row_id(view, kind, item) for item, _ in items_of(view, kind)]
            else:
                found |= rows
        return found

    def is_encoded(self, collection: str, kind: CollectionKind, view: Subject) -> bool:
        """Return whether the ledger has the vectors of all that a collection should hold of a subject."""
        if not items_of(view, kind):
            return False
        step = self._ledger.step(subject_id(view), "encode", collection)
        return step is not None and step.status == "done" and step.fingerprint == encode_mark(view, collection, kind)

    def behind(self, entries: Iterable[Entry]) -> dict[str, int]:
        """Return profile -> how many of the entries lack its vectors, of each profile that was added."""
        found: Counter[str] = Counter()
        for entry in entries if self._collections else ():
            subject = subject_of(entry)
            for profile, collections in self._collections.items():
                view = self.of_profile(profile, subject)
                found[profile] += any(
                    name not in entry.rows for name, (kind, _) in collections.items() if is_in(subject, view, kind)
                )
        return {profile: found[profile] for profile in self._collections}


def is_in(subject: Subject, view: Subject, kind: CollectionKind) -> bool:
    """Return whether collections of a kind should hold anything of a subject that a profile sees as `view`."""
    if kind == "chunks" and isinstance(subject, SpeciesEntry):
        return subject.summary is not None
    return bool(items_of(view, kind))


def cut_mark(subject: SpeciesEntry) -> str:
    """Return the fingerprint of the summary that a cut is of."""
    return fingerprint(subject.summary.text if subject.summary is not None else None)
