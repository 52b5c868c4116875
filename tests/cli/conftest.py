"""A knowledge base of the drawn birds, built once, and drawings to identify with it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.drawn_birds import drawn_bird
from tests.made_once import made_once
from tests.toy.encoders import toy_encoders

GOLDEN = Path(__file__).with_name("golden")


def documented_keys(command: str) -> set[str]:
    """Return the keys that the reference gives for the outermost object of a command's JSON."""
    records = json.loads((GOLDEN / "names.json").read_text(encoding="utf-8"))[command]
    return set(next(iter(records.values()))) | {key for key in records.get("added", ()) if "." not in key}


@pytest.fixture(scope="session")
def built_kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The drawn birds of the starter knowledge as a knowledge base; tests must not write to it."""
    import kb
    import recognize
    from kb.sources.starter import StarterSource
    from training.plates.catalogue import PLATES

    source = StarterSource(with_vectors=False)
    drawn = {plate.taxon_id for plate in PLATES}
    taxa = [taxon for taxon in source.taxa() if taxon.taxon_id in drawn]

    def build(path: Path) -> None:
        kb.build(path, taxa, source, recognize.load_encoders("starter"), terms=source.terms())

    return made_once(tmp_path_factory, "drawn.kb", build)


@pytest.fixture
def drawn_knowledge(built_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set it as the knowledge base; unpacking the shipped one takes seconds."""
    monkeypatch.setenv("FIELDMARK_KB", str(built_kb))


@pytest.fixture(scope="session")
def calibrated_kb(built_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a calibration of its own, the shipped one as if measured here; tests must not write to it."""
    import kb
    from data.records import vocabulary_hash
    from kb.store.calibrations import save_calibration
    from recognize.confidence.calibration import calibration_bytes, shipped_calibration

    path = tmp_path_factory.mktemp("calibrated") / "drawn.kb"
    shutil.copytree(built_kb, path)
    with kb.open(path) as store:
        vocabulary = vocabulary_hash(store.taxon_ids)
    own = replace(shipped_calibration(), kind="own", vocabulary=vocabulary)
    save_calibration(path, "default", calibration_bytes(own))
    return path


@pytest.fixture
def toy_paper_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the encoders of the profile `paper` with toys in this process."""
    from recognize.encoders.profiles import LOADERS

    monkeypatch.setitem(LOADERS, "paper", toy_encoders)


@pytest.fixture
def drawings(tmp_path: Path) -> Path:
    """A folder with drawings of four species that are not anchors."""
    folder = tmp_path / "drawings"
    folder.mkdir()
    for taxon_id in ("cardinalis-cardinalis", "cyanocitta-cristata", "bubo-scandiacus", "phoenicopterus-ruber"):
        (folder / f"{taxon_id}.png").write_bytes(drawn_bird(taxon_id))
    return folder
