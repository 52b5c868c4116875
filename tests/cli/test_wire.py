"""Wire formats: the keys and columns of `--format json`, `jsonl` and `csv` do not change unnoticed.

A difference is either a mistake or a change that users must hear of: then the golden file and CHANGELOG.md change too.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.verbs import identify_rows as rows
from cli.verbs.identify_rows import evidence_text
from cli.verbs.show import species_payload, term_payload
from data import records as r
from data.codec import from_json, to_json
from kb.lookup.entries import FoundSpecies

GOLDEN = Path(__file__).with_name("golden")

CARDINAL = r.Taxon(
    taxon_id="cardinalis-cardinalis",
    scientific_name="Cardinalis cardinalis",
    rank="species",
    common_names=("Northern Cardinal",),
    lineage={"class": "Aves", "order": "Passeriformes", "family": "Cardinalidae", "genus": "Cardinalis"},
    ids={"avibase": "C0C4A5B1", "ebird": "norcar"},
)
SOURCE = r.Source(
    title="Northern cardinal", url="http://wiki.test/Northern_cardinal", revision=7, licence="CC BY-SA 4.0"
)
ANCHOR = r.Anchor(
    anchor_id="ab" * 32,
    subject_id=CARDINAL.taxon_id,
    sha256="ab" * 32,
    file="Male cardinal.jpg",
    page_url="http://wiki.test/File:Male_cardinal.jpg",
    author="A. Photographer",
    licence="CC BY 4.0",
    licence_url="http://licences.test/by/4.0",
    caption="A male",
)
SUMMARY = r.Summary(
    statements=(r.Statement(text="The male is red with a black mask.", evidence=(r.Span(start=4, end=39),)),),
    distiller="extractive/1",
)
ENTRY = r.SpeciesEntry(taxon=CARDINAL, source=SOURCE, summary=SUMMARY, anchors=(ANCHOR,), marks=("whole-article",))
RANGE = r.RangeFact(place="Mexico", role="breeds", months=(4, 5), sentence="It breeds in Mexico in April and May.")
TERM = r.Term(term_id="term:crest", name="crest", definition="Long feathers on the crown.", look_for="A pointed head.")
OK = r.Identification(
    image="a.jpg",
    answer=r.Answer(
        rank="species", name="Cardinalis cardinalis", common_name="Northern Cardinal", confidence=0.83, p_unknown=0.1,
        family="Cardinalidae", order="Passeriformes",
    ),
    candidates=(
        r.Candidate(
            taxon_id=CARDINAL.taxon_id,
            scientific_name=CARDINAL.scientific_name,
            common_name="Northern Cardinal",
            score=1.25,
            scores={"text": 0.25, "visual": 1.0},
            confidence=0.83,
            family="Cardinalidae",
            order="Passeriformes",
            anchors=(r.AnchorMatch(id="ab" * 32, similarity=0.75, credit=ANCHOR.credit),),
            summary=SUMMARY.text,
        ),
        r.Candidate(
            taxon_id="piranga-rubra",
            scientific_name="Piranga rubra",
            common_name="Summer Tanager",
            score=0.5,
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

PAYLOADS: dict[str, Any] = {
    "identify": [to_json(OK), to_json(FAILED)],
    "status": to_json(
        r.Status(
            species=2, articles=2, summaries=1, chunks=3, anchors=4, terms=1, profile="starter", spaces=("starter/1",),
            failures=(r.Failure(taxon="Piranga rubra", stage="fetch", reason="503"),),
            left_out={"no page": 2}, marks={"no-anchors": 1}, skipped_photos={"licence unknown": 1},
            calibrations={"default": "80 labelled photos of 20 species, calibration error 0.031"},
            unfinished=("build",),
            checklist="AviList 2025",
        )
    ),
    "verify": to_json(r.Verification(ok=False, digest="00ff", problems=("an article is missing",), mended=("cache",))),
    "show": species_payload(
        FoundSpecies(entry=ENTRY, quotes=(("male is red",),), sources=(SOURCE,), terms=(TERM,), ranges=(RANGE,))
    ),
    "show-term": term_payload(TERM),
    "search": [
        to_json(
            r.TaxonMatch(
                taxon_id=CARDINAL.taxon_id, scientific_name=CARDINAL.scientific_name,
                common_name="Northern Cardinal", rank="species", score=0.75,
            )
        )
    ],
    "context": to_json(
        r.Context(
            query="crest", passage="crest: Long feathers on the crown.",
            terms=(r.TermNote(name="crest", definition=TERM.definition, look_for=TERM.look_for),),
            sources=(SOURCE,), found=True,
        )
    ),
    "job": to_json(
        r.Job(
            query_id="1",
            text="a red bird",
            candidates=(r.JobImage(image_id="a", path="a.jpg", score=0.5),),
            relevant=("a",),
        )
    ),
    "rerank": to_json(
        r.RankedImage(
            query_id="1", image_id="a", rank=1, score=0.5, first_stage_rank=2,
            questions=(r.QuestionAnswer(question="Is it red?", answer="Yes", probability=0.9, obtained_by="logprobs"),),
            evaluation="red all over", cost_usd=0.01,
        )
    ),
}  # fmt: skip


def test_payloads_equal_their_golden_files() -> None:
    golden = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in GOLDEN.glob("*.json")}
    assert golden.keys() == {*PAYLOADS, "names"}  # names: tests/guards/test_docs.py
    for name, payload in PAYLOADS.items():
        assert payload == golden[name], name


def csv_of(per: rows.Rows) -> str:
    return rows.header("csv", per) + rows.lines("csv", OK, per=per) + rows.lines("csv", FAILED, per=per)


@pytest.mark.parametrize(("per", "name"), [("photos", "identify.csv"), ("candidates", "identify-candidates.csv")])
def test_csv_equals_its_golden_file(per: rows.Rows, name: str) -> None:
    assert csv_of(per) == (GOLDEN / name).read_text(encoding="utf-8")


def cells_of(row: r.Identification) -> dict[str, str]:
    (cells,) = csv.DictReader(io.StringIO(rows.header("csv") + rows.lines("csv", row)))
    return cells


@pytest.mark.parametrize(
    ("answer", "cells"),
    [
        (r.Answer(rank="genus", name="Larus", confidence=0.7, p_unknown=0.1, family="Laridae", order="Charadriiformes"),
         ["Larus", "", "genus", "", "0.7", "0.1", "Laridae", "Charadriiformes"]),
        (r.Answer(rank="none", name="", confidence=0.8, p_unknown=0.8), ["", "", "none", "", "0.8", "0.8", "", ""]),
        (r.Answer(rank="none", name="", p_unknown=0.4), ["", "", "none", "", "", "0.4", "", ""]),
    ],
    ids=["genus", "unknown", "not sure"],
)  # fmt: skip
def test_columns_of_a_photo_describe_its_answer(answer: r.Answer, cells: list[str]) -> None:
    found = cells_of(replace(OK, answer=answer, reader=None))
    names = "answer_scientific_name answer_common_name answer_rank answer_taxon_id confidence p_unknown family order"
    assert [found[name] for name in names.split()] == cells


def test_a_box_is_four_numbers_in_csv() -> None:
    assert cells_of(replace(OK, box=r.Box(left=1, top=2.5, right=30, bottom=40)))["box"] == "1 2.5 30 40"


def test_an_identification_round_trips_through_json() -> None:
    assert from_json(r.Identification, json.loads(rows.lines("jsonl", OK))) == OK


def test_the_table_shows_stage_scores_and_errors() -> None:
    text = rows.lines("table", OK, with_scores=True)
    assert "Northern Cardinal (Cardinalis cardinalis), 83 %" in text
    header = next(line for line in text.splitlines() if "common name" in line)
    assert "common name" not in rows.lines("table", OK)
    assert header.split() == ["#", "common", "name", "scientific", "name", "score", "text", "visual"]
    assert rows.lines("table", FAILED).startswith("b.jpg\n  Error: b.jpg is empty")


@pytest.mark.parametrize(
    ("answer", "wording"),
    [
        (r.Answer(rank="species", name="Avis avis", common_name="Bird", confidence=0.83, p_unknown=0.1),
         "Bird (Avis avis), 83 % sure"),
        (r.Answer(rank="species", name="Avis avis", common_name="Bird", confidence=0.999, p_unknown=0.1),
         "Bird (Avis avis), over 99 % sure"),
        (r.Answer(rank="species", name="Avis avis", confidence=0.5, p_unknown=0.3),
         "Avis avis, 50 % sure"),
        (r.Answer(rank="genus", name="Setophaga", confidence=0.83, p_unknown=0.1),
         "Identified to genus: Setophaga sp., 83 % sure"),
        (r.Answer(rank="family", name="Parulidae", confidence=0.9, p_unknown=0.1),
         "Identified to family: Parulidae, 90 % sure"),
        (r.Answer(rank="none", name="", p_unknown=0.1), "Not sure. Closest matches:"),
        (r.Answer(rank="none", name="", p_unknown=0.4), "Not sure. Closest matches:"),
        (r.Answer(rank="none", name="", confidence=0.7, p_unknown=0.7),
         "Probably not in the knowledge base (70 %). Closest matches:"),
        (r.Answer(rank="none", name=""), "No matching species"),
    ],
)  # fmt: skip
def test_an_answer_is_worded_by_rank_and_confidence(answer: r.Answer, wording: str) -> None:
    row = replace(OK, answer=answer, reader=None)
    assert rows.lines("table", row).splitlines()[1] == f"  {wording}"


def test_an_unknown_bird_is_shown_with_its_lookalike_and_genus() -> None:
    answer = r.Answer(
        rank="genus", name="Callipepla", confidence=0.91, p_unknown=0.93, looks_like="Callipepla californica",
        looks_like_common_name="California Quail",
    )  # fmt: skip
    row = replace(RANKED, answer=answer, status="unknown")
    assert rows.lines("table", row).splitlines()[1:5] == [
        "  Probably not in the knowledge base (93 %).",
        "  Looks like California Quail (Callipepla californica), which it does not hold.",
        "  Of the genus Callipepla, 91 % sure",
        "    A (Avis A), 83 %",
    ]
    cells = cells_of(row)
    assert (cells["looks_like"], cells["looks_like_common_name"]) == ("Callipepla californica", "California Quail")
    assert (cells["status"], cells["answer_rank"], cells["confidence"], cells["p_unknown"]) == (
        "unknown", "genus", "0.91", "0.93",
    )  # fmt: skip


RANKED = replace(
    OK,
    candidates=tuple(
        r.Candidate(taxon_id=name, scientific_name=f"Avis {name}", common_name=name, score=-i, confidence=share)
        for i, (name, share) in enumerate({"A": 0.83, "B": 0.1, "C": 0.05, "D": 0.003, "E": 0.001}.items())
    ),
    reader=None,
)
SURE = r.Answer(rank="species", name="Avis A", common_name="A", confidence=0.83, p_unknown=0.1)


@pytest.mark.parametrize(
    ("answer", "alternatives"),
    [
        (SURE, ["or B (Avis B), 10 %", "or C (Avis C), 5 %", "or D (Avis D), under 1 %"]),
        (r.Answer(rank="genus", name="Avis", confidence=0.9, p_unknown=0.1),
         ["A (Avis A), 83 %", "B (Avis B), 10 %", "C (Avis C), 5 %"]),
        (r.Answer(rank="none", name="", confidence=0.7, p_unknown=0.7),
         ["A (Avis A), 83 %", "B (Avis B), 10 %", "C (Avis C), 5 %"]),
        (r.Answer(rank="none", name="", p_unknown=0.1), ["A (Avis A), 83 %", "B (Avis B), 10 %", "C (Avis C), 5 %"]),
    ],
    ids=["species", "genus", "unknown", "not sure"],
)  # fmt: skip
def test_the_table_shows_three_alternatives_one_a_line(answer: r.Answer, alternatives: list[str]) -> None:
    lines = rows.lines("table", replace(RANKED, answer=answer)).rstrip().splitlines()
    assert lines[2:5] == [f"    {text}" for text in alternatives]
    assert lines[5:] == []


def test_the_most_confident_alternatives_come_first() -> None:
    """Their order by score is another one where the genus of the first species has little confidence left."""
    shares = {"A": 0.5, "B": 0.005, "C": 0.05, "D": 0.005, "E": 0.2}
    candidates = tuple(replace(each, confidence=shares[each.common_name]) for each in RANKED.candidates)
    lines = rows.lines("table", replace(RANKED, answer=SURE, candidates=candidates)).rstrip().splitlines()
    assert lines[2:] == [
        "    or E (Avis E), 20 %", "    or C (Avis C), 5 %", "    or B (Avis B), under 1 %",
    ]  # fmt: skip


def test_alternatives_have_no_percentage_without_a_calibration() -> None:
    plain = tuple(replace(each, confidence=None) for each in RANKED.candidates)
    row = replace(RANKED, answer=replace(SURE, confidence=None, p_unknown=None), candidates=plain)
    assert rows.lines("table", row).rstrip().splitlines()[1:] == [
        "  A (Avis A), best match", "    or B (Avis B)", "    or C (Avis C)", "    or D (Avis D)",
    ]  # fmt: skip


@pytest.mark.parametrize("rank", ["species", "none"])
def test_a_large_chance_of_an_unknown_species_is_a_line_of_the_table(rank: r.AnswerRank) -> None:
    answer = replace(SURE, rank=rank, confidence=0.83 if rank == "species" else None, p_unknown=0.4)
    text = rows.lines("table", replace(RANKED, answer=answer))
    assert "\n  40 % chance that it is not in the knowledge base\n" in text
    assert "chance" not in rows.lines("table", replace(RANKED, answer=replace(answer, p_unknown=0.2)))


def test_no_line_of_the_table_is_wider_than_80_columns() -> None:
    common, scientific = "Northern Rough-winged Swallow", "Stelgidopteryx serripennis"  # the longest of the shipped
    long = replace(RANKED.candidates[0], common_name=common, scientific_name=scientific)
    answer = r.Answer(rank="species", name=scientific, common_name=common, confidence=0.999, p_unknown=0.4)
    row = replace(RANKED, answer=answer, answer_without_list=answer, candidates=(long, long, long, long))
    others = (answer, replace(answer, confidence=None), r.Answer(rank="none", name="", p_unknown=0.4))
    for other in others:
        assert max(map(len, rows.lines("table", replace(row, answer=other)).splitlines())) <= 80


def columns_of(*scores: Mapping[str, float | None]) -> list[str]:
    candidates = tuple(
        r.Candidate(taxon_id="a", scientific_name="A", common_name="A", score=1.0, scores=each) for each in scores
    )
    row = r.Identification(image="a.jpg", answer=OK.answer, candidates=candidates)
    header = next(line for line in rows.lines("table", row, with_scores=True).splitlines() if "common name" in line)
    return header.split()[6:]


def test_the_table_omits_a_sole_encoder_and_jsonl_keeps_it() -> None:
    scores = {"visual": 0.5, "plain-colours": 0.25, "text_part": 0.1, "text": 0.25, "visual_part": 2.0}
    none = {"visual": 0.5, "plain-colours": None, "text_part": 0.0, "text": None, "visual_part": 2.0}
    assert columns_of(scores, none) == ["text", "visual", "text_part", "visual_part"]
    row = replace(OK, candidates=(replace(OK.candidates[0], scores=scores),))
    assert json.loads(rows.lines("jsonl", row))["candidates"][0]["scores"] == scores


def test_a_species_without_an_english_name_is_named_once() -> None:
    nameless = replace(OK.candidates[0], common_name=OK.candidates[0].scientific_name, anchors=(), summary=None)
    row = replace(
        OK,
        answer=r.Answer(rank="species", name="Avis avis", common_name="Avis avis"),
        candidates=(nameless,),
        reader=None,
    )
    assert "\n  Avis avis, best match\n" in rows.lines("table", row)
    assert evidence_text(row, "") == "  Cardinalis cardinalis"


def of_genus(rank: r.AnswerRank, name: str) -> r.Identification:
    """Return the row of a photo whose first candidate is an entry for a whole genus."""
    genus = r.Candidate(
        taxon_id="russula", scientific_name="Russula", common_name="Brittlegills", score=2.0, taxon_rank="genus"
    )
    answer = r.Answer(rank=rank, name=name, common_name="Brittlegills" if name == "Russula" else None, confidence=0.8)
    return replace(OK, answer=answer, candidates=(genus, *OK.candidates), reader=None)


def test_an_entry_for_a_genus_is_shown_as_one() -> None:
    row = of_genus("genus", "Russula")
    text = rows.lines("table", row)
    assert "\n  Identified to genus: Brittlegills (Russula sp.), 80 % sure\n" in text
    assert "or Northern Cardinal (Cardinalis cardinalis), 83 %" in text
    assert text.count("Russula") == 1, "the answer is no alternative to itself"
    above = rows.lines("table", of_genus("family", "Russulaceae"))
    assert "Identified to family: Russulaceae, 80 % sure" in above
    assert "\n    Northern Cardinal (Cardinalis cardinalis), 83 %\n    genus Brittlegills (Russula)" in above
    assert cells_of(row)["answer_taxon_id"] == "russula"
    assert evidence_text(row, "").startswith("  genus Brittlegills (Russula)\n")
    header, first, *_ = csv.reader(
        io.StringIO(rows.header("csv", "candidates") + rows.lines("csv", row, per="candidates"))
    )
    assert dict(zip(header, first, strict=True))["taxon_rank"] == "genus"
