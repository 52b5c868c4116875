"""Checklists of this machine (AviList, added files) and of a knowledge base (what it keeps, or its own species)."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final

from data.codec import dumps
from data.contracts import Checklist
from data.errors import BadInput, MissingRequirement, StoreError, UsageError, did_you_mean
from data.files import replacing, sha256_hex, sha256_of_file, storage_errors, turn
from data.records import Taxon
from kb.checklist.avilist import AVILIST_NAME, AviList, load_checklist
from kb.checklist.names import LADDER
from kb.checklist.stored.formats import ChecklistFile, Names, Rows, open_checklist_file
from kb.checklist.stored.indexing import Report, index_checklist
from kb.checklist.stored.stored_checklist import StoredChecklist
from kb.checklist.wiki_checklist import AND_WIKI, WIKI, WikiChecklist, WithTaxoboxes


def kept_checklist(file: Path, name: str, digest: str, *, language: str = "en") -> Checklist | None:
    """Return the checklist that a knowledge base records by name and digest; None where it keeps no file of it.

    Args:
        file: the copy that `keep` wrote, if it did.
        name: name and edition, empty if none is recorded.
        digest: SHA-256 of the checklist's file.
        language: language of the common names that come first.

    Raises:
        StoreError: if the file is damaged.
    """
    if name.lower().startswith(AVILIST_NAME):  # of whatever edition
        return load_checklist(language)
    found = StoredChecklist(file, language=language) if digest and file.is_file() else None
    return found if found is not None and found.digest == digest else None


def checklist_for(
    file: Path, name: str, digest: str, taxa: Callable[[], Sequence[Taxon]], *, language: str = "en"
) -> Checklist:
    """Return the same, or else the species of the knowledge base as a checklist of their own.

    A knowledge base without a record is one of birds, by AviList, unless none of its species is a bird.
    """
    found = kept_checklist(file, name, digest, language=language)
    if found is not None:
        return WithTaxoboxes(found, taxa()) if name.endswith(AND_WIKI) else found
    held = taxa()
    is_of_birds = not name and (not held or any(taxon.lineage.get("class") == "Aves" for taxon in held))
    return load_checklist(language) if is_of_birds else WikiChecklist(held)


SUFFIX: Final = ".sqlite"


class Shelf:
    """Indexed checklists in the folder `checklists` of Fieldmark's own files."""

    def __init__(self, home: Path, *, language: str = "en") -> None:
        self.folder = home / "checklists"
        self._language = language

    def add(self, file: Path, name: str | None = None, report: Report = lambda *_: None) -> StoredChecklist:
        """Index a checklist file under a name, by default that of the file, and return the checklist.

        A checklist of the same name is replaced, unless it is of the same file. A killed call leaves no checklist.

        Raises:
            BadInput: if the file is no checklist, or has no taxa.
            UsageError: for a name with other characters than letters, digits, points and hyphens, or for `avilist` or
                `wiki`.
        """
        name = name_of_file(file) if name is None else name
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,63}", name) or name.lower() in (AVILIST_NAME, WIKI):
            raise UsageError(
                f'A checklist cannot be named "{name}".',
                hint=f"Use letters, digits, points and hyphens; not {AVILIST_NAME} or {WIKI}.",
            )
        digest = digest_of(file)
        opened = open_checklist_file(file)
        edition = " ".join(opened.edition.split())[:40]
        meta = {"name": name, "edition": edition, "digest": digest, "title": opened.title, "file": file.name}

        def described() -> dict[str, str]:
            if digest_of(file) != digest:
                raise BadInput(f"{file} changed while it was read.", hint="Run the command again once it is complete.")
            return meta

        self.folder.mkdir(parents=True, exist_ok=True)
        with turn(self.folder / ".lock"), storage_errors(self.folder):
            if (held := self._held(name)) is not None and held.digest == digest:
                return held
            for left in (*self.folder.glob("*.rows"), *self.folder.glob(".*.new")):
                left.unlink()  # of a killed process
            index_checklist(opened, self.path_of(name), described, report)
        return self.stored(name)

    def remove(self, name: str) -> None:
        """Delete the index of an added checklist.

        Raises:
            MissingRequirement: if there is none of that name.
        """
        if name not in self.names():
            hint = did_you_mean(name, self.names()) or "kb checklist list shows the checklists."
            raise MissingRequirement(f'No added checklist is named "{name}".', hint=hint)
        with turn(self.folder / ".lock"), storage_errors(self.folder):
            self.path_of(name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Return the names of the added checklists."""
        return sorted(path.name.removesuffix(SUFFIX) for path in self.folder.glob(f"[!.]*{SUFFIX}"))

    def open(self, name_or_file: str | None = None, report: Report = lambda *_: None) -> Checklist:
        """Return the checklist with that name, or of that file, which is added first; without either, AviList.

        Raises:
            MissingRequirement: if there is neither.
            BadInput: if the file is no checklist.
        """
        if name_or_file is None or name_or_file.lower() == AVILIST_NAME:
            return load_checklist(self._language)
        if name_or_file.lower() == WIKI:
            return WikiChecklist()
        if name_or_file in self.names():
            return self.stored(name_or_file)
        file = Path(name_or_file).expanduser()
        if not file.exists() and (file.suffix or len(file.parts) > 1):
            raise BadInput(f"File not found: {file}")
        if not file.exists():
            near = did_you_mean(name_or_file, [AVILIST_NAME, *self.names()])
            raise MissingRequirement(
                f'No checklist and no file is named "{name_or_file}".',
                hint=near or "kb checklist list shows the checklists; kb checklist add FILE adds one.",
            )
        return self.with_digest(digest_of(file)) or self.add(file, report=report)

    def stored(self, name: str) -> StoredChecklist:
        """Return the added checklist with that name."""
        return StoredChecklist(self.path_of(name), language=self._language)

    def with_digest(self, digest: str) -> StoredChecklist | None:
        """Return the added checklist made of the file with that digest."""
        held = (self._held(name) for name in self.names())
        return next((found for found in held if found is not None and found.digest == digest), None)

    def used_by(self, name: str, digest: str, kept: Path) -> Checklist:
        """Return the checklist that a knowledge base records by name and digest; AviList for one that records none.

        The checklist of this shelf comes before the copy in the knowledge base.

        Raises:
            MissingRequirement: if it is neither on this machine nor in the knowledge base.
            StoreError: if the file in the knowledge base is damaged.
        """
        if name == WIKI:
            return WikiChecklist()
        if not name:
            return load_checklist(self._language)
        found = self.with_digest(digest) or kept_checklist(kept, name, digest, language=self._language)
        if found is None:
            raise MissingRequirement(
                f"The checklist {name} of this knowledge base is not on this machine.",
                hint="Add its file: kb checklist add FILE. Or name another one: --checklist NAME|FILE.",
            )
        return found

    def path_of(self, name: str) -> Path:
        """Return the file of an added checklist."""
        return self.folder / f"{name}{SUFFIX}"

    def _held(self, name: str) -> StoredChecklist | None:
        """Return the added checklist with that name; None if there is none, or its file is damaged or outdated."""
        with suppress(StoreError):
            return self.stored(name) if self.path_of(name).is_file() else None
        return None


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, or of all files of a folder with their names.

    Raises:
        BadInput: if it cannot be read.
    """
    try:
        if not path.is_dir():
            return sha256_of_file(path)
        files = sorted(each for each in path.rglob("*") if each.is_file())
        return sha256_hex("".join(f"{file.relative_to(path).as_posix()} {sha256_of_file(file)}\n" for file in files))
    except FileNotFoundError as error:
        raise BadInput(f"File not found: {path}") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error


def name_of_file(file: Path) -> str:
    """Return the name of a checklist that is made of a file."""
    stem = file.resolve().name.split(".")[0] if file.is_file() else file.resolve().name
    name = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "checklist"
    return f"{name}-file" if name in (AVILIST_NAME, WIKI) else name


MAX_TAXA: Final = 300_000
"""Some 100 MB: the butterflies and moths of the world with their synonyms, or any list of a country."""


def keep(checklist: Checklist, target: Path) -> bool:
    """Copy the checklist of a knowledge base to `target`, or delete an earlier one, and return whether that changed.

    AviList ships with Fieldmark and a wiki has no list, so nothing is kept of them, nor of more than `MAX_TAXA` taxa.
    """
    checklist = checklist.listed if isinstance(checklist, WithTaxoboxes) else checklist
    if (
        isinstance(checklist, AviList)
        or not isinstance(checklist, StoredChecklist)
        or int(checklist.meta["n_taxa"]) > MAX_TAXA
    ):
        is_there = target.is_file()
        target.unlink(missing_ok=True)
        return is_there
    if checklist.path.absolute() == target.absolute():
        return False
    with suppress(StoreError):
        if target.is_file():
            with closing(StoredChecklist(target)) as held:
                if held.digest == checklist.digest:
                    return False
    with replacing(target) as temporary:
        shutil.copyfile(checklist.path, temporary)
    return True


FORM: Final = "names of a build"


def checklist_of_species(species: Sequence[Taxon], target: Path, name: str) -> StoredChecklist:
    """Write an indexed checklist of these species to `target` and return it.

    Its digest is that of the species, so the same table gives the same checklist.
    """
    digest = sha256_hex(json.dumps([dumps(taxon) for taxon in species]))
    languages = sorted({"", *(language for taxon in species for language in taxon.names_by_language)})
    table = Names(rows=partial(_rows, species), languages={f"common name {each}": each for each in languages})
    about = {"name": name, "edition": "", "digest": digest, "title": "", "file": ""}
    index_checklist(ChecklistFile(form=FORM, taxa=[table]), target, lambda: about)
    return StoredChecklist(target)


def is_of_build(checklist: Checklist) -> bool:
    """Return whether a checklist is the table of names of an earlier build."""
    return isinstance(checklist, StoredChecklist) and checklist.meta.get("form") == FORM


def _rows(species: Sequence[Taxon]) -> Rows:
    for line, taxon in enumerate(species, 1):
        stated = {name for names in taxon.names_by_language.values() for name in names}
        common = {"": [name for name in taxon.common_names if name not in stated], **taxon.names_by_language}
        yield (
            line,
            {
                **{rank: taxon.lineage[rank] for rank in LADDER if rank in taxon.lineage},
                **{f"common name {language}": "|".join(names) for language, names in common.items()},
                "scientificname": taxon.scientific_name,
                "taxonrank": taxon.rank,
                "synonyms": "|".join(taxon.synonyms),
            },
        )
