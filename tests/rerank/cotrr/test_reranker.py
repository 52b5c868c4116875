import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from data.errors import BadInput, MalformedAnswer
from data.records import Job, JobImage, RankedImage
from rerank.cotrr.messages import parse_ranking_as_authors
from rerank.cotrr.reranker import CotrrReranker
from rerank.jobs import located
from rerank.reranker import Tally
from rerank.settings import PRESETS, CotrrSettings, DecomposeSettings, VisionSettings
from tests.rerank.recorded import Model, photos

PAPER = PRESETS["paper"].cotrr
NAMES = ("yellow", "navy", "white")


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with photos() as folder:
        yield folder


def run(
    root: Path, vision: Any, settings: CotrrSettings = PAPER, *, names: tuple[str, ...] = NAMES, text_model: Any = None,
    prompts: Any = None, **query: Any,
) -> tuple[list[RankedImage], Tally]:  # fmt: skip
    candidates = tuple(JobImage(image_id=n, path=f"{n}.png", score=-i) for i, n in enumerate(names))
    reranker = CotrrReranker(vision, text=text_model, settings=settings, prompts=prompts)
    job = Job(**{"query_id": "q1", "text": "frogs in amplexus", "candidates": candidates, **query})
    return asyncio.run(reranker.rank(located(job, root))), reranker.tally


def kinds(model: Model) -> dict[str, int]:
    found: dict[str, int] = {}
    for call, n in model.calls.items():
        found[call.partition(":")[0]] = found.get(call.partition(":")[0], 0) + n
    return found


def test_the_text_model_deconstructs_texts_and_ranks_notes_and_the_vision_model_sees_the_reference(root: Path) -> None:
    composed = {"text": "", "reference_image": "red.png", "modification": "the same frog, but darker"}
    for query, of_vision, of_text in (
        ({}, {"evaluate": 3}, {"deconstruct": 1, "rank": 1}),
        (composed, {"deconstruct": 1, "evaluate": 3}, {"rank": 1}),
    ):
        vision, text = Model(), Model()
        rows, tally = run(root, vision, text_model=text, **query)
        assert (kinds(vision), kinds(text)) == (of_vision, of_text)
        assert [(row.image_id, row.score) for row in rows] == [("navy", 3), ("yellow", 2), ("white", 1)]
        assert (tally.counts["evaluated"], tally.is_complete) == (3, True)


def test_incomplete_queries_are_refused_before_any_call(root: Path) -> None:
    for query, error in (
        ({"reference_image": "red.png", "dialogue": ("a frog",)}, "a reference image and a dialogue"),
        ({"modification": "darker"}, "no reference image"),
        ({"text": " ", "reference_image": "red.png"}, "has no text"),
        ({"text": "", "dialogue": (" ",)}, "has no text"),
    ):
        model = Model()
        with pytest.raises(BadInput, match=error):
            run(root, model, **query)
        assert not model.calls


def test_invalid_settings_are_refused() -> None:
    for kind, *wrong in (
        (CotrrSettings, {"orders": 0}, {"top": 0}, {"window": 1}, {"window": 4, "step": 4}, {"tries": 0},
         {"temperature": -1}, {"max_side": 0}),
        (VisionSettings, {"samples": 2}), (DecomposeSettings, {"stop_below": 2}),
    ):  # fmt: skip
        for each in wrong:
            with pytest.raises(ValueError, match="expected"):
                kind(**each)


def order_of_theirs(text: str, n: int) -> list[int] | None:
    """Return the order that the published rules give to photos 0 to n - 1, written anew; None for an unusable reply."""
    braces = re.search(r"\{.*\}", text, re.DOTALL)
    if braces is None:
        return None
    try:
        listed = json.loads(braces[0]).get("ranking", [])
    except (json.JSONDecodeError, AttributeError):
        return None
    if not isinstance(listed, list) or not listed or any(not isinstance(number, int) for number in listed):
        return None
    named = [number - 1 for number in listed if 0 < number <= n]
    return list(dict.fromkeys(named + list(range(n))))  # they keep repeats; the first place counts


def test_replies_are_read_as_in_the_published_code() -> None:
    random, entries = Random(1), [*range(-2, 14), "3", 2.0, None, "x"]
    n_usable = 0
    for _ in range(3000):
        listed = random.choices(entries, weights=[20] * 16 + [1] * 4, k=random.randint(0, 12))
        form = random.choice(["{}", '{{"ranking": {}}}', 'Final: {{"ranking": {}}} done', "{{{}"])
        text = form.format(json.dumps(listed))
        expected = order_of_theirs(text, 10)
        try:
            found = parse_ranking_as_authors(text, 10).positions
        except MalformedAnswer:
            assert expected is None, text
        else:
            n_usable += 1
            assert [*found, *(i for i in range(10) if i not in found)] == expected, text
    assert n_usable > 500
