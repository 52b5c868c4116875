from data.records import SpeciesEntry, Statement, Summary, Taxon
from data.starter.knowledge import Fact, read_species
from kb.checklist.avilist import load_checklist
from kb.curate.lint import lint_entry, same_texts
from training.knowledge.agreement import AgreedFact
from training.knowledge.families import without_doubtful
from training.knowledge.lint import misleading, statements_of

SHIPPED = read_species()
COMPOSED = [species for species in SHIPPED if species.facts and not species.by_hand]


def taxon_named(name: str) -> Taxon:
    taxon = load_checklist().find(name)
    assert taxon is not None
    return taxon


RULES = (
    ("Red-billed Chough", Fact(part="bill", colours=("yellow",)), "name"),
    ("Red-billed Chough", Fact(part="bill", colours=("orange-red",)), None),
    ("Red-billed Chough", Fact(part="legs", colours=("yellow",)), None),
    ("Long-tailed Shrike", Fact(part="tail", shape="short"), "name"),
    ("Dark-eyed Junco", Fact(part="eyes", shade="pale"), "name"),
    ("Common Starling", Fact(part="throat", shape="long"), "nonsense"),
    ("Common Starling", Fact(part="tail", shape="long, short"), "contradiction"),
)


def test_facts_against_name_anatomy_or_each_other_mislead() -> None:
    for name, fact, rule in RULES:
        assert set(misleading(taxon_named(name), [fact]).values()) == ({rule} if rule else set()), (name, fact)
    # A colour of both sexes yields to another one of the male.
    facts = [Fact(part="crown", colours=("brown",)), Fact(part="crown", colours=("black",), sex="male")]
    [found] = misleading(taxon_named("House Sparrow"), facts)
    assert (found.sex, found.value) == ("both", "brown")


def test_a_relative_shape_needs_the_family_or_a_third_source() -> None:
    long = AgreedFact(part="tail", sex="both", aspect="shape", value="long")
    certain = AgreedFact(part="tail", sex="both", aspect="shape", value="long", n_sources=3)
    names = "Turdus merula|Turdus iliacus|Turdus pilaris|Mimus polyglottos|Mimus gilvus|Toxostoma rufum"
    taxa = {taxon.taxon_id: taxon for taxon in map(taxon_named, names.split("|"))}
    facts = {key: [] if taxon.lineage["family"] == "Turdidae" else [long] for key, taxon in taxa.items()}
    facts |= {"turdus-merula": [long], "turdus-iliacus": [certain]}
    sound = without_doubtful(facts, taxa)
    assert sound == {**facts, "turdus-merula": []}


def test_no_shipped_fact_misleads() -> None:
    assert len(COMPOSED) >= 2500
    for species in COMPOSED:
        assert misleading(species.taxon, species.facts) == {}, species.taxon.taxon_id


def test_shipped_texts_have_no_findings_of_the_lint_for_users() -> None:
    """Except that few facts make a short text."""
    told = [(s.taxon, tuple(Statement(text=text) for text in s.text)) for s in COMPOSED if s.text]
    entries = [SpeciesEntry(taxon=taxon, summary=Summary(statements=of, scope="facts")) for taxon, of in told]
    found = [finding for entry in entries for finding in lint_entry(entry, None) if finding.rule != "too-short"]
    assert [(finding.name, finding.rule, finding.detail) for finding in found] == []
    assert len(same_texts(entries)) < 0.02 * len(entries)


def test_statements_are_the_single_values_of_facts() -> None:
    [fact] = [Fact(part="bill", colours=("yellow", "black"), shape="long, hooked")]
    assert [statement.value for statement in statements_of([fact])] == ["yellow", "black", "long", "hooked"]
    assert [statement.value for statement in statements_of([Fact(part="bill", shade="dark")])] == ["dark"]
