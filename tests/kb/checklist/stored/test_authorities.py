"""Checklists as authorities publish them: headings, titles, ranks in rows, outlines, English names of families."""

from pathlib import Path

from kb.checklist.shelf import Shelf
from kb.checklist.stored.stored_checklist import StoredChecklist

FAMILY = "Corvidae (Crows, Jays, and Magpies)"
FILES = {
    "clements": "sort v2024,species_code,category,English name,scientific name,range,order,family,extinct\n"
    f'1,blujay,species,Blue Jay,Cyanocitta cristata,"E N America",Passeriformes,"{FAMILY}",\n'
    f'2,x,group (polytypic),Blue Jay (Blue),Cyanocitta cristata [cristata Group],,Passeriformes,"{FAMILY}",\n'
    f'3,,subspecies,,Cyanocitta cristata bromia,,Passeriformes,"{FAMILY}",\n',
    "ebird": "TAXON_ORDER,CATEGORY,SPECIES_CODE,PRIMARY_COM_NAME,SCI_NAME,ORDER,FAMILY\n"
    f'1,species,blujay,Blue Jay,Cyanocitta cristata,Passeriformes,"{FAMILY}"\n'
    f'2,slash,y1,Blue/Green Jay,Cyanocitta cristata/Cyanocorax yncas,Passeriformes,"{FAMILY}"\n'
    "3,spuh,bird1,bird sp.,Aves sp.,,\n4,subspecies,bj2,,Cyanocitta cristata bromia,Passeriformes,Corvidae (Crows)\n",
    "ebird_api": "SCIENTIFIC_NAME,COMMON_NAME,SPECIES_CODE,CATEGORY,ORDER,FAMILY_COM_NAME,FAMILY_SCI_NAME\n"
    'Cyanocitta cristata,Blue Jay,blujay,species,Passeriformes,"Crows, Jays, and Magpies",Corvidae\n'
    "Cyanocitta cristata bromia,,bj2,subspecies,Passeriformes,Crows,Corvidae\n",
    "ioc_ranks": "Seq.,Rank,Extinct,Scientific Name,Authority,English name\n1,ORDER,,PASSERIFORMES,,\n"
    '2,Family,,Corvidae,,"Crows, Jays, and Magpies"\n3,Genus,,Cyanocitta,"Strickland, 1845",\n'
    '4,Species,,Cyanocitta cristata,"(Linnaeus, 1758)",Blue Jay\n5,ssp,,Cyanocitta cristata bromia,,\n'
    "6,ORDER,,STRUTHIONIFORMES,,\n7,Family,†,Aepyornithidae,,\n",
    "ioc_outline": ",IOC WORLD BIRD LIST (15.1),,,,,,\nOrder,Family (Scientific),Family (English),Genus,"
    "Species (Scientific),Subspecies,Authority,Species (English)\nPASSERIFORMES,,,,,,,\n"
    ',Corvidae,"Crows, Jays, and Magpies",,,,,\n,,,Cyanocitta,,,"Strickland, 1845",\n'
    ',,,,cristata,,"(Linnaeus, 1758)",Blue Jay\n,,,,,bromia,,\nSTRUTHIONIFORMES,,,,,,,\n',
    "birdlife": "HBW and BirdLife Checklist v9,,,,,,,\nOctober 2024,,,,,,,\n"
    "Order,Family name,Family,Common name,Scientific name,Authority,Synonyms,Alternative common names\n"
    'PASSERIFORMES,Corvidae,"Crows, Jays, and Magpies",Blue Jay,Cyanocitta cristata,"(Linnaeus, 1758)",'
    "Corvus cristatus,Jaybird; Common Blue Jay\nPASSERIFORMES,Corvidae,Crows,,Cyanocitta cristata bromia,,,\n",
    "avilist": "Sequence,Taxon_rank,Order,Family,Family_English_name,Scientific_name,Authority,English_name_AviList\n"
    "1,order,Passeriformes,,,Passeriformes,,\n"
    '2,family,Passeriformes,Corvidae,"Crows, Jays, and Magpies",Corvidae,,\n'
    "3,genus,Passeriformes,Corvidae,Crows,Cyanocitta,,\n4,species,Passeriformes,Corvidae,Crows,Cyanocitta cristata,,"
    "Blue Jay\n5,subspecies,Passeriformes,Corvidae,Crows,Cyanocitta cristata bromia,,\n",
    "mammals": "sciName,id,mainCommonName,otherCommonNames,order,suborder,family,genus,specificEpithet\n"
    "Cyanocitta_cristata,1,Blue Jay,Jaybird|Corn Thief,PASSERIFORMES,NA,CORVIDAE,Cyanocitta,cristata\n",
}


def added(folder: Path, name: str) -> StoredChecklist:
    (folder / f"{name}.csv").write_text(FILES[name], encoding="utf-8")
    return Shelf(folder / "home").add(folder / f"{name}.csv")


def test_checklists_of_authorities_have_their_tree_and_names(tmp_path: Path) -> None:
    for name in FILES:
        listed = added(tmp_path, name)
        jay, family = listed.find("Blue Jay"), listed.find("Corvidae")
        assert jay is not None and family is not None, name
        lineage = {"order": "Passeriformes", "family": "Corvidae", "genus": "Cyanocitta"}
        assert (jay.scientific_name, jay.rank, dict(jay.lineage)) == ("Cyanocitta cristata", "species", lineage), name
        assert (family.rank, listed.n_species_of(family), listed.n_species) == ("family", 1, 1), name
        if name != "mammals":
            assert listed.find("Crows, Jays, and Magpies") == family, name
            lower = listed.find("Cyanocitta cristata bromia")
            assert lower is not None and lower.lineage["species"] == "Cyanocitta cristata", name
    assert listed.find("Corn Thief") == listed.find("Jaybird") == listed.find("Cyanocitta cristata")


def test_rows_that_are_no_taxa_and_titles_are_told(tmp_path: Path) -> None:
    told = {name: [line.split(" (first")[0] for line in added(tmp_path, name).problems] for name in FILES}
    assert told["clements"] == ["category group (polytypic), no taxon of its own: 1"]
    assert told["ebird"] == ["category slash, no taxon of its own: 1", "category spuh, no taxon of its own: 1"]
    assert told["ioc_outline"] == [f"{tmp_path}/ioc_outline.csv: 1 row above the heading skipped"]
    assert told["birdlife"] == [f"{tmp_path}/birdlife.csv: 2 rows above the heading skipped"]
    assert {name for name, lines in told.items() if not lines} == {"ebird_api", "ioc_ranks", "avilist", "mammals"}
    assert Shelf(tmp_path / "home").names()[0] == "avilist-file"  # avilist is the shipped one


def test_ranks_in_rows_make_no_tree_of_a_list_in_another_order(tmp_path: Path) -> None:
    for rows in (
        "Bufo,genus\nBufo bufo,species\nCorvidae,family\nRanidae,family\nRana,genus\nRana arvalis,species\n",
        "Corvidae,family\nRanidae,family\nRana,genus\nRana arvalis,species\n",
    ):
        (tmp_path / "list.csv").write_text(f"scientific name,rank\n{rows}", encoding="utf-8")
        found = Shelf(tmp_path / "home").add(tmp_path / "list.csv").find("Rana arvalis")
        assert found is not None and dict(found.lineage) == {"genus": "Rana"}, rows
