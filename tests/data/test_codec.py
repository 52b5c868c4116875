import json
import time
from dataclasses import replace

import pytest

from data.codec import MAX_DEPTH, dumps, from_json, json_object, load_json, loads, parse_json, parse_json_at, to_json
from data.errors import StoreError
from data.records import (
    Anchor,
    Box,
    Detection,
    Identification,
    Source,
    Span,
    SpeciesEntry,
    Statement,
    Summary,
    Taxon,
    taxon_id,
)
from data.words import nearest, singulars
from tests.toy.encoders import toy_encoders
from tests.toy.store import MemoryStore, Sketch

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


def test_an_invalid_record_is_refused() -> None:
    for line, complaint in (
        ("{", "Invalid JSON"), ("[]", "Invalid Span: expected an object"), ('{"start": 1}', 'Field "end" is missing'),
        ('{"start": 1, "end": "far"}', 'Field "end": expected a valid integer.* got .far.'),
    ):  # fmt: skip
        with pytest.raises(StoreError, match=complaint):
            loads(Span, line)


def test_a_box_is_four_numbers_in_json() -> None:
    bird = Detection(box=Box(left=2.0, top=1.0, right=5.5, bottom=3.0), kind="bird", score=0.75)
    line = dumps(bird)
    assert line == '{"box":[2.0,1.0,5.5,3.0],"kind":"bird","score":0.75}'
    assert loads(Detection, line) == bird and isinstance(loads(Detection, line).box, Box)
    row = Identification(image="a.jpg", box=Box(left=0.0, top=0.0, right=9.0, bottom=8.0))
    assert loads(Identification, dumps(row)) == row


def test_ids_of_taxa_are_slugs_in_stores_too() -> None:
    for name, expected in (("Avis sine-pyxide", "avis-sine-pyxide"), ("Gyps  rüppelli (Brehm)", "gyps-ruppelli-brehm")):
        assert taxon_id(name) == expected
    assert MemoryStore({"Gyps rüppelli": Sketch()}, toy_encoders()).taxon_ids == ("gyps-ruppelli",)
    tit = replace(ENTRY.taxon, names_by_language={"de": ("Kohlmeise",)})
    assert tit.in_language("de").common_names == ("Kohlmeise", "Great Tit")
    assert tit.in_language("fr") == tit


def test_singulars_and_near_words() -> None:
    assert (singulars("finches"), singulars("geese")) == (["finches", "finch", "finche"], ["geese", "goose"])
    assert nearest("identfy", ["index", "identify", "import"], n=1) == ["identify"]


def test_what_cannot_be_written_is_replaced_or_a_value_error() -> None:
    assert parse_json(b'{"a": [true, null, NaN, 1.5, "x", {}]}') == {"a": [True, None, None, 1.5, "x", {}]}
    found = parse_json(r'{"a\ud83d": ["\ude00", "\ud83d\ude00"]}')
    assert found == {"a\ufffd": ["\ufffd", "😀"]}
    json.dumps(found, ensure_ascii=False).encode()
    for deep in ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "[" * 1_000_000, '{"a":' * 5_000 + "1" + "}" * 5_000):
        with pytest.raises(ValueError, match="at most 100 levels"):
            parse_json(deep)
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert json.dumps(parse_json(deepest)) == deepest
    for number in ("1e400", "-1e400", "1" + "0" * 400, "Infinity"):
        with pytest.raises(ValueError, match="expected a number"):
            parse_json(f'{{"logprob": {number}}}')
    numbers = [9223372036854775807, float("-inf"), 123456789012345678901.0]
    assert parse_json("[9223372036854775807, -Infinity, 123456789012345678901]") == numbers
    for content in ("", "{", "1 2", b"\xff", "{'a': 1}"):
        with pytest.raises(ValueError):
            parse_json(content)


def test_every_string_and_key_passes_the_given_function_and_a_text_is_read_from_a_place() -> None:
    found = parse_json(r'{"k\u0065y": ["my k\u0065y", {"x": "key"}]}', text=lambda text: text.replace("key", "***"))
    assert found == {"***": ["my ***", {"x": "***"}]}
    assert parse_json_at('so: {"a": 1} and', 4) == ({"a": 1}, 12)


def test_json_that_is_read_whole_has_no_limit_but_that_of_the_parser() -> None:
    for content in ("[" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000):
        with pytest.raises(ValueError, match="nested too deeply"):
            load_json(content)
    assert load_json('{"a": [1, "\\ud83d"]}') == {"a": [1, "\ud83d"]}
    repeated = load_json('{"a": 1, "a": 2}', object_pairs_hook=lambda pairs: [name for name, _ in pairs])
    assert repeated == ["a", "a"]


NESTED = '{"a":[' * 900 + "{}," * 20_000  # each level is read to the end
LOOP = '{"a":' * 30_000  # deeper than the parser can go, from each level
SHORT = '{"{' * 25_000


@pytest.mark.parametrize("text", [NESTED, LOOP, SHORT], ids=["nested", "loop", "short"])
def test_objects_without_an_end_take_no_time(text: str) -> None:
    """A model that repeats itself holds up no other request: the text is read a few times, not once a brace."""
    began = time.process_time()
    assert json_object(text) == (None, True)
    assert time.process_time() - began < 3
