"""Kept checklists of knowledge bases: whole, or the part with the species."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from data.errors import BadInput, StoreError
from data.records import Taxon
from kb.checklist.avilist import load_checklist
from kb.checklist.selection import select
from kb.checklist.shelf import Shelf, checklist_for, kept_checklist
from kb.checklist.stored import part
from kb.checklist.stored.index_rows import NameRow, TaxonRow, write_rows
from kb.checklist.stored.stored_checklist import StoredChecklist
from tests.kb.checklist.stored.checklist_files import darwin_core


@pytest.fixture
def whole(tmp_path: Path) -> StoredChecklist:
    return Shelf(tmp_path / "home").add(darwin_core(tmp_path))


def named(checklist: StoredChecklist, *names: str) -> Iterator[Taxon]:
    return (taxon for name in names if (taxon := checklist.find(name)) is not None)


def test_a_small_checklist_is_kept_whole_once(whole: StoredChecklist, tmp_path: Path) -> None:
    kept = tmp_path / "kept.sqlite"
    assert part.keep(whole, named(whole, "Vanessa cardui"), kept)
    assert kept.read_bytes() == whole.path.read_bytes()
    assert not part.keep(whole, named(whole, "Vanessa cardui"), kept)
    found = kept_checklist(kept, whole.name, whole.digest)
    assert isinstance(found, StoredChecklist) and found.n_species == whole.n_species
    assert not part.keep(found, named(whole, "Vanessa cardui"), kept)  # a later build with the kept one


def test_of_a_large_checklist_the_part_with_the_species_is_kept(
    whole: StoredChecklist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i, (species, most, below, n_species) in enumerate((
        (("Vanessa cardui",), 4, "Vanessa", 2),
        (("Vanessa cardui",), 6, "Insecta", 2),
        (("Vanessa cardui", "Prunella modularis"), 2, "Animalia", 3),
        (("Vanessa cardui", "Prunella vulgaris"), 2, "", 5),
        (("Vanessa atalanta",), 1, "Vanessa atalanta", 1),
    )):  # fmt: skip
        monkeypatch.setattr(part, "MAX_TAXA", most)
        kept = tmp_path / f"{i}.sqlite"
        assert part.keep(whole, named(whole, *species), kept)
        found = StoredChecklist(kept)
        assert (found.meta.get("below", ""), found.n_species, found.digest) == (below, n_species, whole.digest)
        for name in species:
            assert found.find(name) == whole.find(name)
            assert found.homonyms(name.split()[0]) or found.find(name.split()[0])
        assert not below or select(found, below) == select(whole, below)
        assert not part.keep(whole, named(whole, *species), kept)
    taxon = StoredChecklist(kept, language="de").find("Pyrameis atalanta")
    assert taxon is not None and taxon.common_names == ("Admiral", "Red Admiral")


def test_a_changed_byte_is_found_when_a_kept_checklist_is_opened(whole: StoredChecklist, tmp_path: Path) -> None:
    kept = tmp_path / "kept.sqlite"
    part.keep(whole, named(whole, "Vanessa cardui"), kept)
    content = kept.read_bytes()
    for place in (70, len(content) // 2, len(content) - 1):
        kept.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(StoreError, match="is damaged: its checksum differs") as caught:
            StoredChecklist(kept)
        assert "kb build --checklist FILE" in (caught.value.hint or "")


def test_nothing_is_kept_of_avilist_and_of_an_own_list(whole: StoredChecklist, tmp_path: Path) -> None:
    kept = tmp_path / "kept.sqlite"
    part.keep(whole, (), kept)
    assert part.keep(load_checklist(), (), kept)
    assert not kept.exists()
    assert kept_checklist(kept, "AviList 2025", load_checklist().digest) is load_checklist()
    assert kept_checklist(kept, whole.name, whole.digest) is None


def test_a_knowledge_base_without_a_kept_checklist_is_its_own_unless_it_has_birds(tmp_path: Path) -> None:
    frog = Taxon(taxon_id="rana", scientific_name="Rana rana", rank="species", lineage={"class": "Amphibia"})
    bird = Taxon(taxon_id="pica", scientific_name="Pica pica", rank="species", lineage={"class": "Aves"})
    none = tmp_path / "none.sqlite"
    own = checklist_for(none, "", "", lambda: [frog])
    assert own.find("Mallard") is None and own.find("Rana rana") == frog
    assert checklist_for(none, "wiki", "", lambda: [bird]).find("Mallard") is None
    assert checklist_for(none, "", "", lambda: [bird, frog]) is load_checklist()


TREE = (TaxonRow(1, 3, 0, "", "Vanessa", "genus", False), TaxonRow(2, 2, 1, "", "Vanessa a", "species", False),
        TaxonRow(3, 3, 1, "", "Vanessa b", "species", False))  # fmt: skip


def test_rows_that_are_no_tree_and_names_without_a_taxon_are_refused(tmp_path: Path) -> None:
    for taxa in (
        TREE[1:],
        TREE[:2],
        (TREE[0], TREE[1]._replace(parent=0), TREE[2]),
        (TREE[0], TREE[1]._replace(last=5), TREE[2]),
        (TREE[0], TREE[1]._replace(last=1), TREE[2]),
        (TREE[0]._replace(name=""), *TREE[1:]),
        (TREE[0]._replace(name="x" * 3_000), *TREE[1:]),
    ):
        with pytest.raises(BadInput):
            write_rows(tmp_path / "x.sqlite", {}, taxa, [])
        assert not list(tmp_path.iterdir()), taxa
    for name in ((4, 0, 1, "x", ""), (0, 0, 1, "x", ""), (1, 9, 1, "x", ""), (1, 0, 1, "", "")):
        with pytest.raises(BadInput, match="name without a taxon"):
            write_rows(tmp_path / "x.sqlite", {}, TREE, [NameRow._make(name)])
