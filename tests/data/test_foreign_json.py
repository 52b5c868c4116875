import json
import time

import pytest

from data.foreign_json import MAX_DEPTH, json_object, load_json, parse_json, parse_json_at


def test_what_cannot_be_written_is_replaced_or_a_value_error() -> None:
    assert parse_json(b'{"a": [true, null, 1.5, "x", {}]}') == {"a": [True, None, 1.5, "x", {}]}
    found = parse_json(r'{"a\ud83d": ["\ude00", "\ud83d\ude00"]}')
    assert found == {"a\ufffd": ["\ufffd", "😀"]}
    json.dumps(found, ensure_ascii=False).encode()
    for deep in ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "[" * 1_000_000, '{"a":' * 5_000 + "1" + "}" * 5_000):
        with pytest.raises(ValueError, match="at most 100 levels"):
            parse_json(deep)
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert json.dumps(parse_json(deepest)) == deepest
    for number in ("1e400", "-1e400", "1" + "0" * 400, "Infinity", "NaN"):
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
