"""Calibrations are exported with their knowledge base, and damaged ones are deleted."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

import kb
import recognize
from data.contracts import Encoders
from data.errors import BadInput
from kb.bundle.manifest import MANIFEST, note_of
from kb.store.calibrations import MAX_BYTES, keep_calibration
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from tests.edited_pages import EditedPages
from tests.pages import made_up_taxa

CONTENT = b'{"schema": 1, "chance": 0.75}\n'
FILE = "calibration/default.json"
REMEDY = "import the bundle again"


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return recognize.load_encoders("starter")


def keep(path: Path, name: str, content: bytes) -> None:
    with closing(Ledger(Layout(path).ledger)) as ledger:
        keep_calibration(Layout(path), ledger, name, content)


@pytest.fixture
def path(tmp_path: Path, encoders: Encoders) -> Path:
    """A knowledge base of two birds with a calibration."""
    kb.build(tmp_path / "a.kb", made_up_taxa(2), EditedPages(), encoders)
    keep(tmp_path / "a.kb", "default.json", CONTENT)
    return tmp_path / "a.kb"


@pytest.mark.parametrize("with_vectors", [True, False])
def test_a_calibration_is_exported_with_its_hash_and_imported(
    path: Path, encoders: Encoders, tmp_path: Path, with_vectors: bool
) -> None:
    before = kb.verify(path)
    (path / "calibration" / "notes.txt").write_text("no calibration")
    kb.export_bundle(path, tmp_path / "out", with_vectors=with_vectors)
    noted = json.loads((tmp_path / "out" / MANIFEST).read_text())["files"]
    assert [name for name in noted if name.startswith("calibration/")] == [FILE]
    assert noted[FILE]["bytes"] == len(CONTENT)
    kb.import_bundle(tmp_path / "out", tmp_path / "b.kb", encoders)
    assert (tmp_path / "b.kb" / FILE).read_bytes() == CONTENT
    assert kb.verify(tmp_path / "b.kb") == before
    (tmp_path / "b.kb" / FILE).write_bytes(CONTENT.replace(b"75", b"95"))
    assert not kb.verify(tmp_path / "b.kb").ok


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (CONTENT[:-1] + b"x", "its sha256 differs"),
        (b"[1]", "expected a JSON object"),
        (b"[" * 100_000, "expected a JSON object"),
        (b" " * MAX_BYTES + b"{}", "expected a JSON object"),
    ],
    ids=["changed", "a list", "deep", "large"],
)
def test_a_bundle_with_an_invalid_calibration_is_refused(
    path: Path, encoders: Encoders, tmp_path: Path, content: bytes, why: str
) -> None:
    kb.export_bundle(path, tmp_path / "out")
    (tmp_path / "out" / FILE).write_bytes(content)
    if "sha256" not in why:  # forge the manifest to match the file
        manifest = json.loads((tmp_path / "out" / MANIFEST).read_text())
        note = note_of(tmp_path / "out" / FILE)
        manifest["files"][FILE] = {"bytes": note.bytes, "sha256": note.sha256}
        (tmp_path / "out" / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(BadInput, match=why):
        kb.import_bundle(tmp_path / "out", tmp_path / "b.kb", encoders)
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


@pytest.mark.parametrize("name", ["../kb.toml", "a/b.json", "default.txt", ".json", "Default.json", ""])
def test_calibrations_must_be_named_like_a_preset(path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="named like a preset"):
        keep(path, name, CONTENT)
