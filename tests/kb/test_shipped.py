"""`kb.open` without a path opens the calibrated knowledge base that ships with Fieldmark."""

import tomllib
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import kb
import recognize
from data.errors import MissingRequirement
from kb import shipped


def test_a_new_store_version_or_detector_unpacks_the_shipped_knowledge_again(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unpacking(Exception):
        pass

    def build(*_: object, progress: object, **__: object) -> None:
        raise Unpacking(progress)

    monkeypatch.setattr("kb.pipeline.builder.build", build)
    encoders = recognize.load_encoders("starter")
    assert shipped.unpack_shipped(unpacked, encoders).is_dir()
    with pytest.raises(Unpacking) as caught:
        shipped.unpack_shipped(unpacked, replace(encoders, detector=None), print)
    assert caught.value.args == (print,)  # called for progress
    monkeypatch.setattr("kb.store.ledger_file.LEDGER_VERSION", 99)
    with pytest.raises(Unpacking):
        shipped.unpack_shipped(unpacked, encoders)


def test_encoders_are_found_through_the_entry_point_of_the_distribution_or_reported_as_missing(
    unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tomllib.loads((Path(kb.__file__).parents[1] / "pyproject.toml").read_text())["project"]
    offered = EntryPoint("starter", project["entry-points"][shipped.ENCODERS]["starter"], shipped.ENCODERS)
    assert offered.load() is recognize.load_encoders
    monkeypatch.setattr(shipped, "entry_points", lambda **_: [offered])
    monkeypatch.setenv("FIELDMARK_HOME", str(unpacked))
    for arguments in ((), ("starter",)):
        with kb.open(*arguments) as store:
            assert (store.path.parent, len(store.taxon_ids) > 1_000) == (unpacked / "starter", True)
    monkeypatch.setattr(shipped, "entry_points", lambda **_: [])
    with pytest.raises(MissingRequirement, match="needs the starter encoders") as caught:
        kb.open(home=tmp_path)
    assert "encoders=recognize.load_encoders" in str(caught.value.hint)
