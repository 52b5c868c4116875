import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

import kb
from data.contracts import Encoders
from data.errors import BadInput
from data.records import vocabulary_hash
from kb.bundle.manifest import MANIFEST
from kb.store.calibrations import MAX_BYTES, calibration_notes, keep_calibration, save_calibration
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from tests.edited_pages import EditedPages
from tests.pages import made_up_taxa

CONTENT = b'{"schema": 1, "chance": 0.75}\n'
LONG = b" " * (MAX_BYTES - 2) + b"{}"
FILE = "calibration/default.json"
REMEDY = "run kb calibrate, or import the bundle again"


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
    return shutil.copytree(built, tmp_path / "a.kb")


def test_a_calibration_is_exported_with_its_hash_and_imported(
    path: Path, encoders: Encoders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.bundle.importer.check_tables", lambda *_: None)  # in another process, which takes time
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


def test_names_and_contents_of_no_calibration_are_refused(path: Path) -> None:
    for name, content, why in (
        *(
            (name, CONTENT, "named like a preset")
            for name in ("../kb.toml", "a/b.json", "default.txt", ".json", "D.json")
        ),
        *((FILE.split("/")[1], text, "expected a JSON object") for text in (b"[1]", b"[" * 100_000, LONG + b" ")),
    ):
        with pytest.raises(BadInput, match=why):
            keep(path, name, content)
    keep(path, "default.json", LONG)
    assert kb.verify(path).ok


def test_damaged_and_lost_calibrations_are_deleted_and_reported(path: Path) -> None:
    """One without a hash in the ledger counts while it can be read."""
    digest = kb.verify(path).digest
    (path / FILE).write_bytes(CONTENT.replace(b"75", b"95"))
    other = path / "calibration" / "text-only.json"
    other.write_bytes(b'{"schema": 1}')
    found = kb.verify(path)
    assert (found.ok, found.digest, found.mended) == (False, digest, ())
    assert found.problems == (f"{FILE} was damaged and has been deleted; {REMEDY}",)
    assert not (path / FILE).exists() and kb.verify(path).ok
    other.write_bytes(b'{"schema": ')
    assert kb.verify(path).problems == (f"calibration/text-only.json was damaged and has been deleted; {REMEDY}",)
    assert not other.exists()
    save_calibration(path, "default", CONTENT)
    (path / FILE).unlink()
    assert kb.verify(path).problems == (f"{FILE} is missing; {REMEDY}",)


def test_a_note_says_when_the_species_have_changed(path: Path) -> None:
    fitting = {"fitted_on": "80 photos", "vocabulary": vocabulary_hash(["pica-pica"])}
    save_calibration(path, "vr-rag-v1", json.dumps(fitting).encode())
    assert calibration_notes(Layout(path), ["pica-pica"]) == {
        "default": "unknown photos (not used: the species have changed since; run kb calibrate)",
        "vr-rag-v1": "80 photos",
    }
