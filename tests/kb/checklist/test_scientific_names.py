"""Scientific names in unusual spellings, as files and pages have them."""

from __future__ import annotations

import pytest

from kb.checklist.scientific_names import name_key, parse_name


@pytest.mark.parametrize(
    ("written", "text", "rank"),
    [
        ("VANESSA ATALANTA", "Vanessa atalanta", "species"),
        ("VANESSA ATALANTA LINNAEUS, 1758", "Vanessa atalanta", "species"),
        ("NYMPHALIDAE RAFINESQUE, 1815", "Nymphalidae", ""),
        ("SALIX ALBA VAR. VITELLINA", "Salix alba var. vitellina", "variety"),
        ("MENTHA X PIPERITA", "Mentha × piperita", "species"),
        ("Vanessa FABRICIUS, 1807", "Vanessa", ""),
        ("vanessa atalanta", "Vanessa atalanta", "species"),
        ("Coccinella 7-punctata Linnaeus, 1758", "Coccinella 7-punctata", "species"),
        ("Papilio d'urvillei", "Papilio d'urvillei", "species"),
        ("Aus bus d’Abrera, 1980", "Aus bus", "species"),
        ("Candidatus Phytoplasma asteris", "Phytoplasma asteris", "species"),
        ("Tobacco mosaic virus", "Tobacco mosaic virus", "species"),
        ("Pelophylax kl. esculentus (Linnaeus, 1758)", "Pelophylax esculentus", "species"),
        ("Bufo bufo s. str.", "Bufo bufo", "species"),
        ("Ficus carica ined.", "Ficus carica", "species"),
        ("Aus bus sp. nov.", "Aus bus", "species"),
        ("Aus subg. Bus cus Smith", "Aus cus", "species"),
        ("Amanita Pers. sect. Phalloideae (Fr.) Quél.", "Amanita sect. Phalloideae", "section"),
        ("Carica papaya L. f.", "Carica papaya", "species"),
        ("Lonicera japonica Thunb. f. alba", "Lonicera japonica f. alba", "form"),
        ("Rosa 'Peace'", "Rosa 'Peace'", "cultivar"),
        ("Brassica oleracea Capitata Group", "Brassica oleracea Capitata Group", "cultivar"),
        ("Anas acuta L. × Anas crecca L.", "Anas acuta L. × Anas crecca L.", "hybrid"),
        ("Aus sp.", "Aus sp.", "unnamed"),
        ("Aus n. sp. 1", "Aus n. sp. 1", "unnamed"),
        ("Aus cf. bus", "Aus cf. bus", "unnamed"),
        ("cf. Aus bus", "cf. Aus bus", "unnamed"),
        ("BOLD:AAA1234", "BOLD:AAA1234", ""),
        ("×", "", ""),
        ("", "", ""),
    ],
)
def test_a_name_has_its_words_and_rank(written: str, text: str, rank: str) -> None:
    found = parse_name(written)
    assert (found.text, found.rank) == (text, rank)


def test_an_aggregate_has_the_name_of_its_species() -> None:
    for written in ("Bufo bufo agg.", "Bufo bufo complex", "Bufo bufo species group"):
        assert parse_name(written) == ("Bufo bufo", "species", True)
    assert parse_name("Bufo bufo") == ("Bufo bufo", "species", False)


def test_markers_do_not_count_in_look_ups() -> None:
    assert name_key("Pelophylax kl. esculentus") == name_key("Pelophylax esculentus")
    assert name_key("Salix alba var. vitellina") == name_key("Salix alba vitellina")
