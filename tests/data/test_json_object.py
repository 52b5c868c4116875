"""The JSON object in a text: time."""

from __future__ import annotations

import time

import pytest

from data.json_object import json_object

NESTED = '{"a":[' * 900 + "{}," * 20_000  # each level is read to the end
LOOP = '{"a":' * 30_000  # deeper than the parser can go, from each level
SHORT = '{"{' * 25_000


@pytest.mark.parametrize("text", [NESTED, LOOP, SHORT], ids=["nested", "loop", "short"])
def test_objects_without_an_end_take_no_time(text: str) -> None:
    """A model that repeats itself holds up no other request: the text is read a few times, not once a brace."""
    began = time.process_time()
    assert json_object(text) == (None, True)
    assert time.process_time() - began < 3


def test_braces_of_other_things_hide_no_answer() -> None:
    """Any number of formulas may come before the object."""
    assert json_object("\\frac{a}{b} " * 20_000 + '{"answer": "A"}') == ({"answer": "A"}, True)
