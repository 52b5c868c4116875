"""Calibrations are exported with their knowledge base, and damaged ones are deleted."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

import kb
from data.contracts import Encoders
from data.errors import BadInput, KnowledgeBaseLocked, MissingKnowledgeBase
from data.files import writer_lock
from data.records import vocabulary_hash
from kb.bundle.manifest import MANIFEST
from kb.store import calibrations
from kb.store.calibrations import MAX_BYTES, calibration_notes, keep_calibration, save_calibration
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from tests.edited_pages import EditedPages
from tests.kb.bundle.test_bundles import forge_manifest
from tests.pages import made_up_taxa
from tests.toy.encoders import toy_encoders

CONTENT = b'{"schema": 1, "chance": 0.75}\n'
FILE = "calibration/default.json"
REMEDY = "run kb calibrate, or import the bundle again"


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return toy_encoders()


def keep(path: Path, name: str, content: bytes) -> None:
    with closing(Ledger(Layout(path).ledger)) as ledger:
        keep_calibration(Layout(path), ledger, name, content)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Path:
    path = tmp_path_factory.mktemp("built") / "a.kb"
    kb.build(path, made_up_taxa(2), EditedPages(), encoders)
    keep(path, "default.json", CONTENT)
    return path


@pytest.fixture
def path(tmp_path: Path, built: Path) -> Path:
    """A knowledge base of two birds with a calibration."""
    return shutil.copytree(built, tmp_path / "a.kb")


def test_a_calibration_is_exported_with_its_hash_and_imported(path: Path, encoders: Encoders, tmp_path: Path) -> None:
    before = kb.verify(path)
    (path / "calibration" / "notes.txt").write_text("no calibration")
    kb.export_bundle(path, tmp_path / "out")
    noted = json.loads((tmp_path / "out" / MANIFEST).read_text())["files"]
    assert [name for name in noted if name.startswith("calibration/")] == [FILE]
    assert noted[FILE]["bytes"] == len(CONTENT)
    kb.import_bundle(tmp_path / "out", tmp_path / "b.kb", encoders)
    assert (tmp_path / "b.kb" / FILE).read_bytes() == CONTENT
    assert kb.verify(tmp_path / "b.kb") == before
    (tmp_path / "b.kb" / FILE).write_bytes(CONTENT.replace(b"75", b"95"))
    assert not kb.verify(tmp_path / "b.kb").ok


def test_a_bundle_with_an_invalid_calibration_is_refused(
    path: Path, encoders: Encoders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.bundle.importer.check_tables", lambda *_: None)  # in another process, which takes time
    out = tmp_path / "out"
    kb.export_bundle(path, out)
    for content, why in (
        (CONTENT[:-1] + b"x", "its sha256 differs"),
        (b"[1]", "expected a JSON object"),
        (b"[" * 100_000, "expected a JSON object"),
        (b" " * MAX_BYTES + b"{}", "expected a JSON object"),
    ):
        (out / FILE).write_bytes(content)
        if "sha256" not in why:  # as a forger would
            forge_manifest(out, FILE)
        with pytest.raises(BadInput, match=why):
            kb.import_bundle(out, tmp_path / "b.kb", encoders)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a.kb", "out"]


def test_a_damaged_calibration_is_deleted_and_reported(path: Path) -> None:
    digest = kb.verify(path).digest
    (path / FILE).write_bytes(CONTENT.replace(b"75", b"95"))
    found = kb.verify(path)
    assert (found.ok, found.digest, found.mended) == (False, digest, ())
    assert found.problems == (f"{FILE} was damaged and has been deleted; {REMEDY}",)
    assert not (path / FILE).exists()
    assert kb.verify(path).ok


def test_a_missing_calibration_is_reported(path: Path) -> None:
    (path / FILE).unlink()
    assert kb.verify(path).problems == (f"{FILE} is missing; {REMEDY}",)


def test_a_calibration_without_hash_is_accepted_while_readable(path: Path) -> None:
    other = path / "calibration" / "text-only.json"
    other.write_bytes(b'{"schema": 1}')
    assert kb.verify(path).ok
    other.write_bytes(b'{"schema": ')
    assert not kb.verify(path).ok
    assert not other.exists()
    assert (path / FILE).read_bytes() == CONTENT


def test_calibrations_must_be_named_like_a_preset(path: Path) -> None:
    for name in ("../kb.toml", "a/b.json", "default.txt", ".json", "Default.json", ""):
        with pytest.raises(BadInput, match="named like a preset"):
            keep(path, name, CONTENT)


# --- saving ------------------------------------------------------------------------------------------------------

NEW = b'{"schema": 2, "fitted_on": "80 photos"}\n'


def test_a_saved_calibration_replaces_the_one_of_its_preset(path: Path) -> None:
    save_calibration(path, "default", NEW)
    save_calibration(path, "vr-rag-v1", CONTENT)
    assert (path / FILE).read_bytes() == NEW
    assert (path / "calibration" / "vr-rag-v1.json").read_bytes() == CONTENT
    assert kb.verify(path).ok


@pytest.mark.parametrize(("moment", "left"), [("before", CONTENT), ("after", NEW)])
def test_a_kill_leaves_the_old_calibration_or_the_new_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, left: bytes
) -> None:
    written = calibrations.write_atomic

    def die(file: Path, content: bytes) -> None:
        if moment == "after":
            written(file, content)
        raise SystemExit

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(calibrations, "write_atomic", die)
        save_calibration(path, "default", NEW)
    assert (path / FILE).read_bytes() == left
    assert kb.verify(path).ok


def test_a_knowledge_base_that_is_being_written_to_is_not_changed(path: Path) -> None:
    with writer_lock(Layout(path).lock), pytest.raises(KnowledgeBaseLocked, match="Another process"):
        save_calibration(path, "default", NEW)
    assert (path / FILE).read_bytes() == CONTENT
    with pytest.raises(MissingKnowledgeBase):
        save_calibration(path.parent / "b.kb", "default", NEW)


def test_a_note_says_when_the_species_have_changed(path: Path) -> None:
    fitting = {"fitted_on": "80 photos", "vocabulary": vocabulary_hash(["pica-pica"])}
    save_calibration(path, "vr-rag-v1", json.dumps(fitting).encode())
    assert calibration_notes(Layout(path), ["pica-pica"]) == {
        "default": "unknown photos (not used: the species have changed since; run kb calibrate)",
        "vr-rag-v1": "80 photos",
    }
