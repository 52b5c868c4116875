"""Records to JSON and back; invalid records are refused with the position of the error."""

import json

import pytest

from data.codec import dumps, from_json, loads, to_json
from data.errors import StoreError
from data.records import (
    Anchor,
    Answer,
    Candidate,
    Identification,
    Source,
    Span,
    SpeciesEntry,
    Statement,
    Summary,
    Taxon,
)

ENTRY = SpeciesEntry(
    taxon=Taxon(
        taxon_id="parus-major", scientific_name="Parus major", rank="species", common_names=("Great Tit",),
        lineage={"class": "Aves", "genus": "Parus"},
    ),
    source=Source(title="Great tit", url="http://localhost/Great_tit", revision=7, licence="CC BY-SA 4.0"),
    summary=Summary(statements=(Statement(text="Black head, white cheeks.", evidence=(Span(start=3, end=9),)),)),
    anchors=(Anchor(anchor_id="ab", subject_id="parus-major"),), marks=("whole-article",),
)  # fmt: skip


def test_a_nested_record_round_trips_and_equal_records_have_equal_json() -> None:
    assert loads(SpeciesEntry, dumps(ENTRY)) == ENTRY
    other = from_json(SpeciesEntry, json.loads(json.dumps(to_json(ENTRY))))
    assert dumps(other) == dumps(ENTRY) and "\n" not in dumps(ENTRY)


def test_an_identification_has_the_documented_keys() -> None:
    names = {"scientific_name": "Parus major", "common_name": "Great Tit"}
    candidate = Candidate(taxon_id="parus-major", **names, score=0.5, scores={"text": 0.2, "visual": None})
    answer = Answer(rank="species", name="Parus major", common_name="Great Tit")
    row = to_json(Identification(image="a.jpg", answer=answer, candidates=(candidate,)))
    assert list(row) == [
        "image", "box", "bird", "n_birds", "shows", "status", "error", "answer", "candidates", "place", "date",
        "reader", "preset", "kb", "calibration", "seconds", "species_list", "answer_without_list", "unknown_prior",
        "group", "photos", "place_name", "answer_without_place",
    ]  # fmt: skip
    empty = ("confidence", "p_unknown", "family", "order", "looks_like", "looks_like_common_name")
    assert row["answer"] == {
        "rank": "species",
        "name": "Parus major",
        "common_name": "Great Tit",
        **dict.fromkeys(empty),
    }
    assert list(row["candidates"][0]) == [
        "taxon_id", "scientific_name", "common_name", "score", "scores", "anchors", "summary",
        "score_without_list", "range_text", "range_sentence", "confidence", "family", "order", "taxon_rank",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "Invalid JSON"),
        ("[]", "Invalid Span: expected an object"),
        ('{"start": 1}', 'Field "end" is missing'),
        ('{"start": 1, "end": "far"}', 'Field "end": expected a valid integer.* got .far.'),
    ],
)
def test_an_invalid_record_is_refused(line: str, complaint: str) -> None:
    with pytest.raises(StoreError, match=complaint):
        loads(Span, line)
