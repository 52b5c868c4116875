import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kb
import recognize
from data.contracts import Encoders
from data.errors import BadInput, SpaceMismatch, UsageError
from data.files import sha256_hex
from kb import OwnText
from kb.bundle.manifest import MANIFEST, note_of
from kb.sources.starter import StarterSource
from tests.edited_pages import EditedPages, second_state
from tests.pages import made_up_taxa


@pytest.fixture(scope="module")
def source_kb(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Path:
    path = tmp_path_factory.mktemp("source") / "a.kb"
    taxa = made_up_taxa(6)
    kb.build(path, taxa, EditedPages(), encoders, terms=[("Amplexus", None)])
    kb.add(path, taxa[3], encoders, texts=[OwnText(text="The iris is bright orange.", title="notes")])
    kb.remove(path, ["Avis 005"])
    return path


@pytest.fixture(scope="module")
def exported(source_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported bundle; tests must not write to it."""
    out = tmp_path_factory.mktemp("bundle") / "out"
    kb.export_bundle(source_kb, out)
    return out


@pytest.fixture
def bundle(exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("kb.bundle.importer.check_tables", lambda *_: None)
    shutil.copytree(exported, tmp_path / "bundle")
    return tmp_path / "bundle"


def rewrite_manifest(bundle: Path, change: Callable[[dict[str, object]], None]) -> None:
    manifest = json.loads((bundle / MANIFEST).read_text())
    change(manifest)
    (bundle / MANIFEST).write_text(json.dumps(manifest))


def forge_manifest(bundle: Path, name: str) -> None:
    note = note_of(bundle / name)
    rewrite_manifest(bundle, lambda m: m["files"].update({name: {"bytes": note.bytes, "sha256": note.sha256}}))  # type: ignore[attr-defined]


def only_the_bundle_remains(bundle: Path) -> bool:
    return sorted(path.name for path in bundle.parent.iterdir()) == ["bundle"]


def test_other_programs_read_a_bundle_without_fieldmark(exported: Path) -> None:
    species = pd.read_parquet(exported / "species.parquet")
    assert list(species["scientific_name"]) == ["Avis 000", "Avis 002", "Avis 003", "Avis 004"]
    assert species["summary"].str.len().min() > 20
    assert set(species["url"].dropna()) == {f"http://localhost/Bird 00{i}" for i in (0, 2, 3, 4)}
    assert str(species["revision"].dtype) == "Int64", "a missing number does not turn the others into floats"
    photos = pd.read_parquet(exported / "images" / "metadata.parquet")
    assert len(photos) == 6  # two each, except for the bird without photos
    assert (set(photos["author"]), set(photos["licence"])) == ({"A. Painter"}, {"CC0"})
    for row in photos.itertuples():
        assert sha256_hex((exported / "images" / row.file_name).read_bytes()) == row.sha256
    assert list(pd.read_parquet(exported / "terms.parquet")["name"]) == ["Amplexus"]
    tables = sorted((exported / "vectors").glob("anchors-*.parquet"))
    assert len(tables) == 2  # the pair's space and the visual one
    for table in tables:
        rows = pq.read_table(table).to_pylist()
        assert [sum(x * x for x in row["vector"]) for row in rows] == pytest.approx([1.0] * 6, abs=1e-5)
        assert {row["subject_id"] for row in rows} == {"avis-000", "avis-003", "avis-004"}
    card = (exported / "README.md").read_text()
    assert "drop_labels: true" in (header := card.split("---\n")[1]) and "    - images/metadata.parquet\n" in header
    assert "| CC0 | 6 |" in card and "4 species (Aves 4) and 1 terms" in card
    noted = json.loads((exported / MANIFEST).read_text())["files"]
    there = {str(p.relative_to(exported)) for p in exported.rglob("*") if p.is_file()}
    assert there - set(noted) == {MANIFEST, "README.md"}
    assert noted == {n: {"bytes": (f := note_of(exported / n)).bytes, "sha256": f.sha256} for n in noted}


def test_an_imported_knowledge_base_is_identical_and_can_be_updated(
    source_kb: Path, exported: Path, encoders: Encoders, tmp_path: Path
) -> None:
    path = tmp_path / "b.kb"
    imported = kb.import_bundle(exported, path, encoders)
    assert (imported.species, imported.terms, imported.anchors, imported.encoded) == (4, 1, 6, False)
    before = kb.verify(source_kb)
    assert imported.digest == before.digest
    assert kb.verify(path) == before
    with kb.open(path) as store:
        assert store.origins() == {}, "the source of this bundle is not public"
    # removed species stay removed, added text stays, and an update finds the changes
    for each in (path, shutil.copytree(source_kb, tmp_path / "a.kb")):
        found = kb.update(each, [second_state()], encoders)
        kb.build(each, made_up_taxa(6), second_state(), encoders, terms=[("Amplexus", None)])
        assert {change.name for change in found.changes} == {"Avis 003", "Avis 004", "Amplexus"}
    assert kb.verify(path).digest == kb.verify(tmp_path / "a.kb").digest
    with kb.open(path) as store:
        assert store.origins() == {"pages": {"kind": "pages"}}, "a build of one's own names it"
        assert store.status().left_out == {"no page": 1, "removed by the user": 1}
        [entry] = store.species(["avis-003"])
        assert entry.summary is not None
        assert entry.summary.statements[0].text == "The iris is bright orange."


def test_import_without_vectors_encodes_to_the_same_digest(source_kb: Path, encoders: Encoders, tmp_path: Path) -> None:
    kb.export_bundle(source_kb, tmp_path / "out", with_vectors=False)
    assert not (tmp_path / "out" / "vectors").exists()
    imported = kb.import_bundle(tmp_path / "out", tmp_path / "b.kb", encoders)
    assert imported.encoded
    assert imported.digest == kb.verify(source_kb).digest


def test_import_refuses_other_encoders_unless_re_encoding(bundle: Path, tmp_path: Path) -> None:
    other = recognize.load_encoders("starter")
    with pytest.raises(SpaceMismatch):
        kb.import_bundle(bundle, tmp_path / "b.kb", other)
    assert only_the_bundle_remains(bundle)
    imported = kb.import_bundle(bundle, tmp_path / "b.kb", other, re_encode=True)
    assert (imported.species, imported.encoded) == (4, True)
    with kb.open(tmp_path / "b.kb") as store:
        assert store.spaces == other.spaces
        assert len(store.anchor_vectors(other.visual.space).ids) == 6
    assert kb.verify(tmp_path / "b.kb").ok


def test_vector_only_anchors_require_an_export_with_vectors(tmp_path: Path) -> None:
    encoders = recognize.load_encoders("starter")
    source = StarterSource(spaces=encoders.spaces[:2])
    kb.build(tmp_path / "a.kb", source.taxa()[:3], source, encoders)
    with kb.open(tmp_path / "a.kb") as store:
        assert any(anchor.sha256 is None for entry in store.species(store.taxon_ids) for anchor in entry.anchors)
    with pytest.raises(BadInput, match="stored as vectors only"):
        kb.export_bundle(tmp_path / "a.kb", tmp_path / "out", with_vectors=False)
    assert not (tmp_path / "out").exists()
    exported = kb.export_bundle(tmp_path / "a.kb", tmp_path / "out")
    assert kb.import_bundle(tmp_path / "out", tmp_path / "b.kb", encoders).digest == exported.digest


SPECIES = "species.parquet"


STEPS = "ledger/steps.parquet"


def with_content(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda bundle: (bundle / name).write_bytes(change((bundle / name).read_bytes()))


def with_column(pattern: str, column: str, change: Callable[[list[Any]], list[Any]]) -> Callable[[Path], None]:
    def corrupt(bundle: Path) -> None:
        file = next(bundle.glob(pattern))
        table = pq.read_table(file)
        at = table.schema.get_field_index(column)
        values = pa.array(change(table.column(column).to_pylist()), type=table.schema.field(column).type)
        pq.write_table(table.set_column(at, column, values), file)
        forge_manifest(bundle, str(file.relative_to(bundle)))

    return corrupt


def link_folder(bundle: Path) -> None:
    outside = bundle.parent.parent / f"{bundle.parent.name}.ledger"
    shutil.move(bundle / "ledger", outside)
    (bundle / "ledger").symlink_to(outside)


def write_invalid_table(bundle: Path) -> None:
    (bundle / SPECIES).write_bytes(b"PAR1 no table at all PAR1")
    forge_manifest(bundle, SPECIES)


def other_photo(bundle: Path) -> None:
    photo = next(bundle.glob("images/*/*.png"))
    photo.write_bytes(photo.read_bytes() + b"more")
    forge_manifest(bundle, str(photo.relative_to(bundle)))


def with_an_escaping_hash(outputs: list[str | None]) -> list[str | None]:
    escaping = '"sha256":"../../../../etc/passwd"'
    return [re.sub(r'"sha256":"[0-9a-f]{64}"', escaping, text) if text else text for text in outputs]


CHUNKS = "vectors/chunks-*.parquet"
CORRUPT: dict[str, Callable[[Path], object]] = {
    "expected [0-9,]+ bytes": with_content(SPECIES, lambda found: found[:-10]),
    "its sha256 differs": with_content(SPECIES, lambda found: found[:200] + bytes([found[200] ^ 1]) + found[201:]),
    "species.parquet is missing": lambda bundle: (bundle / SPECIES).unlink(),
    "got a link": link_folder,
    "is not a manifest": with_content(MANIFEST, lambda _: b"{"),
    "expected the format fieldmark-bundle/2": lambda bundle: rewrite_manifest(
        bundle, lambda manifest: manifest.update(format="fieldmark-bundle/99")
    ),
    "expected 0000": lambda bundle: rewrite_manifest(bundle, lambda manifest: manifest.update(digest="0" * 64)),
    "is not a readable Parquet table": write_invalid_table,
    "is inconsistent: Field": with_column(SPECIES, "record", lambda rows: ["{}"] * len(rows)),
    "an article does not match its sha256": with_column(
        "articles.parquet", "text", lambda rows: ["something else"] * len(rows)
    ),
    "reference photo is missing or damaged": other_photo,
    "knowledge base has digest": with_column(CHUNKS, "vector", lambda rows: [rows[0][::-1], *rows[1:]]),
    "finite numbers": with_column(CHUNKS, "vector", lambda rows: [[float("nan"), *rows[0][1:]], *rows[1:]]),
    "expected the result of a stage": with_column(STEPS, "stage", lambda rows: ["sudo"] * len(rows)),
    "is inconsistent": with_column(STEPS, "output", with_an_escaping_hash),
}


def test_a_damaged_bundle_is_refused_without_leftovers(bundle: Path, encoders: Encoders) -> None:
    whole = shutil.copytree(bundle, bundle.parent.parent / f"{bundle.parent.name}.whole")
    for why, corrupt in CORRUPT.items():
        corrupt(bundle)
        with pytest.raises(BadInput, match=why):
            kb.import_bundle(bundle, bundle.parent / "b.kb", encoders)
        assert only_the_bundle_remains(bundle), why
        shutil.rmtree(bundle)
        shutil.copytree(whole, bundle)


def test_unsafe_paths_in_the_manifest_are_refused(bundle: Path, encoders: Encoders) -> None:
    (bundle.parent.parent / "outside").write_text("x")
    whole = (bundle / MANIFEST).read_text()
    for name in (
        "../outside", "/etc/passwd", "images/../../outside", "a\\b", "..", "a//b", "", "images/.hidden", "a\nb", "C:x",
        "images/" + "x" * 200, "\u202egnp.exe", "con/./x",
    ):  # fmt: skip
        (bundle / MANIFEST).write_text(whole)
        note = {name: {"bytes": 1, "sha256": sha256_hex("x")}}
        rewrite_manifest(bundle, lambda m, note=note: m["files"].update(note))  # type: ignore[misc, attr-defined]
        with pytest.raises(BadInput, match="is not a plain path"):
            kb.import_bundle(bundle, bundle.parent / "b.kb", encoders)
    assert only_the_bundle_remains(bundle)


def test_no_archive_is_read_and_no_folder_overwritten(
    source_kb: Path, bundle: Path, encoders: Encoders, tmp_path: Path
) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK")
    with pytest.raises(BadInput, match="is not a folder"):
        kb.import_bundle(tmp_path / "a.zip", tmp_path / "b.kb", encoders)
    with pytest.raises(UsageError, match="already exists"):
        kb.import_bundle(bundle, tmp_path, encoders)
    with pytest.raises(UsageError, match="already exists"):
        kb.export_bundle(source_kb, bundle)


def test_addresses_in_the_local_network_and_files_outside_the_manifest_are_skipped(
    bundle: Path, encoders: Encoders
) -> None:
    (bundle / ".gitattributes").write_text("*.parquet filter=lfs")
    (bundle / "images" / "extra.png").write_bytes(b"no picture")
    (bundle / "README.md").write_text("# My own card")
    wikis = {
        "here": "http://127.0.0.1:8080/api.php",
        "there": "http://10.0.0.7/api.php",
        "local": "http://localhost/api.php",
        "router": "http://router/api.php",
        "short": "http://127.1/api.php",
        "hexadecimal": "http://0x7f.0.0.1/api.php",
        "file": "file:///etc/passwd",
        "public": "https://birds.example.org/w/api.php",
    }
    rest = {"kind": "wikipedia", "language": "en", "licences": "free"}
    sources = {name: {**rest, "api_url": url} for name, url in wikis.items()}
    sources["odd"] = {"kind": "wikipedia", "api_url": wikis["public"]}
    rewrite_manifest(bundle, lambda manifest: manifest.update(sources=sources))
    assert kb.import_bundle(bundle, bundle.parent / "b.kb", encoders).species == 4
    with kb.open(bundle.parent / "b.kb") as store:
        assert set(store.origins()) == {"public"}
