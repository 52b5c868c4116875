"""Taxobox templates of any group of organisms and of several Wikipedias."""

from __future__ import annotations

import pytest

from kb.sources.mediawiki.pages.clues import clues_from_wikitext
from kb.sources.mediawiki.ranks import rank_of_group

OLD_PLANT = (
    "{{Taxobox|regnum=[[Plantae]]|unranked_divisio=[[Angiosperms]]|unranked_classis=[[Eudicots]]|ordo=[[Rosales]]"
    "|familia=[[Rosaceae]]|genus='''''Malus'''''|genus_authority=[[Philip Miller|Mill.]]"
)


@pytest.mark.parametrize(
    ("wikitext", "rank", "name"),
    [
        ("{{Speciesbox|genus=Vanessa (butterfly)|species=atalanta|authority=([[Linnaeus]], 1758)}}",
         "species", "Vanessa atalanta"),
        ("{{Speciesbox|taxon=Bombus (Pyrobombus) impatiens}}", "species", "Bombus impatiens"),
        ("{{mycomorphbox|name=Amanita muscaria|capShape=flat}}\n{{Speciesbox|genus=Amanita|species=muscaria}}",
         "species", "Amanita muscaria"),
        ("{{Taxobox|genus=†'''''Raptor'''''|species=†'''''R. rex'''''}}", "species", "Raptor rex"),
        (OLD_PLANT + "|species='''''M. domestica'''''|binomial=''Malus domestica''}}", "species", "Malus domestica"),
        (OLD_PLANT + "}}\n'''Malus''' is a genus", "genus", "Malus"),
        ("{{Automatic taxobox|taxon=Vanessa (butterfly)|subdivision_ranks=Species"
         "|subdivision=* ''[[Vanessa atalanta]]''\n* ''V. cardui''}}", "genus", "Vanessa"),
        ("{{Automatic taxobox|taxon=Echinocystis|subdivision_ranks=Species|subdivision=''E. lobata''}}",
         "species", "Echinocystis lobata"),
        ("{{Automatic taxobox|taxon=Nymphalidae}}\n'''Nymphalidae''', a group", "family", "Nymphalidae"),
        ("{{Automatic taxobox|taxon=Rosaceae}}", "family", "Rosaceae"),
        ("{{Automatic taxobox|taxon=Anura}}\n'''Frogs''' are amphibians in the order Anura.", "order", "Anura"),
        ("{{Automatic taxobox|taxon=Bombus (Pyrobombus)}}", "group", "Bombus (Pyrobombus)"),
        ("{{Subspeciesbox|genus=Canis|species=lupus|subspecies=dingo}}", "subspecies", "Canis lupus dingo"),
        ("{{Speciesbox|genus=Canis|species=lupus familiaris}}", "subspecies", "Canis lupus familiaris"),
        ("{{Taxobox|genus=Canis|species=C. lupus|trinomial=''Canis lupus dingo''}}", "subspecies",
         "Canis lupus dingo"),
        ("{{Speciesbox|genus=Mentha|species=× piperita}}", "hybrid", "Mentha × piperita"),
        ("{{Hybridbox|name=Liger|taxon=''Panthera leo'' × tigris}}", "hybrid", "Panthera leo × tigris"),
        ("{{Virusbox|taxon=Tobacco mosaic virus}}", "virus", "Tobacco mosaic virus"),
        ("{{Infobox cultivar|name=Fuji|genus=Malus|species=M. domestica}}", "cultivar", "Malus domestica"),
        ("{{Infobox dog breed|name=Beagle}}", "cultivar", "Beagle"),
        ("{{Ichnobox|taxon=Grallator}}", "trace fossil", "Grallator"),
        ("{{Automatic taxobox|taxon=Amanita sect. Phalloideae}}", "group", "Amanita sect. Phalloideae"),
        ("{{Taxobox|genus=''Viola''|sectio=''V.'' sect. ''Melanium''}}", "group", "Viola sect. Melanium"),
        ("{{Speciesbox|genus=Pelophylax|species=kl. esculentus}}", "species", "Pelophylax esculentus"),
        ("{{Speciesbox|taxon=Pelophylax kl. esculentus}}", "species", "Pelophylax esculentus"),
        ("{{Speciesbox|genus=Orcinus|species=sp.}}", "group", "Orcinus sp."),
        ("{{Infraspeciesbox|genus=Brassica|species=oleracea|variety=capitata}}", "subspecies",
         "Brassica oleracea var. capitata"),
        ("{{Taxobox|genus=Brassica|species=B. oleracea|trinomial=''Brassica oleracea'' var. ''capitata''}}",
         "subspecies", "Brassica oleracea var. capitata"),
        ("{{Taxobox|genus=Brassica|species=B. oleracea|cultivar group=Capitata Group}}", "cultivar",
         "Brassica oleracea Capitata Group"),
        ("{{Taxobox begin | naam = Kikker}}\n{{Taxobox familie|Ranidae}}\n{{Taxobox soort|Rana|temporaria}}",
         "species", "Rana temporaria"),
        ("{{Taxobox | naam = Kikker | orde = Anura | familie = [[Echte kikkers|Ranidae]] | w-naam = Rana temporaria}}",
         "species", "Rana temporaria"),
        ("{{Zwierzę infobox\n |nazwa łacińska=Rana temporaria\n |rodzina=[[żabowate]]}}", "species", "Rana temporaria"),
        ("{{Zwierzę infobox\n |nazwa łacińska=Nymphalidae\n |rząd=[[motyle]]}}", "family", "Nymphalidae"),
        ("{{Infobox dish|name=Frog legs}}", "", ""),
        ("{{Taxobox\n| Taxon_WissName = Vanessa atalanta\n| Taxon_Rang = Art\n| Taxon2_WissName = Vanessa\n"
         "| Taxon2_Rang = Gattung\n}}", "species", "Vanessa atalanta"),
        ("{{Taxobox\n| Taxon_WissName = Vanessa\n| Taxon_Rang = Gattung\n}}", "genus", "Vanessa"),
        ("{{Taxobox début | animal | ''Vanessa'' | f.jpg }}\n{{Taxobox | famille | Nymphalidae }}\n"
         "{{Taxobox taxon | animal | espèce | Vanessa atalanta | (Linnaeus, 1758) }}", "species", "Vanessa atalanta"),
        ("{{Ficha de taxón\n| familia=[[Nymphalidae]]\n| binomial=''Vanessa atalanta''}}", "species",
         "Vanessa atalanta"),
        ("{{Tassobox|famiglia=[[Nymphalidae]]|genere=[[Vanessa]]|binome=Vanessa atalanta}}", "species",
         "Vanessa atalanta"),
    ],
)  # fmt: skip
def test_a_taxobox_states_rank_and_name(wikitext: str, rank: str, name: str) -> None:
    clues = clues_from_wikitext(wikitext)
    assert clues.taxon == (rank, name)
    assert clues.binomial == (name if rank == "species" else None)


def test_the_ranks_above_are_read_from_the_page() -> None:
    assert clues_from_wikitext(OLD_PLANT + "}}").lineage == {
        "kingdom": "Plantae", "order": "Rosales", "family": "Rosaceae",
    }  # fmt: skip
    german = (
        "{{Taxobox|Taxon_WissName=Vanessa atalanta|Taxon_Rang=Art|Taxon2_WissName=Nymphalidae|Taxon2_Rang=Familie}}"
    )
    assert clues_from_wikitext(german).lineage == {"family": "Nymphalidae", "genus": "Vanessa"}
    dutch = "{{Taxobox|rijk=[[Dieren|Animalia]]|orde=Anura|familie=Ranidae|w-naam=Rana temporaria}}"
    assert clues_from_wikitext(dutch).lineage == {
        "kingdom": "Animalia", "order": "Anura", "family": "Ranidae", "genus": "Rana",
    }  # fmt: skip
    assert clues_from_wikitext("{{Speciesbox|taxon=Vanessa atalanta}}").lineage == {"genus": "Vanessa"}


def test_the_family_of_a_genus_is_not_its_own_rank() -> None:
    assert rank_of_group("Empidonax", "The genus Empidonax is a group of birds in the family Tyrannidae.") == "genus"
    assert rank_of_group("Mantis", "Mantis is a kind of insect.") == "group"
