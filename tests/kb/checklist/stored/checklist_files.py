"""Checklist files in several formats with the same few taxa."""

import zipfile
from pathlib import Path

META = """<archive xmlns="http://rs.tdwg.org/dwc/text/" metadata="eml.xml">
<core encoding="UTF-8" fieldsTerminatedBy="\\t" linesTerminatedBy="\\n" fieldsEnclosedBy="" ignoreHeaderLines="1"
 rowType="http://rs.tdwg.org/dwc/terms/Taxon"><files><location>taxa.txt</location></files><id index="0"/>
<field index="0" term="http://rs.tdwg.org/dwc/terms/taxonID"/>
<field index="1" term="http://rs.tdwg.org/dwc/terms/parentNameUsageID"/>
<field index="2" term="http://rs.tdwg.org/dwc/terms/acceptedNameUsageID"/>
<field index="3" term="http://rs.tdwg.org/dwc/terms/scientificName"/>
<field index="4" term="http://rs.tdwg.org/dwc/terms/taxonRank"/>
<field index="5" term="http://rs.tdwg.org/dwc/terms/taxonomicStatus"/></core>
<extension fieldsTerminatedBy="," fieldsEnclosedBy='"' ignoreHeaderLines="1"
 rowType="http://rs.gbif.org/terms/1.0/VernacularName"><files><location>names.csv</location></files>
<coreid index="0"/><field index="1" term="http://rs.tdwg.org/dwc/terms/vernacularName"/>
<field index="2" term="http://purl.org/dc/terms/language"/></extension></archive>"""
EML = """<eml><dataset><title>Insects and plants</title><pubDate>2025-03-01</pubDate>
<intellectualRights>Creative Commons Attribution License (CC BY 4.0)</intellectualRights></dataset></eml>"""
# Children stand before their parents, and synonyms before accepted names.
TAXA = """id\tparent\taccepted\tname\trank\tstatus
9\t\t5\tPyrameis atalanta (Linnaeus, 1758)\tspecies\tsynonym
5\t4\t\tVanessa atalanta (Linnaeus, 1758)\tspecies\taccepted
6\t5\t\tVanessa atalanta rubria Fruhstorfer, 1909\tsubspecies\taccepted
7\t4\t\tVanessa cardui (Linnaeus, 1758)\tspecies\taccepted
4\t3\t\tVanessa Fabricius, 1807\tgenus\taccepted
3\t2\t\tNymphalidae Rafinesque, 1815\tfamily\taccepted
2\t1\t\tInsecta\tclass\taccepted
1\t\t\tAnimalia\tkingdom\taccepted
11\t1\t\tAves\tclass\taccepted
12\t11\t\tPrunella Vieillot, 1816\tgenus\taccepted
13\t12\t\tPrunella modularis (Linnaeus, 1758)\tspecies\taccepted
20\t\t\tPlantae\tkingdom\taccepted
21\t20\t\tPrunella L.\tgenus\taccepted
22\t21\t\tPrunella vulgaris L.\tspecies\taccepted
23\t20\t\tMentha × piperita L.\tspecies\taccepted
24\t20\t\tMentha aquatica L. × Mentha spicata L.\thybrid\taccepted
"""
NAMES = 'id,name,language\n5,"Red Admiral",eng\n5,Admiral,de\n7,"Painted Lady",en\n22,Selfheal,en\n'


def darwin_core(folder: Path, **files: str | None) -> Path:
    """Write a Darwin Core archive; `files` replaces files by their stem, or leaves them out."""
    contents = {"meta.xml": META, "eml.xml": EML, "taxa.txt": TAXA, "names.csv": NAMES}
    path = folder / "insects.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in contents.items():
            given = files.get(name.split(".")[0], text)
            if given is not None:
                archive.writestr(f"insects/{name}", given)
    return path


def coldp_usages(folder: Path) -> Path:
    """Write the same as a ColDP folder with `NameUsage`."""
    rows = ["ID\tparentID\tstatus\tscientificName\tauthorship\trank"]
    for line in TAXA.splitlines()[1:]:
        key, parent, accepted, name, rank, status = line.split("\t")
        rows.append("\t".join((key, accepted or parent, status, name, "", rank)))
    path = folder / "insects"
    path.mkdir()
    names = NAMES.replace("id,name", "taxonID,name").splitlines()
    for name, text in {
        "NameUsage.tsv": "\n".join(rows),
        "VernacularName.csv": "\n".join(f"{i or 'ID'},{line}" for i, line in enumerate(names)),
        "metadata.yaml": "title: Insects and plants\nversion: 2025-03-01\n",
    }.items():
        (path / name).write_text(text, encoding="utf-8")
    return path


PLAIN = """kingdom,class,family,scientific_name,common_name,common_name_de,synonyms
Animalia,Insecta,Nymphalidae,"Vanessa atalanta (Linnaeus, 1758)",Red Admiral,Admiral,Pyrameis atalanta
Animalia,Insecta,Nymphalidae,Vanessa atalanta rubria,,,
Animalia,Insecta,Nymphalidae,Vanessa cardui,Painted Lady,,
Animalia,Aves,Prunellidae,Prunella modularis,,,
Plantae,,Lamiaceae,Prunella vulgaris L.,Selfheal,,
Plantae,,Lamiaceae,Mentha × piperita L.,,,
Plantae,,,Mentha aquatica × Mentha spicata,,,
"""


def plain(folder: Path) -> Path:
    """Write the same as a plain table."""
    path = folder / "insects.csv"
    path.write_text("\ufeff" + PLAIN, encoding="utf-8")
    return path


FORMATS = {"Darwin Core": darwin_core, "ColDP": coldp_usages, "CSV": plain}
