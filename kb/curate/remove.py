"""Taking species and terms out of a knowledge base for good: builds and updates pass them over until they are added."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from data.codec import loads
from data.errors import BadInput, UnknownTaxon
from data.files import writer_lock
from data.records import Removed, Taxon, Term
from kb import reasons
from kb.checklist.names import fold
from kb.lookup.index import shipped_terms
from kb.store.additions import additions
from kb.store.layout import Layout
from kb.store.ledger import Ledger, Step
from kb.store.project import project
from kb.store.stage_outputs import DistilOutput, FetchOutput, anchors_of, removed

FILES = "removing"
"""The fact of the ledger that lists the files of a removal until they are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """A species or term of the ledger, with the name that it is noted by and all that it goes by."""

    key: str
    name: str
    reason: str
    names: tuple[str, ...]


def remove(path: str | Path, names: Sequence[str]) -> Removed:
    """Remove species (by any name) and terms from a knowledge base and return their names.

    They stay out: a later build or update passes them over, and counts them as removed by the user. `add` undoes that.

    Raises:
        MissingKnowledgeBase: if there is none.
        UnknownTaxon: for a name that it does not know, with suggestions; nothing is removed then.
        BadInput: for a name that several species have.
        KnowledgeBaseLocked: if another process is writing to it.

    Example:
        >>> import tempfile, kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
        >>> owls = [taxon for taxon in source.taxa() if taxon.common_name in ("Snowy Owl", "Western Barn Owl")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = kb.build(f"{folder}/owls.kb", owls, source, encoders)
        ...     removed = kb.remove(f"{folder}/owls.kb", ["Snowy Owl"])
        ...     status = kb.build(f"{folder}/owls.kb", owls, source, encoders)
        >>> removed.names, status.species, status.left_out
        (('Bubo scandiacus',), 1, {'removed by the user': 1})
    """
    layout = Layout(Path(path))
    info = layout.require()
    with writer_lock(layout.lock), closing(Ledger(layout.ledger)) as ledger:
        found = _found(ledger, names)
        keys = {subject.key for subject in found}
        files = _files(ledger, keys) | _left_behind(ledger)
        with ledger.transaction():
            ledger.set_fact(FILES, json.dumps(sorted((file.is_photo, file.sha256) for file in files)))
            ledger.set_left_out((subject.name, subject.reason, "") for subject in found)
            ledger.drop_subjects(keys)
        project(layout, info, ledger)
        unused = files - _files(ledger)
        for file in unused:
            file.unlink_from(layout)
        ledger.drop_fact(FILES)
        ledger.checkpoint()
    return Removed(names=tuple(subject.name for subject in found), files=len(unused))


def _left_behind(ledger: Ledger) -> set[_File]:
    """Return the files that a removal which was killed has not deleted any more."""
    return {_File(is_photo=is_photo, sha256=sha256) for is_photo, sha256 in json.loads(ledger.fact(FILES) or "[]")}


def _found(ledger: Ledger, names: Sequence[str]) -> list[_Subject]:
    """Return the subjects of the names, each once; what was removed already is passed over.

    Raises:
        UnknownTaxon: for a name that nothing goes by.
        BadInput: for a name that several species go by.
    """
    by_name: dict[str, dict[str, _Subject]] = {}
    subjects = list(_subjects(ledger))
    for subject in subjects:
        for name in subject.names:
            by_name.setdefault(fold(name), {})[subject.key] = subject
    gone = {fold(name) for name in removed(ledger)}
    found: dict[str, _Subject] = {}
    for name in names:
        matches = by_name.get(fold(name), {})
        exact = [subject for subject in matches.values() if fold(subject.name) == fold(name)]
        chosen = exact or list(matches.values())
        if not chosen and fold(name) in gone:
            continue
        if not chosen and (term := _shipped(name)) is not None:
            chosen = [term]  # it is not held here, but look-ups would go on explaining it
        if not chosen:
            known = [known for subject in subjects for known in subject.names]
            raise UnknownTaxon(name, suggestions=get_close_matches(name, known, n=3), where="the knowledge base")
        if len(chosen) > 1:
            listed = ", ".join(sorted(subject.name for subject in chosen))
            raise BadInput(f"{name!r} is a name of {listed}", hint="give the scientific name")
        found[chosen[0].key] = chosen[0]
    return list(found.values())


def _subjects(ledger: Ledger) -> Iterator[_Subject]:
    for key, record in ledger.subjects("taxon").items():
        taxon = loads(Taxon, record)
        names = (taxon.scientific_name, *taxon.common_names, *taxon.synonyms)
        yield _Subject(key=key, name=taxon.scientific_name, reason=reasons.REMOVED, names=names)
    aliases = {entry.subject_id: loads(Term, entry.record).aliases for entry in ledger.entries("term")}
    for key, name in ledger.subject_names("term").items():
        reason = f"term: {reasons.REMOVED}"
        yield _Subject(key=key, name=name, reason=reason, names=(name, *aliases.get(key, ())))


def _shipped(name: str) -> _Subject | None:
    """Return the term of the glossary that goes by a name, or None."""
    for term in shipped_terms():
        if fold(name) in map(fold, (term.name, *term.aliases)):
            return _Subject(key=term.term_id, name=term.name, reason=f"term: {reasons.REMOVED}", names=(term.name,))
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A content of `articles/` or `anchors/`."""

    is_photo: bool
    sha256: str

    def unlink_from(self, layout: Layout) -> None:
        folder = layout.anchors if self.is_photo else layout.articles
        folder.path_of(self.sha256).unlink(missing_ok=True)


def _files(ledger: Ledger, keys: Collection[str] | None = None) -> set[_File]:
    """Return the files that the ledger names, of all subjects or of some."""
    texts: set[str] = set()
    photos: set[str] = set()

    def wanted(stage: str) -> Iterator[Step]:
        return (step for key, step in ledger.steps(stage).items() if (keys is None or key in keys) and step.output)

    texts |= {loads(FetchOutput, step.output or "").sha256 for step in wanted("fetch")}
    texts |= {found for step in wanted("distil") if (found := loads(DistilOutput, step.output or "").text_sha256)}
    photos |= {anchor.sha256 for step in wanted("anchor") for anchor in anchors_of(step).anchors if anchor.sha256}
    for key, addition in additions(ledger).items():
        if keys is None or key in keys:
            texts |= {text.sha256 for text in addition.texts}
            photos |= {anchor.sha256 for anchor in addition.anchors if anchor.sha256}
    return {_File(is_photo=False, sha256=sha256) for sha256 in texts} | {
        _File(is_photo=True, sha256=sha256) for sha256 in photos
    }
