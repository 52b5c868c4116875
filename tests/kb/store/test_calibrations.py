import json
import shutil
from pathlib import Path

import pytest

import kb
from data.contracts import Encoders
from data.errors import BadInput
from data.records import vocabulary_hash
from kb.bundle.manifest import MANIFEST
from kb.store.calibrations import MAX_BYTES, calibration_notes, save_calibration
from tests.edited_pages import EditedPages
from tests.pages import made_up_taxa

CONTENT = b'{"schema": 1, "chance": 0.75}\n'
LONG = b" " * (MAX_BYTES - 2) + b"{}"
FILE = "calibration/default.json"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Path:
    path = tmp_path_factory.mktemp("built") / "a.kb"
    kb.build(path, made_up_taxa(2), EditedPages(), encoders)
    save_calibration(path, "default", CONTENT)
    return path


@pytest.fixture
def path(tmp_path: Path, built: Path) -> Path:
    return shutil.copytree(built, tmp_path / "a.kb")


def test_a_calibration_is_exported_with_its_hash_and_imported(
    path: Path, encoders: Encoders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.bundle.importer.check_tables", lambda *_: None)  # in another process, which takes time
    before = kb.verify(path)
    kb.export_bundle(path, tmp_path / "out")
    noted = json.loads((tmp_path / "out" / MANIFEST).read_text())["files"]
    assert [name for name in noted if name.startswith("calibration/")] == [FILE]
    assert noted[FILE]["bytes"] == len(CONTENT)
    kb.import_bundle(tmp_path / "out", tmp_path / "b.kb", encoders)
    with kb.open(tmp_path / "b.kb") as store:
        assert (store.calibration_text("default"), store.calibration_text("vr-rag-v1")) == (CONTENT.decode(), None)
    assert kb.verify(tmp_path / "b.kb") == before


def test_names_and_contents_of_no_calibration_are_refused(path: Path) -> None:
    for name, content, why in (
        *((name, CONTENT, "named like a preset") for name in ("../kb.toml", "a/b", "default.json", "", "D")),
        *(
            ("default", text, "expected a JSON object")
            for text in (b"[1]", b"[" * 100_000, LONG + b" ", "{}".encode("utf-16"), b"\xef\xbb\xbf{}")
        ),
    ):
        with pytest.raises(BadInput, match=why):
            save_calibration(path, name, content)
    save_calibration(path, "default", LONG)
    assert kb.verify(path).ok


def test_a_note_says_when_the_species_have_changed(path: Path) -> None:
    fitting = {"fitted_on": "80 photos", "vocabulary": vocabulary_hash(["pica-pica"])}
    save_calibration(path, "vr-rag-v1", json.dumps(fitting).encode())
    with kb.open(path) as store:
        assert calibration_notes(store.ledger, ["pica-pica"]) == {
            "default": "unknown photos (not used: the species have changed since; run kb calibrate)",
            "vr-rag-v1": "80 photos",
        }
