import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kb
from data.contracts import Encoders
from data.errors import BadInput
from kb.bundle.checklist import import_checklist
from kb.bundle.manifest import CHECKLIST_ABOUT, CHECKLIST_NAMES, CHECKLIST_TAXA, MANIFEST, read_manifest
from kb.checklist.shelf import Shelf
from kb.checklist.stored.stored_checklist import StoredChecklist
from kb.store.layout import Layout
from tests.edited_pages import EditedPages
from tests.kb.bundle.test_bundles import forge_manifest
from tests.kb.checklist.stored.checklist_files import darwin_core
from tests.pages import made_up_taxa


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    checklist = Shelf(folder / "home").add(darwin_core(folder))
    kb.build(folder / "a.kb", made_up_taxa(2), EditedPages(), encoders, checklist=checklist, language="de")
    kb.export_bundle(folder / "a.kb", folder / "out")
    return folder / "out"


def test_an_imported_knowledge_base_has_the_checklist_and_its_language(
    exported: Path, tmp_path: Path, encoders: Encoders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.bundle.importer.check_tables", lambda *_: None)  # in another process, which takes time
    kb.import_bundle(exported, tmp_path / "b.kb", encoders)
    with kb.open(tmp_path / "b.kb") as store:
        found = store.checklist.find("Pyrameis atalanta")
        assert isinstance(store.checklist, StoredChecklist)
        assert found is not None and found.common_names == ("Admiral", "Red Admiral")
        assert [each.scientific_name for each in store.checklist.top_taxa()] == ["Animalia", "Plantae"]
        assert store.checklist.n_species == 5
        assert store.checklist.meta["title"] == "Insects and plants"
        assert store.language == "de"
    assert kb.verify(tmp_path / "b.kb").ok


def test_a_tampered_checklist_is_refused_and_leaves_nothing(exported: Path, tmp_path: Path) -> None:
    bundle = shutil.copytree(exported, tmp_path / "bundle")
    for table, column, value in (
        (CHECKLIST_TAXA, "parent", 9),
        (CHECKLIST_TAXA, "n", None),
        (CHECKLIST_TAXA, "name", None),
        (CHECKLIST_NAMES, "taxon", 10**9),
        (CHECKLIST_NAMES, "text", None),
        (CHECKLIST_ABOUT, "value", "{" * 10),
        (CHECKLIST_ABOUT, "value", "x" * 200_000),
    ):
        rows = pq.read_table(exported / table).to_pylist()
        for row in rows if table == CHECKLIST_ABOUT else rows[-1:]:
            row[column] = value
        pq.write_table(pa.Table.from_pylist(rows, schema=pq.read_schema(exported / table)), bundle / table)
        forge_manifest(bundle, table)
        with pytest.raises((BadInput, ValueError)):
            import_checklist(bundle, read_manifest(bundle), Layout(tmp_path / "b.kb"))
        shutil.copy(exported / table, bundle / table)
        forge_manifest(bundle, table)
    manifest = json.loads((bundle / MANIFEST).read_text())
    del manifest["files"][CHECKLIST_NAMES]
    (bundle / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(BadInput, match=r"part of a checklist, but not checklist/names\.parquet"):
        import_checklist(bundle, read_manifest(bundle), Layout(tmp_path / "b.kb"))
    assert not (tmp_path / "b.kb" / "checklist.sqlite").exists()
