"""CoTRR against a real HTTP server: which model is asked, long lists, orders, faults of one query, costs and cache.

The scripted model ranks photos by grey level, for composed queries by nearness to the reference photo. Replies and
requests of all forms, stages and tasks are on record (`tests/rerank/recorded.py`).
"""

import asyncio
import io
import json
import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from PIL import Image

from data.errors import BadInput, CostStop, MalformedAnswer
from data.records import Job, JobImage
from kb.endpoints.budget import Budget
from kb.endpoints.connection import Connection
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.reply_cache import ReplyCache
from rerank import RerankResources, make_reranker, preset_settings, run_jobs
from rerank.cotrr.orders import kendall_tau
from rerank.cotrr.rankings import parse_ranking_as_authors
from rerank.cotrr.reranker import CotrrReranker
from rerank.prompting import Prompts
from rerank.scheduling import FairChat
from rerank.settings import PRESETS, CotrrSettings
from tests.servers.kinds import KINDS, as_kind
from tests.servers.openai_server import Answer, OpenAIServer

PARTS = {"subject": "a frog", "activity": "clasping", "details": "", "environment": "water", "ambiance": ""}


def level_of(picture: Any) -> Any:
    with Image.open(io.BytesIO(picture)) as opened:
        return opened.convert("L").getpixel((20, 20))


class Script:
    """A model that ranks by the grey level in photos or notes; each place further back costs `weight`."""

    def __init__(self, weight: float = 0.0) -> None:
        self.weight = weight
        self.kinds = []

    def __call__(self, call: Any) -> Any:
        properties = call.payload["response_format"]["json_schema"]["schema"]["properties"]
        shown = [level_of(picture) for picture in call.images]
        if "Reference photo" in call.text:
            reference, *shown = shown
            shown = [255 - abs(level - reference) for level in shown]
        if set(properties) == set(PARTS):
            return self.note("deconstruct", PARTS)
        if "overall" in properties:
            judged = {"judgement": "good match" if shown[0] > 128 else "poor match", "reason": f"level {shown[0]}"}
            return self.note("evaluate", dict.fromkeys(properties, judged))
        if not shown:
            lines = re.findall(r"^\[(\d+)\].*overall: [\w ]+\(level (\d+)\)", call.text, re.MULTILINE)
            assert [int(number) for number, _ in lines] == list(range(1, len(lines) + 1))
            shown = [int(level) for _, level in lines]
        pull = [level - self.weight * place for place, level in enumerate(shown)]
        wanted = re.search(r"the best (\d+) of the", call.text)
        ranking = sorted(range(1, len(shown) + 1), key=lambda i: -pull[i - 1])[: int(wanted[1]) if wanted else None]
        if "evaluations" in properties:
            judged = [{"photo": i, "judgement": "good match", "reason": f"level {x}"} for i, x in enumerate(shown, 1)]
            return self.note("all", {"query": PARTS, "evaluations": judged, "ranking": ranking})
        return self.note("rank", {"comparison": "by level", "ranking": ranking})

    def note(self, kind: Any, payload: Any) -> Any:
        self.kinds.append(kind)
        return json.dumps(payload)


def levels(n: Any) -> Any:
    """Return unsorted grey levels, far enough apart to survive JPEG."""
    return [20 + (i * 7 % n) * (220 // n) for i in range(n)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("photos")
    for level in {0, *(level for n in (1, 4, 6, 12, 30) for level in levels(n))}:
        Image.new("RGB", (40, 40), (level,) * 3).save(root / f"{level}.png")
    return root


def job_of(n: Any, **options: Any) -> Job:
    candidates = tuple(JobImage(image_id=str(x), path=f"{x}.png", score=1 - i / 100) for i, x in enumerate(levels(n)))
    return Job(query_id="q1", text="frogs in amplexus", candidates=candidates, **options)


@contextmanager
def connected(server: Any, **options: Any) -> Iterator[Any]:
    endpoint = Endpoint(model="scripted", base_url=server.base_url, price_in=1.0, price_out=2.0, max_concurrent=8)
    with closing(Connection(endpoint, **options)) as connection:
        yield FairChat(connection, n_in_flight=8)


def run(script: Any, job: Any, folder: Any, **options: Any) -> Any:
    """Return the rows, the reranker and the server after one job."""
    with OpenAIServer(script) as server:
        return *run_on(server, job, folder, **options), server


def run_on(
    server: Any, job: Any, folder: Any, *, settings: Any = None, text: Any = None, prompts: Any = None, **options: Any
) -> Any:
    """Return the rows and the reranker after one job; other options go to the connection."""
    with connected(server, **options) as chat:
        reranker = CotrrReranker(chat, text=text, settings=settings, prompts=prompts, root=folder)
        with closing(reranker):
            return asyncio.run(reranker.rank(job)), reranker


def ids(rows: Any) -> Any:
    return [row.image_id for row in rows]


def by_level(n: Any) -> Any:
    return [str(level) for level in sorted(levels(n), reverse=True)]


# --- models and prompts ------------------------------------------------------------------------------------------


def test_the_text_model_deconstructs_texts_and_ranks_notes_and_the_vision_model_sees_the_reference(folder: Any) -> None:
    composed = replace(job_of(6), text="", reference_image="0.png", modification="the same frog, but darker")
    for job, calls, wanted in ((job_of(6), (6, 2), by_level(6)), (composed, (7, 1), by_level(6)[::-1])):
        script = Script()
        with OpenAIServer(script) as other, connected(other) as text:
            rows, reranker, server = run(script, job, folder, settings=PRESETS["paper"].cotrr, text=text)
            assert (server.n_calls, other.n_calls) == calls
        assert script.kinds == ["deconstruct", *["evaluate"] * 6, "rank"]
        assert ids(rows) == wanted
        assert [row.score for row in rows] == [6, 5, 4, 3, 2, 1]
        assert (reranker.tally.counts["evaluated"], reranker.tally.is_complete) == (6, True)
        assert reranker.tally.parts["q1"]["subject"] == "a frog"


def test_prompts_can_be_replaced(folder: Any, tmp_path: Path) -> None:
    (tmp_path / "cotrr_deconstruct.md").write_text("Take apart: $query")
    _, _, server = run(Script(), job_of(1), folder, prompts=Prompts(tmp_path))
    assert server.calls[0].text == "Take apart: frogs in amplexus"
    assert server.n_calls == 2, "a single photo is not ranked"


def test_where_roles_must_alternate_one_message_has_pictures_and_texts_in_turn(folder: Any) -> None:
    strict = next(kind for kind in KINDS if kind.name == "roles alternate")
    composed = replace(job_of(6), text="", reference_image="0.png", modification="darker")
    with OpenAIServer(as_kind(Script(), strict)) as server:
        rows, reranker = run_on(server, composed, folder, settings=PRESETS["authors"].cotrr)
    assert ids(rows) == by_level(6)[::-1] and reranker.tally.is_complete
    (message,) = server.calls[-1].payload["messages"]
    numbered = [each for i in range(1, 7) for each in (f"Photo {i}:", "image_url")]
    shown = [part.get("text", "image_url") for part in message["content"]]
    assert [text.split(",")[0] for text in shown[1:]] == ["Reference photo", "image_url", *numbered]


def test_incomplete_queries_are_refused_before_any_call(folder: Any) -> None:
    for more, error in (
        ({"reference_image": "0.png", "dialogue": ("a frog",)}, "a reference image and a dialogue"),
        ({"modification": "darker"}, "no reference image"),
        ({"text": " ", "reference_image": "0.png"}, "has no text"),
        ({"text": "", "dialogue": (" ",)}, "has no text"),
    ):
        with OpenAIServer(Script()) as server, pytest.raises(BadInput, match=error):
            run_on(server, replace(job_of(4), **more), folder)
        assert server.n_calls == 0


def test_invalid_settings_are_refused() -> None:
    for wrong in (
        {"orders": 0}, {"top": 0}, {"window": 1}, {"window": 4, "step": 4}, {"tries": 0}, {"temperature": -1},
        {"max_side": 0},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="expected"):
            CotrrSettings(**wrong)


# --- the code of the paper's authors -----------------------------------------------------------------------------


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
        text = random.choice(["{}", '{{"ranking": {}}}', 'Final: {{"ranking": {}}} done', "{{{}"]).format(
            json.dumps(listed)
        )
        expected = order_of_theirs(text, 10)
        try:
            found = parse_ranking_as_authors(text, 10).positions
        except MalformedAnswer:
            assert expected is None, text
        else:
            n_usable += 1
            assert [*found, *(i for i in range(10) if i not in found)] == expected, text
    assert n_usable > 500


def test_the_first_ten_go_into_one_call_and_the_others_stay_below(folder: Any) -> None:
    with OpenAIServer(Script()) as server, connected(server) as chat:
        resources = RerankResources(vision=chat, settings=preset_settings("authors", "cotrr"), root=folder)
        rows = run_jobs([job_of(12)], make_reranker("cotrr", resources)).rows["q1"]
    (call,) = server.calls
    first, rest = levels(12)[:10], levels(12)[10:]
    assert len(call.images) == 10 and "the numbers of all 10 photos" in call.text
    assert ids(rows) == [str(x) for x in [*sorted(first, reverse=True), *rest]]
    (message,) = call.payload["messages"]
    assert [part["type"] for part in message["content"]] == ["text", *["text", "image_url"] * 10]
    assert "temperature" not in call.payload


# --- long lists and the order shown ------------------------------------------------------------------------------


def test_long_lists_are_ranked_in_overlapping_windows(folder: Any) -> None:
    script = Script()
    rows, _, _ = run(script, job_of(30), folder, settings=CotrrSettings(orders=1, window=10, step=5))
    assert (script.kinds.count("rank"), script.kinds.count("evaluate")) == (5, 30)
    assert ids(rows)[:5] == by_level(30)[:5]
    assert sorted(ids(rows)) == sorted(by_level(30))
    assert [row.score for row in rows] == list(range(30, 0, -1))


def test_position_bias_is_measured_and_reduced_by_fusing_orders(folder: Any) -> None:
    """Mechanics only: the script prefers early photos on purpose."""
    truth = [float(level) for level in levels(12)]

    def quality(orders: Any, weight: Any) -> Any:
        rows, reranker, _ = run(Script(weight), job_of(12), folder, settings=CotrrSettings(orders=orders))
        place = {row.image_id: row.rank for row in rows}
        return kendall_tau([-x for x in truth], [place[str(x)] for x in levels(12)]), reranker.tally.bias

    one, unmeasured = quality(1, weight=25)
    fair, nothing = quality(2, weight=0)
    two, measured = quality(2, weight=25)
    eight, _ = quality(8, weight=25)
    assert unmeasured.effect is None
    assert (fair, nothing.effect, nothing.agreement) == (1.0, 0.0, 1.0)
    assert measured.effect > 0.3 and measured.agreement < 0.5
    assert one < two <= 1.0 and one < eight <= 1.0


# --- faults ------------------------------------------------------------------------------------------------------


def test_failed_windows_of_one_query_do_not_fail_another(folder: Any) -> None:
    """Two windows each: q2 gets no ranking, and q1 gets its rankings after q2 has failed."""
    script, q2_failed = Script(), threading.Event()

    def react(call: Any) -> Any:
        reply = script(call)
        if "ranking" not in call.payload["response_format"]["json_schema"]["schema"]["properties"]:
            return reply
        if "toads" in call.text:
            return "{}"
        assert q2_failed.wait(60)
        return reply

    async def main(reranker: Any) -> Any:
        async def other() -> Any:
            rows = await reranker.rank(replace(job_of(12), query_id="q2", text="toads"))
            q2_failed.set()
            return rows

        return await asyncio.gather(reranker.rank(job_of(12)), other())

    with OpenAIServer(react) as server, connected(server) as chat:
        reranker = CotrrReranker(chat, settings=CotrrSettings(orders=1, window=10, step=5), root=folder)
        with closing(reranker):
            rows, failed = asyncio.run(main(reranker))
    assert {row.status for row in rows} == {"ok"} and {row.status for row in failed} == {"error"}
    assert reranker.tally.counts["failed_windows"] == 2


def test_a_failed_order_is_counted_and_the_others_decide(folder: Any) -> None:
    script, refused = Script(), []

    def once(call: Any) -> Any:
        reply = script(call)
        if script.kinds[-1] == "rank" and not refused:
            refused.append(call)
            return Answer(text=None, refusal="No.")
        return reply

    rows, reranker, _ = run(once, job_of(4), folder, settings=CotrrSettings(orders=3))
    counts = reranker.tally.counts
    assert ids(rows) == by_level(4)
    assert (counts["failed_rankings"], counts["refused"], reranker.tally.is_complete) == (1, 1, False)
    assert reranker.tally.bias.effect is None  # one order is missing


def test_evaluations_of_several_orders_are_combined(folder: Any) -> None:
    """One-call form with two orders: each reply evaluates only its first two photos."""

    def first_two(call: Any) -> Any:
        payload = json.loads(Script()(call))
        return json.dumps({**payload, "evaluations": payload["evaluations"][:2]})

    rows, reranker, _ = run(first_two, job_of(4), folder, settings=replace(PRESETS["authors"].cotrr, orders=2))
    assert all(row.evaluation for row in rows)
    assert (reranker.tally.counts["evaluated"], reranker.tally.counts["not_evaluated"]) == (4, 0)


def test_long_reasons_are_truncated(folder: Any) -> None:
    settings = replace(PRESETS["paper"].cotrr, stages="evaluation")
    rows, _, _ = run(lambda call: Script()(call).replace("level", "many " * 300), job_of(1), folder, settings=settings)
    assert rows[0].evaluation == f"overall: poor match ({('many ' * 60)[:299]}…)"


# --- cost and cache ----------------------------------------------------------------------------------------------


def test_a_repeated_run_uses_the_reply_cache(folder: Any, tmp_path: Path) -> None:
    with OpenAIServer(Script()) as server, closing(ReplyCache(tmp_path / "replies.sqlite")) as cache:
        first, _ = run_on(server, job_of(6), folder, cache=cache)
        assert server.n_calls == 1 + 6 + 2
        again, _ = run_on(server, job_of(6), folder, cache=cache)
        offline, _ = run_on(server, job_of(6), folder, cache=cache, offline=True)
        assert server.n_calls == 1 + 6 + 2
    assert ids(again) == ids(first) == ids(offline)


def test_a_run_after_a_cost_stop_makes_only_missing_calls(folder: Any, tmp_path: Path) -> None:
    script, file = Script(), tmp_path / "replies.sqlite"
    with OpenAIServer(lambda call: Answer(text=script(call), output_tokens=2_000)) as server:
        stopped, reranker = run_on(server, job_of(6), folder, cache=ReplyCache(file), budget=Budget(0.025))
        assert "error" in {row.status for row in stopped}
        assert CostStop in {type(failure) for failure in reranker.tally.failures}
        assert 0 < script.kinds.count("evaluate") < 6
        rows, _ = run_on(server, job_of(6), folder, cache=ReplyCache(file))
    assert ids(rows) == by_level(6)
    assert (script.kinds.count("deconstruct"), script.kinds.count("evaluate")) == (1, 6)


def test_photos_are_evaluated_in_parallel_up_to_the_limit(folder: Any) -> None:
    """The server answers only when eight requests are open; with fewer, the test fails after a minute."""
    script, eight = Script(), threading.Event()

    def together(call: Any) -> Any:
        if call.images:
            if server.now == 8:
                eight.set()
            assert eight.wait(60)
        return script(call)

    with OpenAIServer(together) as server:
        rows, _ = run_on(server, job_of(12), folder)
    assert ids(rows) == by_level(12)
    assert server.most_at_once == 8
