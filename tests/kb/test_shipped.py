"""`kb.open` without a path opens the calibrated knowledge that ships with Fieldmark."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import kb
import recognize
from data.errors import MissingRequirement
from kb import shipped


def test_without_a_path_or_as_starter_it_opens_what_ships(unpacked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIELDMARK_HOME", str(unpacked))
    for arguments in ((), ("starter",)):
        with kb.open(*arguments, encoders=recognize.load_encoders("starter")) as store:
            assert store.path.parent == unpacked / "starter"
            assert len(store.taxon_ids) > 1_000
            assert (store.layout.calibration / "default.json").is_file()


def test_another_version_of_the_store_unpacks_the_knowledge_again(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unpacking(Exception):
        pass

    def build(*_: object, **__: object) -> None:
        raise Unpacking

    monkeypatch.setattr("kb.pipeline.builder.build", build)
    encoders = recognize.load_encoders("starter")
    assert shipped.unpack_shipped(unpacked, encoders).is_dir()
    monkeypatch.setattr("kb.store.ledger.LEDGER_VERSION", 99)
    with pytest.raises(Unpacking):
        shipped.unpack_shipped(unpacked, encoders)


def test_it_asks_the_installed_distribution_for_encoders(unpacked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = EntryPoint("starter", "recognize.encoders.profiles:load_encoders", shipped.ENCODERS)
    monkeypatch.setattr(shipped, "entry_points", lambda **_: [offered])
    with kb.open(home=unpacked) as store:
        assert store.path.parent == unpacked / "starter"


def test_the_distribution_offers_the_encoders_of_the_starter() -> None:
    import tomllib

    project = tomllib.loads((Path(kb.__file__).parents[1] / "pyproject.toml").read_text())["project"]
    value = project["entry-points"][shipped.ENCODERS]["starter"]
    assert EntryPoint("starter", value, shipped.ENCODERS).load() is recognize.load_encoders


def test_without_encoders_it_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "entry_points", lambda **_: [])
    with pytest.raises(MissingRequirement, match="needs the starter encoders") as caught:
        kb.open(home=tmp_path)
    assert "encoders=recognize.load_encoders" in str(caught.value.hint)
