"""Wire formats: the keys and columns of `--format json`, `jsonl` and `csv` do not change unnoticed.

A difference is either a mistake or a change that users must hear of: then the golden file and CHANGELOG.md change too.
"""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

from cli.common.reports import species_payload
from cli.verbs import identify_rows as rows
from cli.verbs.identify_rows import evidence_text
from data import records as r
from data.codec import to_json
from kb.lookup.entries import FoundSpecies
from recognize.answers import status_of

GOLDEN = Path(__file__).with_name("golden")

CARDINAL = r.Taxon(
    taxon_id="cardinalis-cardinalis", scientific_name="Cardinalis cardinalis", rank="species",
    common_names=("Northern Cardinal",), ids={"avibase": "C0C4A5B1", "ebird": "norcar"},
    lineage={"class": "Aves", "order": "Passeriformes", "family": "Cardinalidae", "genus": "Cardinalis"},
)  # fmt: skip
SOURCE = r.Source(
    title="Northern cardinal", url="http://wiki.test/Northern_cardinal", revision=7, licence="CC BY-SA 4.0"
)
ANCHOR = r.Anchor(
    anchor_id="ab" * 32, subject_id=CARDINAL.taxon_id, sha256="ab" * 32, file="Male cardinal.jpg", caption="A male",
    page_url="http://wiki.test/File:Male_cardinal.jpg", author="A. Photographer", licence="CC BY 4.0",
    licence_url="http://licences.test/by/4.0",
)  # fmt: skip
SUMMARY = r.Summary(
    statements=(r.Statement(text="The male is red with a black mask.", evidence=(r.Span(start=4, end=39),)),),
    distiller="extractive/1",
)
ENTRY = r.SpeciesEntry(taxon=CARDINAL, source=SOURCE, summary=SUMMARY, anchors=(ANCHOR,), marks=("whole-article",))
TERM = r.Term(term_id="term:crest", name="crest", definition="Long feathers on the crown.", look_for="A pointed head.")
OK = r.Identification(
    image="a.jpg",
    answer=r.Answer(
        rank="species", name="Cardinalis cardinalis", common_name="Northern Cardinal", confidence=0.83, p_unknown=0.1,
        family="Cardinalidae", order="Passeriformes",
    ),
    candidates=(
        r.Candidate(
            taxon_id=CARDINAL.taxon_id, scientific_name=CARDINAL.scientific_name, common_name="Northern Cardinal",
            score=1.25, scores={"text": 0.25, "visual": 1.0}, confidence=0.83, family="Cardinalidae",
            order="Passeriformes", summary=SUMMARY.text,
            anchors=(r.AnchorMatch(id="ab" * 32, similarity=0.75, credit=ANCHOR.credit),),
        ),
        r.Candidate(
            taxon_id="piranga-rubra", scientific_name="Piranga rubra", common_name="Summer Tanager", score=0.5,
            scores={"text": 0.5, "visual": None},
        ),
    ),
    place=(40.5, -74.25),
    date="2026-05-01T06:30:00",
    reader=r.Reading(
        choice="Cardinalis cardinalis", agreement=0.5, margin=0.5, reason="the crest",
        samples=4, answered=2, failures=("m@127.0.0.1: 503",),
    ),
    preset="default",
    kb="birds",
    calibration="c1",
    seconds=0.5,
)  # fmt: skip
FAILED = r.Identification(
    image="b.jpg", status="error", error="b.jpg is empty,\nexpected a picture", preset="default", kb="birds"
)


def test_payloads_equal_their_golden_files() -> None:
    """`names.json` has the names of all others (tests/guards/test_docs.py)."""
    shown = FoundSpecies(entry=ENTRY, quotes=(("male is red",),), sources=(SOURCE,), terms=(TERM,))
    payloads = {
        "identify": [to_json(OK), to_json(FAILED)],
        "show": species_payload(shown),
        "show-term": {"term": to_json(TERM)},
    }
    for name, payload in payloads.items():
        assert payload == json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8")), name


def test_csv_equals_its_golden_file() -> None:
    files: dict[rows.Rows, str] = {"photos": "identify.csv", "candidates": "identify-candidates.csv"}
    for per, name in files.items():
        written = rows.header("csv", per) + rows.lines("csv", OK, per=per) + rows.lines("csv", FAILED, per=per)
        assert written == (GOLDEN / name).read_text(encoding="utf-8"), per


def cells_of(row: r.Identification, per: rows.Rows = "photos") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(rows.header("csv", per) + rows.lines("csv", row, per=per))))


def test_columns_of_a_photo_describe_its_answer() -> None:
    names = "answer_scientific_name answer_common_name answer_rank answer_taxon_id confidence p_unknown family order"
    for answer, cells in (
        (r.Answer(rank="genus", name="Larus", confidence=0.7, p_unknown=0.1, family="Laridae", order="Charadriiformes"),
         ["Larus", "", "genus", "", "0.7", "0.1", "Laridae", "Charadriiformes"]),
        (r.Answer(rank="none", name="", confidence=0.8, p_unknown=0.8), ["", "", "none", "", "0.8", "0.8", "", ""]),
    ):  # fmt: skip
        [found] = cells_of(replace(OK, answer=answer, box=r.Box(left=1, top=2.5, right=30, bottom=40)))
        assert ([found[name] for name in names.split()], found["box"]) == (cells, "1 2.5 30 40")


def test_the_lean_columns_say_what_the_table_says() -> None:
    second = replace(OK.candidates[0], scientific_name="Piranga rubra", common_name="Summer Tanager", confidence=0.1)
    least = replace(second, scientific_name="Piranga flava", common_name="Tooth-billed Tanager", confidence=0.01)
    row = replace(OK, reader=None, candidates=(OK.candidates[0], second, least))
    [cells] = csv.DictReader(io.StringIO(rows.header("csv", columns="lean") + rows.lines("csv", row, columns="lean")))
    assert list(cells.values()) == [
        "a.jpg", "identified", "Probably Northern Cardinal (Cardinalis cardinalis)", "0.83", "species",
        "Cardinalis cardinalis", "Northern Cardinal", "Northern Cardinal (Cardinalis cardinalis)",
        "Summer Tanager (Piranga rubra)", "0.83", "0.1", "1", "", "", "",
    ]  # fmt: skip
    shown = rows.lines("table", row)
    assert cells["answer"] in shown and cells["second_candidate"] in shown
    assert evidence_text(row, "").count("Summer Tanager (Piranga rubra)") == 1
    names = rows.header("csv", "candidates", "lean").strip()
    assert names == "image,bird,status,rank,taxon_id,scientific_name,common_name,candidate_confidence,score,error"


SURE = r.Answer(rank="species", name="Avis A", common_name="A", confidence=0.83, p_unknown=0.01)
UNSURE = r.Answer(rank="none", name="", p_unknown=0.01)
UNKNOWN = r.Answer(
    rank="none", name="", confidence=0.93, p_unknown=0.93, looks_like="Callipepla californica",
    looks_like_common_name="California Quail",
)  # fmt: skip
RANKED = replace(
    OK,
    answer=SURE,
    candidates=tuple(
        r.Candidate(taxon_id=name, scientific_name=f"Avis {name}", common_name=name, score=-i, confidence=share)
        for i, (name, share) in enumerate({"A": 0.83, "B": 0.1, "C": 0.05, "D": 0.003, "E": 0.001}.items())
    ),
    reader=None,
)
KIN = replace(RANKED, candidates=tuple(replace(each, family="Thraupidae") for each in RANKED.candidates))
ALONE = replace(KIN, answer=replace(UNKNOWN, looks_like=None), status="unknown", unknown_prior=0.7)
GENUS = r.Candidate(
    taxon_id="russula", scientific_name="Russula", common_name="Brittlegills", score=2.0, taxon_rank="genus"
)
OF_GENUS = replace(
    OK, answer=r.Answer(rank="genus", name="Russula", common_name="Brittlegills", confidence=0.8),
    candidates=(GENUS, *OK.candidates), reader=None,
)  # fmt: skip
ANSWERS = (
    SURE, replace(SURE, confidence=0.999), replace(SURE, p_unknown=0.4),
    r.Answer(rank="genus", name="Avis", confidence=0.83, p_unknown=0.01), UNSURE, replace(UNSURE, p_unknown=0.4),
    r.Answer(rank="none", name="", confidence=0.7, p_unknown=0.7), r.Answer(rank="none", name=""), UNKNOWN,
)  # fmt: skip
ROWS = (
    *(replace(RANKED, answer=answer, status=status_of(answer)) for answer in ANSWERS),
    replace(RANKED, answer=replace(SURE, confidence=None, p_unknown=None),
            candidates=tuple(replace(each, confidence=None) for each in RANKED.candidates)),
    ALONE, replace(ALONE, unknown_prior=0.1),
    replace(ALONE, answer=replace(UNKNOWN, looks_like=None, confidence=0.7, p_unknown=0.7)),
    *(replace(RANKED, answer=replace(SURE, p_unknown=0.2), unknown_prior=prior) for prior in (0.01, 0.1)),
    replace(RANKED, group="noon", answer=UNSURE, answer_without_list=UNSURE,
            photos=(r.EncounterPhoto(image="a.jpg"), r.EncounterPhoto(image="b.jpg", error="b.jpg is empty"))),
    replace(RANKED, photos=tuple(r.EncounterPhoto(image=f"{n}.jpg") for n in range(40))),
    FAILED, OF_GENUS,
)  # fmt: skip
SCORES = {"visual": 0.5, "plain-colours": 0.25, "text_part": 0.1, "text": 0.25, "visual_part": 2.0}
NONE = {"visual": 0.5, "plain-colours": None, "text_part": 0.0, "text": None, "visual_part": 2.0}


def scored(*scores: dict[str, float | None]) -> r.Identification:
    return replace(OK, candidates=tuple(replace(OK.candidates[0], scores=each) for each in scores))


def test_rows_of_the_table_equal_their_golden_file() -> None:
    """Answers by rank and confidence, unknown birds, encounters, lists, errors, and an entry for a genus.

    Scores have a column for each stage, but not for a sole encoder.
    """
    with_scores = (OK, scored(SCORES, NONE), scored({**SCORES, "plain-colours": 0.3}))  # type: ignore[arg-type]
    shown = [rows.lines("table", row) for row in ROWS]
    shown += [rows.lines("table", row, with_scores=True) for row in with_scores]
    assert "".join(shown) == (GOLDEN / "identify.txt").read_text(encoding="utf-8")
    assert json.loads(rows.lines("jsonl", scored(SCORES)))["candidates"][0]["scores"] == SCORES  # type: ignore[arg-type]
    first = cells_of(OF_GENUS, "candidates")[0]
    assert (first["answer_taxon_id"], first["taxon_rank"]) == ("russula", "genus")
    assert evidence_text(OF_GENUS, "").startswith("  genus Brittlegills (Russula)\n")
