"""Removal of species and terms, which builds and updates then leave out until they are added again."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from data.codec import loads
from data.errors import BadInput, UnknownTaxon
from data.files import writer_lock
from data.records import LeftOut, Removed, Taxon, Term
from data.starter.knowledge import read_terms
from data.words import nearest
from kb import reasons
from kb.checklist.names import fold
from kb.shipped import learnt_file, learnt_terms
from kb.sources.article_source import owner_of
from kb.store.generations import publishing
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from kb.store.stage_outputs import (
    STAGE,
    TEXTS,
    Addition,
    AnchorOutput,
    DistilOutput,
    FetchOutput,
    PublishedTexts,
    removed,
)

OutputT = TypeVar("OutputT")
_JOIN = "; "  # between the names of a removed subject
FILES = "removing"
"""Fact with the files of a removal, until they are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """A species or term of the ledger, with its main name and all its names."""

    key: str
    name: str
    reason: str
    names: tuple[str, ...]


def remove(path: str | Path, names: Sequence[str]) -> Removed:
    """Remove species (by any name) and terms from a knowledge base and return their names.

    Later builds and updates leave them out, as removed by the user, until `add` adds them again.

    Raises:
        MissingKnowledgeBase: if there is no knowledge base at `path`.
        StoreError: if its ledger is missing or damaged.
        UnknownTaxon: if a name is unknown; nothing is removed then.
        BadInput: if several species share a name.
        KnowledgeBaseLocked: if another process is writing to it.
    """
    layout = Layout(Path(path))
    info = layout.require()
    with writer_lock(layout.lock), closing(Ledger(layout.ledger)) as ledger:
        learnt = {term.term_id: _of_term(term) for term in learnt_terms(layout.root)}
        found = _found(ledger, [*_subjects(ledger), *learnt.values()], names)
        keys = {subject.key for subject in found}
        pages = {key: name for key, name in ledger.subject_names("page").items() if owner_of(key) in keys}
        keys |= pages.keys()
        unfinished: list[str] = json.loads(ledger.fact(FILES) or "[]")  # of a removal that was killed
        files = _files(layout, ledger, keys) | {layout.root / name for name in unfinished}
        with publishing(layout, info, ledger):
            ledger.set_fact(FILES, json.dumps(sorted(str(file.relative_to(layout.root)) for file in files)))
            ledger.set_left_out(
                LeftOut(name=each.name, reason=each.reason, detail=_JOIN.join(each.names[1:])) for each in found
            )
            ledger.drop_left_out(pages.values())
            ledger.drop_subjects(keys)
            ledger.publish([], gone=[key for key in sorted(keys) if ledger.entry(key) is not None])
        if forgotten := keys & learnt.keys():
            with learnt_file(layout.root) as cache:
                for key in forgotten:
                    cache.remove(key)
        unused = files - _files(layout, ledger)
        for file in unused:
            file.unlink(missing_ok=True)
        ledger.drop_fact(FILES)
        ledger.checkpoint()
    return Removed(names=tuple(subject.name for subject in found), files=len(unused))


def _found(ledger: Ledger, subjects: Sequence[_Subject], names: Sequence[str]) -> list[_Subject]:
    by_name: dict[str, dict[str, _Subject]] = {}
    for subject in subjects:
        for name in subject.names:
            by_name.setdefault(fold(name), {})[subject.key] = subject
    unwanted, rows = removed(ledger), ledger.left_out()
    gone = {fold(each) for name, _, others in rows if name in unwanted for each in (name, *others.split(_JOIN))}
    found: dict[str, _Subject] = {}
    for name in names:
        matches = by_name.get(fold(name), {})
        exact = [subject for subject in matches.values() if fold(subject.name) == fold(name)]
        chosen = exact or list(matches.values())
        if not chosen:  # look-ups explain a term of the glossary even if no build has it
            glossary = (_of_term(term) for term in read_terms() if fold(term.name) not in map(fold, unwanted))
            chosen = [term for term in glossary if fold(name) in map(fold, term.names)][:1]
        if not chosen and fold(name) in gone:
            continue
        if not chosen:
            known = [known for subject in subjects for known in subject.names]
            raise UnknownTaxon(name, suggestions=nearest(name, known, 3), where="the knowledge base")
        if len(chosen) > 1:
            listed = ", ".join(sorted(subject.name for subject in chosen))
            raise BadInput(f"{name!r} is a name of {listed}", hint="Give the scientific name.")
        found[chosen[0].key] = chosen[0]
    return list(found.values())


def _subjects(ledger: Ledger) -> Iterator[_Subject]:
    for key, record in ledger.subjects("taxon").items():
        taxon = loads(Taxon, record)
        yield _Subject(key=key, name=taxon.scientific_name, reason=reasons.REMOVED, names=taxon.names)
    aliases = {entry.subject_id: loads(Term, entry.record).aliases for entry in ledger.entries("term")}
    for key, name in ledger.subject_names("term").items():
        yield _of_term(Term(term_id=key, name=name, definition="", aliases=aliases.get(key, ())))


def _of_term(term: Term) -> _Subject:
    names = (term.name, *term.aliases)
    return _Subject(key=term.term_id, name=term.name, reason=f"term: {reasons.REMOVED}", names=names)


def _files(layout: Layout, ledger: Ledger, keys: Collection[str] | None = None) -> set[Path]:

    def outputs(stage: str, record: type[OutputT]) -> list[OutputT]:
        return [found for key, found in ledger.outputs(stage, record).items() if keys is None or key in keys]

    added = outputs(STAGE, Addition)
    texts = {page.sha256 for page in outputs("fetch", FetchOutput)}
    texts |= {distilled.text_sha256 or "" for distilled in outputs("distil", DistilOutput)}
    published = outputs(TEXTS, PublishedTexts)
    texts |= {text.sha256 for addition in added for text in addition.texts}
    texts |= {text.sha256 for each in published for text in each.texts} | {each.article or "" for each in published}
    anchors = [anchor for found in outputs("anchor", AnchorOutput) for anchor in found.anchors]
    photos = {anchor.sha256 for anchor in (*anchors, *(own for addition in added for own in addition.anchors))}
    return {layout.articles.path_of(sha256) for sha256 in texts if sha256} | {
        layout.anchors.path_of(sha256) for sha256 in photos if sha256
    }
