import pytest

from data.records import SpeciesEntry, Statement, Summary
from data.starter.knowledge import read_species
from kb.curate.lint import lint_entry, same_texts
from training.knowledge.lint import misleading

SHIPPED = read_species()
COMPOSED = [species for species in SHIPPED if species.facts and not species.by_hand]


def test_no_shipped_fact_misleads() -> None:
    assert len(COMPOSED) >= 2500
    for species in COMPOSED:
        assert misleading(species.taxon, species.facts) == {}, species.taxon.taxon_id


@pytest.mark.integration
def test_shipped_texts_have_no_findings_of_the_lint_for_users() -> None:
    """Except that few facts make a short text."""
    told = [(s.taxon, tuple(Statement(text=text) for text in s.text)) for s in COMPOSED if s.text]
    entries = [SpeciesEntry(taxon=taxon, summary=Summary(statements=of, scope="facts")) for taxon, of in told]
    found = [finding for entry in entries for finding in lint_entry(entry, None) if finding.rule != "too-short"]
    assert [(finding.name, finding.rule, finding.detail) for finding in found] == []
    assert len(same_texts(entries)) < 0.02 * len(entries)
