from dataclasses import replace
from pathlib import Path

import kb
from data.records import Source, Span, SpeciesEntry, Statement, Summary, Taxon
from kb.curate.lint import MAX_FACT_WORDS, MAX_WORDS, MIN_WORDS, Finding, lint, lint_entry, same_texts
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders

ARTICLE = (
    "The male has a red crown and a thin black bill. The female has a brown crown and a pale throat. "
    "Juveniles are greyish brown with white spots on the back. It is 12 cm long. The song is a loud trill."
)
WREN = Taxon(
    taxon_id="wrena-rubra",
    scientific_name="Wrena rubra",
    rank="species",
    common_names=("Red Wren",),
    lineage={"class": "Aves"},
)
GOOD = (
    ("The male has a red crown and a thin black bill.", "The male has"),
    ("The female has a brown crown.", "The female"),
    ("Juveniles are greyish brown, spotted white on the back.", "Juveniles are"),
    ("It is 12 cm long.", "It is 12"),
)


def span_of(begin: str) -> Span:
    start = ARTICLE.index(begin)
    return Span(start=start, end=ARTICLE.index(".", start) + 1)


def entry(*sentences: tuple[str, str], **changes: object) -> SpeciesEntry:
    statements = tuple(Statement(text=text, evidence=(span_of(begin),) if begin else ()) for text, begin in sentences)
    summary = replace(Summary(statements=statements, distiller="model/1"), **changes)  # type: ignore[arg-type]
    return SpeciesEntry(
        taxon=WREN, source=Source(title="Red wren", url="https://wiki.example/w", revision=1), summary=summary
    )


def found(*sentences: tuple[str, str], **changes: object) -> list[tuple[str, str, int | None]]:
    return [brief(finding) for finding in lint_entry(entry(*sentences, **changes), ARTICLE)]


def brief(finding: Finding) -> tuple[str, str, int | None]:
    return finding.severity, finding.rule, finding.statement


def test_each_planted_fault_is_found() -> None:
    for fault, severity, rule in (
        (("It has a red crown and a purple bill.", "The male has"), "error", "unsupported"),
        (("It is 21 cm long, with a crown.", "It is 12"), "error", "unsupported"),
        (("The male has a red crown and red wings.", "The male has"), "warning", "unsupported"),
        (("The male has a dark red crown.", "The male has"), "warning", "unsupported"),
        (("The male has a red crown.", ""), "error", "no-evidence"),
        (("The male of the red wren has a red crown.", "The male has"), "error", "own-name"),
        (("The male of W. rubra has a red crown.", "The male has"), "error", "own-name"),
        (("The female has a red crown.", "The male has"), "error", "sex-mixed-up"),
        (("Juveniles have a brown crown.", "The female"), "error", "sex-mixed-up"),
        (("Red is the crown.", "The male has"), "warning", "sex-mixed-up"),
        (("The song is a loud trill.", "The song"), "warning", "not-visual"),
        (("It lives in forests of Asia.", "It is 12"), "warning", "not-visual"),
        (("The eggs have white spots, a red bill and a black crown.", "It is 12"), "warning", "not-visual"),
        (("It was named by Linnaeus in Latin.", "It is 12"), "warning", "not-visual"),
        (("It is 12 cm long, and sings from trees.", "It is 12"), "note", "partly-not-visual"),
    ):
        assert (severity, rule, 5) in found(*GOOD, fault), fault
    assert found(*GOOD) == []
    assert found(*GOOD, ("The female has a red crown.", "The male has")) == [("error", "sex-mixed-up", 5)]
    [finding] = lint_entry(entry(*GOOD, ("The known species sings from trees.", "The song")), ARTICLE)
    assert (finding.rule, finding.detail) == ("not-visual", "song")
    named = (*GOOD, ("The male red wren has a red crown.", "The male has"))
    assert found(*named, stage="summary") == []


def test_colours_swapped_between_the_sexes_are_an_error() -> None:
    evidence = (span_of("The male has"), span_of("The female"))
    both = Statement(text="The male has a brown crown, the female a red crown.", evidence=evidence)
    mixed_up = replace(entry(), summary=Summary(statements=(both, both)))
    findings = [finding for finding in lint_entry(mixed_up, ARTICLE) if finding.statement == 1]
    assert {(finding.severity, finding.rule) for finding in findings} == {("error", "sex-mixed-up")}
    assert [finding.detail for finding in findings] == [
        "says brown of male, the evidence of female",
        "says red of female, the evidence of male",
    ]


def test_it_refers_to_the_sex_of_the_previous_sentence() -> None:
    more = "It has a pale throat."
    assert found(*GOOD[:2], (more, "The female"), *GOOD[2:]) == []
    assert ("warning", "sex-mixed-up", 1) in found((more, "The female"), *GOOD)


def test_evidence_outside_the_article_or_a_lost_article_is_an_error() -> None:
    for span in (Span(start=0, end=len(ARTICLE) + 1), Span(start=-20, end=20)):
        away = Summary(statements=(Statement(text="The crown is red.", evidence=(span,)),))
        findings = lint_entry(replace(entry(), summary=away), ARTICLE)
        assert ("error", "no-evidence", 1) in [brief(finding) for finding in findings]
    lost = [brief(finding) for finding in lint_entry(entry(*GOOD), None)]
    assert lost == [("error", "no-evidence", number) for number in (1, 2, 3, 4)]
    assert lint_entry(entry(GOOD[0]), None)[0].detail == "the text of the article is missing or damaged"


def test_same_texts_ignores_case_and_punctuation_and_names_three_species() -> None:
    texts = ("The crown is red.", "The crown is RED!", "the crown is red", "The crown, is red.", "The crown is red.")
    entries = [
        replace(entry((text, "It is 12")), taxon=replace(WREN, taxon_id=f"wren-{i}", common_names=(f"Wren {i}",)))
        for i, text in enumerate(texts)
    ]
    assert same_texts(entries)[0].detail == "as Wren 1, Wren 2, Wren 3 and more"
    assert same_texts(entries[:4])[0].detail == "as Wren 1, Wren 2, Wren 3"
    assert [finding.taxon_id for finding in same_texts(entries)] == [f"wren-{i}" for i in range(5)]
    other = replace(entry(GOOD[0]), taxon=replace(WREN, taxon_id="other"))
    assert [(each.name, each.detail) for each in same_texts([*entries[:2], other])] == [
        ("Wren 0", "as Wren 1"),
        ("Wren 1", "as Wren 0"),
    ]


def test_a_longer_name_counts_at_the_start_of_a_sentence_where_the_distiller_hides_it() -> None:
    named = replace(WREN, common_names=("Swallowtail",), lineage={"order": "Lepidoptera"})

    def rules(text: str, distiller: str) -> set[str]:
        statement = Statement(text=text, evidence=(Span(start=0, end=len(text)),))
        summary = Summary(statements=(statement,), distiller=distiller)
        return {each.rule for each in lint_entry(replace(entry(), taxon=named, summary=summary), text)}

    assert "own-name" in rules("The Old World Swallowtail has yellow wings.", "extractive/2 lepidoptera/2")
    assert "own-name" not in rules(
        "It is like the Old World Swallowtail, with yellow wings.", "extractive/2 lepidoptera/2"
    )
    assert "own-name" in rules("The swallowtail has yellow wings.", "extractive/2 lepidoptera/2")
    assert "own-name" not in rules("The swallowtail has yellow wings.", "as-is/1")  # the user's own words


def test_rules_on_words_leave_out_other_languages_but_evidence_counts() -> None:
    text = "Der Falter hat orange Flügel mit schwarzer Spitze. Die Raupe lebt auf Disteln."
    spans = Span(start=0, end=50), Span(start=51, end=len(text))
    statements = [Statement(text=text[span.start : span.end], evidence=(span,)) for span in spans]
    german = replace(entry(), summary=Summary(statements=tuple(statements), distiller="as-is/1"))
    assert lint_entry(german, text) == []
    assert {each.rule for each in lint_entry(german, None)} == {"no-evidence"}


def test_length_warnings_start_beyond_their_limits() -> None:
    four = ("It is 12 cm.", "It is 12")
    assert found(*[four] * (MIN_WORDS // 4)) == []
    assert found(*[four] * (MIN_WORDS // 4 - 1)) == [("warning", "too-short", None)]
    assert found(*[four] * (MAX_WORDS // 4)) == []
    assert found(*[four] * (MAX_WORDS // 4 + 1)) == [("warning", "too-long", None)]
    two = ("12 cm", "It is 12")
    assert ("warning", "too-long", None) not in found(*[two] * (MAX_WORDS // 2))
    assert ("warning", "too-long", None) in found(*[two] * (MAX_WORDS // 2 + 1))
    fact = ("The crown is red.", "")  # needs no evidence
    assert found(fact, scope="facts") == [("note", "too-short", None)]
    assert found(*[fact] * (MAX_FACT_WORDS // 4), scope="facts") == []
    assert found(*[fact] * (MAX_FACT_WORDS // 4 + 1), scope="facts") == [("warning", "too-long", None)]


def test_a_built_knowledge_base_is_checked_against_its_stored_articles(tmp_path: Path) -> None:
    kb.build(tmp_path / "birds.kb", made_up_taxa(4), PageSource(), toy_encoders())
    with kb.open(tmp_path / "birds.kb") as store:
        report = lint(store)
        assert report.n_species == 4
        assert report.n_statements > 4
        assert not report.has("error")
        for path in store.layout.articles.root.rglob("*.gz"):
            path.unlink()
        assert {finding.rule for finding in lint(store).findings if finding.severity == "error"} == {"no-evidence"}
