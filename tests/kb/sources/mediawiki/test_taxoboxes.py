"""The taxon that a page states, by its taxobox in HTML or wikitext, of any group and language, or by its lead."""

from data.records import Infobox, Source, Taxon
from kb.sources.mediawiki.article_parser import parse_article
from kb.sources.mediawiki.clues import Match, clues_from_wikitext, match_page
from kb.sources.mediawiki.taxoboxes import rank_of_group, stated_taxon

MERLIN = Taxon(
    taxon_id="falco-columbarius", scientific_name="Falco columbarius", rank="species",
    common_names=("Merlin", "Pigeon Hawk"), synonyms=("Aesalon columbarius",),
    lineage={"class": "Aves", "order": "Falconiformes", "family": "Falconidae", "genus": "Falco"},
)  # fmt: skip
OLD_PLANT = (
    "{{Taxobox|regnum=[[Plantae]]|unranked_divisio=[[Angiosperms]]|unranked_classis=[[Eudicots]]|ordo=[[Rosales]]"
    "|familia=[[Rosaceae]]|genus='''''Malus'''''|genus_authority=[[Philip Miller|Mill.]]"
)
# Rows of a box in HTML -> rank and name of its taxon.
ROWS = {
    ("(unranked):|Virus", "Species:|Tobacco mosaic virus"): ("virus", "Box"),
    ("Realm:|Riboviria", "Genus:|Tobamovirus", "Species:|Tobamovirus tabaci"): ("virus", "Box"),
    ("Reich:|Tiere", "Klasse:|Insecta", "Familie:|Nymphalidae", "Gattung:|Vanessa"): ("genus", "Vanessa"),
    ("Kingdom:|Plantae", "Clade:|Eudicots", "Order:|Rosales", "Family:|Rosaceae"): ("family", "Rosaceae"),
    ("Genus:|†Raptor", "Species:|†R. rex"): ("species", "Raptor rex"),
    ("Genus:|Canis", "Species:|C. lupus", "Subspecies:|C. l. dingo"): ("subspecies", "Canis lupus dingo"),
    ("Genus:|Amanita", "Section:|Amanita sect. Phalloideae"): ("group", "Amanita sect. Phalloideae"),
    ("Genus:|Anopheles", "Species complex:|A. gambiae complex"): ("group", "A. gambiae complex"),
    ("Genus:|Saxifraga", "Species:|S. × urbium"): ("hybrid", "Saxifraga × urbium"),
    ("Genus:|Orcinus", "Species:|O. sp."): ("group", "Orcinus sp."),
    ("Genus:|Falco", "Species:|Falco columbarius"): ("species", "Falco columbarius"),
    ("Genus:|Ninox", "Species:|ios"): ("species", "Ninox ios"),  # the shortest epithet
    ("Genus:|Branta", "Species:|canadensis (Linnaeus, 1758)"): ("species", "Branta canadensis"),
    ("Genus:|Tyto", "Species:|A. alba"): ("species", "A. alba"),  # another genus
    ("Order:|Owls", "Species:|columbarius"): ("species", "columbarius"),
    ("Genus:|Pelophylax", "Binomial name", "<i>Pelophylax</i> kl. <i>esculentus</i>"):
        ("species", "Pelophylax esculentus"),
    ("Genus:|Brassica", "Trinomial name", "<b class='trinomial'><i>Brassica oleracea</i> var. <i>capitata</i></b>"):
        ("subspecies", "Brassica oleracea var. capitata"),
    ("Genus:|Canis", "Species:|C. lupus", "Subspecies", "C. l. dingo, C. l. arctos"): ("species", "Canis lupus"),
}  # fmt: skip
NO_BINOMIAL = {"A. alba", "columbarius"}  # taken as they are written
# First section of a page -> rank and name of its taxon.
TEMPLATES = {
    "{{Speciesbox|genus=Vanessa (butterfly)|species=atalanta|authority=([[Linnaeus]], 1758)}}":
        ("species", "Vanessa atalanta"),
    "{{Speciesbox|taxon=Bombus (Pyrobombus) impatiens}}": ("species", "Bombus impatiens"),
    "{{mycomorphbox|name=Amanita muscaria|capShape=flat}}\n{{Speciesbox|genus=Amanita|species=muscaria}}":
        ("species", "Amanita muscaria"),
    OLD_PLANT + "|species='''''M. domestica'''''|binomial=''Malus domestica''}}": ("species", "Malus domestica"),
    OLD_PLANT + "}}\n'''Malus''' is a genus": ("genus", "Malus"),
    "{{Automatic taxobox|taxon=Vanessa (butterfly)|subdivision_ranks=Species"
    "|subdivision=* ''[[Vanessa atalanta]]''\n* ''V. cardui''}}": ("genus", "Vanessa"),
    "{{Automatic taxobox|taxon=Echinocystis|subdivision_ranks=Species|subdivision=''E. lobata''}}":
        ("species", "Echinocystis lobata"),
    "{{Automatic taxobox|taxon=Nymphalidae}}\n'''Nymphalidae''', a group": ("family", "Nymphalidae"),
    "{{Automatic taxobox|taxon=Anura}}\n'''Frogs''' are amphibians in the order Anura.": ("order", "Anura"),
    "{{Automatic taxobox|taxon=Bombus (Pyrobombus)}}": ("group", "Bombus (Pyrobombus)"),
    "{{Subspeciesbox|genus=Canis|species=lupus|subspecies=dingo}}": ("subspecies", "Canis lupus dingo"),
    "{{Hybridbox|name=Liger|taxon=''Panthera leo'' × tigris}}": ("hybrid", "Panthera leo × tigris"),
    "{{Virusbox|taxon=Tobacco mosaic virus}}": ("virus", "Tobacco mosaic virus"),
    "{{Infobox cultivar|name=Fuji|genus=Malus|species=M. domestica}}": ("cultivar", "Malus domestica"),
    "{{Ichnobox|taxon=Grallator}}": ("trace fossil", "Grallator"),
    "{{Taxobox|genus=''Viola''|sectio=''V.'' sect. ''Melanium''}}": ("group", "Viola sect. Melanium"),
    "{{Infraspeciesbox|taxon=Brassica oleracea|variety=capitata}}": ("subspecies", "var. capitata"),
    "{{Taxobox|genus=Quercus|section=Lobatae|subdivision_ranks=Species|subdivision=''Quercus rubra''}}":
        ("species", "Quercus rubra"),
    "{{Taxobox begin | naam = Kikker}}\n{{Taxobox familie|Ranidae}}\n{{Taxobox soort|Rana|temporaria}}":
        ("species", "Rana temporaria"),
    "{{Zwierzę infobox\n |nazwa łacińska=Nymphalidae\n |rząd=[[motyle]]}}": ("family", "Nymphalidae"),
    "{{Infobox dish|name=Frog legs}}": ("", ""),
    "{{Taxobox\n| Taxon_WissName = Vanessa atalanta\n| Taxon_Rang = Art\n| Taxon2_WissName = Vanessa\n"
    "| Taxon2_Rang = Gattung\n}}": ("species", "Vanessa atalanta"),
    "{{Taxobox début | animal | ''Vanessa'' | f.jpg }}\n{{Taxobox | famille | Nymphalidae }}\n"
    "{{Taxobox taxon | animal | espèce | Vanessa atalanta | (Linnaeus, 1758) }}": ("species", "Vanessa atalanta"),
    "{{Speciesbox\n| name = Merlin\n| genus = Falco (bird)\n| species = columbarius <!-- L. -->\n}}":
        ("species", "Falco columbarius"),
    "{{Taxobox\n| status = LC<ref name=\"a/b\" />\n| binomial = ''Falco columbarius''<ref>B. species = x</ref>\n}}":
        ("species", "Falco columbarius"),
    "{{Taxobox|name=a } b <math>{c}</math>|classis=[[Aves|{{lang|la|Aves}}]]|genus=Falco|binomial=Falco columbarius}}":
        ("species", "Falco columbarius"),
    "{{Vogelkasten|genus=Falco|species=columbarius}}": ("species", "Falco columbarius"),  # a template of no known name
    "{{Bird|image=M.jpg|scientific name=''Falco columbarius''}}": ("species", "Falco columbarius"),  # of a farm
}  # fmt: skip
# First section, titles of the page, match with the merlin.
MATCHES = (
    ("{{Speciesbox|taxon=Falco columbarius}}", ("X",), Match.BINOMIAL),
    ("{{Speciesbox|taxon=Aesalon columbarius}}", ("X",), Match.SYNONYM),
    ("The '''merlin''' (''Falco columbarius'') is small.", ("Small falcon",), Match.LEAD),
    ("{{Speciesbox|taxon=Tinnunculus columbarius}}", ("Merlin",), Match.MENTION),
    ("{{Speciesbox|taxon=Falco regulus}}", ("merlin",), Match.MENTION),
    ("{{Speciesbox|taxon=Falco regulus}}", ("X",), Match.NO),
    ("{{Subspeciesbox|genus=Falco|species=columbarius|subspecies=suckleyi}}\nA race.", ("Black merlin",), Match.NO),
    ("A small falcon, Falco columbarius.", ("Merlin (bird)",), Match.MENTION),
    ("The '''merlin''' is a small bird of prey.", ("Merlin",), Match.NAME),
    ("The '''merlin''' is a species of falcon from the north.", ("Pigeon hawk", "Merlin"), Match.NAME),
    ("'''Merlin''' is a film of 1998; a falcon has a part in it.", ("Merlin",), Match.NO),
    ("'''Merlin''' may refer to:\n* [[Merlin (bird)]] (''Falco columbarius'')", ("Merlin",), Match.NO),
    ("The '''merlin''' (''Falco columbarius'') is a bird.\n{{disambiguation}}", ("Merlin",), Match.NO),
    ("", ("Falco columbarius",), Match.NO),
)


def box_of(rows: tuple[str, ...]) -> Infobox:
    tags = ["th" if row.endswith((" name", "Subspecies")) else "td" for row in rows]
    cells = "".join(
        "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in row.split("|")) + "</tr>"
        for tag, row in zip(tags, rows, strict=True)
    )
    html = f'<table class="infobox biota"><tr><th colspan="2">Box</th></tr>{cells}</table>'
    box = parse_article(html, source=Source(title="X")).infobox
    assert box is not None
    return box


def test_boxes_in_html_state_a_taxon_and_only_species_a_binomial() -> None:
    boxes = {rows: box_of(rows) for rows in ROWS}
    assert {rows: tuple(stated_taxon(box)) for rows, box in boxes.items()} == ROWS
    binomials = {rows: name if rank == "species" and name not in NO_BINOMIAL else None
                 for rows, (rank, name) in ROWS.items()}  # fmt: skip
    assert {rows: box.binomial for rows, box in boxes.items()} == binomials


def test_templates_in_wikitext_state_a_taxon_and_only_species_a_binomial() -> None:
    clues = {text: clues_from_wikitext(text) for text in TEMPLATES}
    assert {text: tuple(found.taxon) for text, found in clues.items()} == TEMPLATES
    for text, (rank, name) in TEMPLATES.items():
        assert clues[text].binomial == (name if rank == "species" else None), text
        assert clues[text].has_taxobox == bool(rank), text


def test_the_ranks_above_are_read_from_the_page() -> None:
    lineages = {
        OLD_PLANT + "}}": {"kingdom": "Plantae", "order": "Rosales", "family": "Rosaceae"},
        "{{Taxobox|Taxon_WissName=Vanessa atalanta|Taxon_Rang=Art|Taxon2_WissName=Nymphalidae|Taxon2_Rang=Familie}}":
            {"family": "Nymphalidae", "genus": "Vanessa"},
        "{{Taxobox|rijk=[[Dieren|Animalia]]|orde=Anura|familie=Ranidae|w-naam=Rana temporaria}}":
            {"kingdom": "Animalia", "order": "Anura", "family": "Ranidae", "genus": "Rana"},
        "{{Speciesbox|taxon=Vanessa atalanta}}": {"genus": "Vanessa"},
        "{{Taxobox|classis=[[Amphibia]]|binomial=''Bufo bufo''}}": {"class": "Amphibia", "genus": "Bufo"},
    }  # fmt: skip
    assert {text: clues_from_wikitext(text).lineage for text in lineages} == lineages
    assert rank_of_group("Empidonax", "The genus Empidonax is a group of birds in the family Tyrannidae.") == "genus"
    assert rank_of_group("Mantis", "Mantis is a kind of insect.") == "group"


def test_without_a_taxobox_the_lead_gives_the_binomial() -> None:
    """A book title or an italic sentence that begins with a binomial does not name a species."""
    clues = clues_from_wikitext(
        "[[File:M.jpg|thumb|The [[merlin]]]]\nThe '''merlin''' (''Falco columbarius''), once ''Lithofalco'', is small."
    )
    assert (clues.binomial, clues.lead_binomials) == (None, ("Falco columbarius",))
    assert clues.lead == "The merlin (Falco columbarius), once Lithofalco, is small."
    assert clues.subject_binomial == clues.best_binomial == "Falco columbarius"
    read = {italic: clues_from_wikitext(f"The merlin, ''{italic}'', is small.").lead_binomials for italic in (
        "Falco columbarius", "Falco columbarius suckleyi", "Falco columbarius flies south", "Falco",
    )}  # fmt: skip
    assert list(read.values()) == [("Falco columbarius",), ("Falco columbarius",), (), ()]


def test_pages_match_a_taxon_by_taxobox_lead_or_title() -> None:
    matched = [(text, titles, match_page(clues_from_wikitext(text), MERLIN, titles)) for text, titles, _ in MATCHES]
    assert matched == list(MATCHES)
