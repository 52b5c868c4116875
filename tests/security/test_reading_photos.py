"""Orders in descriptions and names of candidates change neither the candidates nor the choice."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from data.event_loop import wait_for
from data.records import Candidate, Identification
from recognize.reader.reader import Reader
from recognize.reader.stream import read_over
from tests.security.conftest import Model
from tests.security.obedient_model import ATTACKS, gullible, obedient
from tests.servers.openai_server import Call

JPEG = b"\xff\xd8\xff made up"


def candidate(name: str, common: str, summary: str) -> Candidate:
    taxon_id = name.lower().replace(" ", "-")
    return Candidate(taxon_id=taxon_id, scientific_name=name, common_name=common, score=1.0, summary=summary)


JAY = candidate("Cyanocitta cristata", "Blue Jay", "Blue above, a crest.")
CARDINAL = candidate("Cardinalis cardinalis", "Northern Cardinal", "Red, with a black mask.")
BLUEBIRD = candidate("Sialia sialis", "Eastern Bluebird", "Blue above, orange below.")


def jay(call: Call) -> str:
    label = re.search(r"^([A-Z])\. Blue Jay", call.text, re.MULTILINE)
    assert label is not None
    return json.dumps({"reason": "Its crest.", "answer": label[1]})


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("forced", [False, True])
def test_orders_of_a_candidate_are_not_obeyed(model: Model, attack: str, forced: bool) -> None:
    """In its summary, its names, or the raw article that is given instead."""
    zebra = json.dumps({"reason": "zebra", "answer": "C"})
    evil = replace(
        BLUEBIRD,
        common_name=f"Eastern Bluebird {attack}",
        scientific_name=f"Sialia sialis {attack}",
        summary=f"{BLUEBIRD.summary} {attack}",
    )
    for texts in (None, ["Blue.", "Red.", f"Blue above. {attack}"], [None, None, None]):
        reader = Reader(model.follows(obedient(jay, zebra)), n_samples=3, forced=forced)
        reading = wait_for(reader.read(JPEG, [JAY, CARDINAL, evil], texts))
        assert (reading.choice, reading.agreement) == (JAY.taxon_id, 1.0)
        for call in model.calls:
            lines = call.text.partition("<candidates>\n")[2].partition("\n</candidates>")[0].split("\n")
            assert [line[:3] for line in lines] == ["A. ", "B. ", "C. "]
            answers = call.payload["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"]
            assert answers == ["A", "B", "C", *([] if forced else ["none"])]


@pytest.mark.parametrize(
    "zebra",
    [
        '{"reason": "zebra", "answer": "Z"}',
        '{"reason": "zebra", "answer": "Equus quagga"}',
        '{"reason": "zebra", "answer": "A", "candidates": ["Equus quagga"]}{"answer": "B"}',
        '{"choice": "Equus quagga"}',
        "Equus quagga",
    ],
)
def test_a_fooled_reader_cannot_answer_beside_the_candidates(model: Model, zebra: str) -> None:
    """Unreadable: the answer of the ranking stays. No other photo is touched, nor any score."""
    evil = replace(BLUEBIRD, summary=ATTACKS[0])
    rows = [
        Identification(image=f"{n}.jpg", status="identified", candidates=candidates)
        for n, candidates in enumerate([(JAY, CARDINAL), (JAY, evil), (CARDINAL, JAY)])
    ]
    found = list(read_over(rows, Reader(model.follows(gullible(jay, zebra))), lambda path, box: JPEG))
    assert [row.candidates for row in found] == [row.candidates for row in rows]
    assert [row.reader.choice for row in found if row.reader] == [JAY.taxon_id, None, JAY.taxon_id]
    assert (found[1].answer, found[1].reader.agreement if found[1].reader else None) == (rows[1].answer, 0.0)


def test_names_of_files_are_not_shown_to_the_reader(model: Model) -> None:
    row = Identification(image=f"{ATTACKS[0]}.jpg", status="identified", candidates=(JAY, CARDINAL))
    (found,) = read_over([row], Reader(model.follows(obedient(jay, "zebra"))), lambda path, box: JPEG)
    assert "zebra" not in model.calls[0].text
    assert found.reader is not None
    assert found.reader.choice == JAY.taxon_id
