"""Settings of `kb rerank`: each one changes the requests on the wire, or the ranking."""

import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from PIL import Image

from tests.cli.verbs.rerank.conftest import answered, brightest_first, jobs_file, script
from tests.rerank.scripted import questions_reply
from tests.servers.openai_server import Call, OpenAIServer

EARLIER = "What was found so far"
TOGETHER = "one line for each question"
PROBE = "Is this picture red?"
PAPER = ("--preset", "paper", "--no-context")
DIRECT = ("--no-context", "--set", "decompose.direct=true")
COTRR = ("--method", "cotrr")
ONE_CALL = (*COTRR, "--set", "cotrr.form=one-call", "--set", "cotrr.orders=1")


class Run(NamedTuple):
    """A run of `kb rerank` over six photos: its calls after the probe, those with photos, and its rows."""

    calls: list[Call]
    photo_calls: list[Call]
    rows: list[dict[str, Any]]
    exit_code: int

    @property
    def n_calls(self) -> int:
        return len(self.calls)

    @property
    def obtained_by(self) -> set[str]:
        return {one["obtained_by"] for row in self.rows for one in row["questions"]}


Ranked = Callable[..., Run]


@pytest.fixture
def ranked(cli: Any, birds: Path, photos: Path, endpoint: Any) -> Iterator[Ranked]:
    """Return a function that ranks the photos with a scripted server."""
    file = jobs_file(photos)

    def rank(*more: str, by: Any = script, gives_logprobs: bool = True) -> Run:
        with OpenAIServer(by, gives_logprobs=gives_logprobs) as server:
            endpoint(server)
            done = cli.call("rerank", file, "--kb", birds, "--format", "jsonl", "--quiet", *more)
            # Replies are cached by request, so every run needs an empty cache.
            for cache in Path(os.environ["FIELDMARK_HOME"]).glob("replies.sqlite*"):
                cache.unlink()
            calls = [call for call in server.calls if PROBE not in call.text]
        assert calls, done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return Run(calls, [call for call in calls if call.images], rows, done.exit_code)

    yield rank


def test_settings_of_questions(ranked: Ranked) -> None:
    run = ranked(*DIRECT)
    assert run.n_calls == 6 and all("Does this image show a red bird, 0?" in call.text for call in run.calls)
    # Red and yellow pass every question, four photos fail the first one with a probability of .1.
    for setting, n_calls, n_chained in (
        ("decompose.chain=true", 18, 12), ("decompose.chain=false", 18, 0), ("decompose.stop_below=0.2", 10, 0),
    ):  # fmt: skip
        calls = ranked(*PAPER, "--set", setting).photo_calls
        assert (len(calls), sum(EARLIER in call.text for call in calls)) == (n_calls, n_chained), setting
    for more, is_together in ((("--preset", "paper", "--set", "decompose.together=true"), True),
                              (("--set", "decompose.together=false"), False)):  # fmt: skip
        assert any(TOGETHER in call.text for call in ranked(*more).calls) is is_together
    for more, n_written in ((("--set", "decompose.questions_by=rule"), 0), ((), 1)):
        run = ranked(*more)
        assert run.n_calls - len(run.photo_calls) == n_written


def test_the_context_option_overrides_the_setting(ranked: Ranked, photos: Path) -> None:
    file = photos.parent / "jobs.jsonl"
    file.write_text(file.read_text().replace("a red bird, 0", "a Red-winged Blackbird"))
    for more, has_context in (((), False), (("--context",), True)):
        calls = ranked("--set", "decompose.context=false", "--preset", "paper", *more).calls
        assert {"<background>" in call.text for call in calls} == {has_context}


def mumble_at_blue(call: Call) -> Any:
    if call.images and PROBE not in call.text:
        red, green, blue = Image.open(io.BytesIO(call.images[0])).convert("RGB").resize((1, 1)).getpixel((0, 0))
        if blue > 150 > max(red, green):
            return answered("Hm", Hm=1.0)
    return script(call)


def test_unscored_and_max_unscored_decide_on_missing_answers(ranked: Ranked) -> None:
    for more, exit_code, score in (
        ((), 0, 0), (("--set", "decompose.unscored=mean"), 0, (2 * 90 + 3 * 10) / 5),
        (("--set", "decompose.max_unscored=0.1"), 6, -1),
    ):  # fmt: skip
        run = ranked(*PAPER, *more, by=mumble_at_blue)  # 3 of 18 answers are missing
        scores = {row["image_id"]: row["score"] for row in run.rows}
        assert (run.exit_code, scores["1"]) == (exit_code, pytest.approx(score))


def test_reasoning_and_samples_of_the_judge(ranked: Ranked) -> None:
    def reasoned(call: Call) -> Any:
        if PROBE in call.text or not call.images:
            return script(call)
        yes = answered("Yes", Yes=0.9, No=0.1)
        return replace(yes, text="It is red.\nAnswer: Yes", logprobs=(("It is red.\nAnswer: ", 0.0, ()), *yes.logprobs))

    run = ranked(*PAPER, "--set", "vision.reasons=before", by=reasoned)
    assert all("Answer: Yes" in call.text for call in run.photo_calls)
    assert run.rows[0]["evaluation"].startswith("1. It is red.")
    run = ranked(*DIRECT, "--set", "vision.samples=3", "--samples", "5")
    assert run.n_calls == 6 * 5 and run.obtained_by == {"logprobs; samples 5/5", "logprobs; samples 0/5"}
    two = (*DIRECT, "--depth", "2")
    text = ranked(*two, "--set", "vision.without_logprobs=text", gives_logprobs=False)
    assert text.obtained_by == {"text"} and text.n_calls == 2
    sampled = (*two, "--set", "vision.without_logprobs=samples")
    assert ranked(*sampled, gives_logprobs=False).n_calls == 2 * 5
    assert ranked(*sampled, "--set", "vision.fallback_samples=3", gives_logprobs=False).n_calls == 2 * 3


def test_exact_spelling_counts_only_yes_and_no(ranked: Ranked) -> None:
    def small(call: Call) -> Any:
        return answered(" yes", **{" yes": 0.9}) if call.images else questions_reply()

    assert ranked(*DIRECT, by=small).exit_code == 0
    assert ranked(*DIRECT, "--set", "vision.spelling=exact", by=small).exit_code != 0


def test_max_side_scales_the_photos(ranked: Ranked) -> None:
    for setting, more, by in (("vision.max_side=30", PAPER, script), ("cotrr.max_side=30", COTRR, brightest_first)):
        for given, side in ((("--set", setting), 30), ((), 40)):
            sent = [Image.open(io.BytesIO(call.images[0])) for call in ranked(*more, *given, by=by).photo_calls]
            assert {max(picture.size) for picture in sent} == {side}, setting


def test_settings_of_cotrr(ranked: Ranked) -> None:
    # Two orders of six photos: mean ranks give scores from 1 to 6, reciprocal ranks about 2 / 61 at most.
    for more, score in (((), 6), (("--set", "cotrr.fusion=rrf"), 2 / 61)):
        assert ranked(*COTRR, *more, by=brightest_first).rows[0]["score"] == pytest.approx(score, abs=1e-6)
    for more, n_messages in (((), 7), (("--set", "cotrr.photo_messages=false"), 1)):
        run = ranked(*COTRR, "--set", "cotrr.stages=ranking", *more, by=brightest_first)
        assert len(run.calls[0].payload["messages"]) == n_messages
    for more, temperature in (((), 0), (("--set", "cotrr.temperature=0.7"), 0.7)):
        run = ranked(*COTRR, *more, by=brightest_first)
        assert {call.payload["temperature"] for call in run.calls} == {temperature}
    # One call for the query, one per photo, and one per window: two windows by default, three with a step of one.
    window = (*COTRR, "--set", "cotrr.window=4", "--set", "cotrr.orders=1")
    for more, n_windows in (((), 2), (("--set", "cotrr.step=1"), 3)):
        assert ranked(*window, *more, by=brightest_first).n_calls == 1 + 6 + n_windows
    for more, order in (((), "453210"), (("--preset", "authors", "--set", "cotrr.top=2"), "450123")):
        assert "".join(row["image_id"] for row in ranked(*COTRR, *more, by=brightest_first).rows) == order


def test_unusable_replies_of_cotrr_are_requested_again(ranked: Ranked) -> None:
    row_of_numbers = "2, 1, 3, 4, 5, 6"  # our rules accept it, the authors' code does not
    repaired = ranked(*ONE_CALL, by=lambda _: row_of_numbers)
    assert (repaired.n_calls, repaired.rows[0]["image_id"]) == (1, "1")
    strict = ranked(*ONE_CALL, "--set", "cotrr.replies=authors", by=lambda _: row_of_numbers)
    assert [len(call.payload["messages"]) for call in strict.calls] == [7, 7], "without a correction"
    assert {row["status"] for row in strict.rows} == {"error"}
    for given, n in (((), 2), (("--set", "cotrr.tries=4"), 4)):
        assert ranked(*ONE_CALL, *given, by=lambda _: "no list").n_calls == n


def test_custom_prompts_and_options_over_the_settings_file(ranked: Ranked, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "direct.md").write_text("Look closely. $question Yes or no?")
    run = ranked(*DIRECT, "--set", f"prompts={tmp_path}/mine")
    assert all(call.text.startswith("Look closely. Does this image show") for call in run.calls)
    Path("fieldmark.toml").write_text("[rerank.decompose]\ndirect = true\n[rerank.vision]\nsamples = 7\n")
    assert ranked("--no-context", "--set", "vision.samples=3").n_calls == 6 * 3
    assert ranked("--no-context", "--samples", "1").n_calls == 6
