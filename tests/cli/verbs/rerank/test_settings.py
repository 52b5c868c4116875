"""Settings of `kb rerank`: each one changes the requests on the wire, or the ranking."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.cli.verbs.rerank.conftest import answered, jobs_file, script
from tests.rerank.cotrr.test_reranker import Script
from tests.rerank.scripted import questions_reply
from tests.servers.openai_server import Call, OpenAIServer

EARLIER = "What was found so far"
TOGETHER = "one line for each question"
PROBE = "Is this picture red?"
PAPER = ("--preset", "paper", "--no-context")


class Run:
    """A run of `kb rerank` over six photos: its calls after the probe, and its rows."""

    def __init__(self, calls: list[Call], rows: list[dict[str, Any]], exit_code: int) -> None:
        self.calls, self.rows, self.exit_code = calls, rows, exit_code

    @property
    def photo_calls(self) -> list[Call]:
        """The calls with photos."""
        return [call for call in self.calls if call.images]

    @property
    def obtained_by(self) -> set[str]:
        return {one["obtained_by"] for row in self.rows for one in row["questions"]}

    def score(self, image_id: str) -> float:
        (score,) = [row["score"] for row in self.rows if row["image_id"] == image_id]
        return float(score)


Ranked = Callable[..., Run]


@pytest.fixture
def ranked(cli: Any, birds: Path, photos: Path, endpoint: Any) -> Iterator[Ranked]:
    """Return a function that ranks the photos with a scripted server."""
    file = jobs_file(photos)

    def rank(*more: str, by: Any = script, gives_logprobs: bool = True, job: Path = file) -> Run:
        with OpenAIServer(by, gives_logprobs=gives_logprobs) as server:
            endpoint(server)
            command = ("rerank", str(job), "--kb", str(birds), "--format", "jsonl", "--rejudge", "--quiet")
            done = cli.call(*command, *more)
            # Replies are cached by request, so every run needs an empty cache.
            for cache in Path(os.environ["FIELDMARK_HOME"]).glob("replies.sqlite*"):
                cache.unlink()
            calls = [call for call in server.calls if PROBE not in call.text]
        assert calls, done.stderr
        return Run(calls, [json.loads(line) for line in done.stdout.splitlines()], done.exit_code)

    yield rank


def test_direct_asks_the_whole_query(ranked: Ranked) -> None:
    run = ranked("--no-context", "--set", "decompose.direct=true")
    assert len(run.calls) == 6 and all("Does this image show a red bird, 0?" in call.text for call in run.calls)


def test_the_context_option_overrides_the_setting(ranked: Ranked, photos: Path, birds: Path) -> None:
    import kb

    with kb.open(birds) as store:
        name = store.species(store.taxon_ids[:1])[0].taxon.common_name
    file = jobs_file(photos)
    file.write_text(file.read_text().replace("a red bird, 0", f"a {name}"))
    off = ("--set", "decompose.context=false", "--preset", "paper")
    assert not any("<background>" in call.text for call in ranked(*off).calls)
    assert all("<background>" in call.text for call in ranked(*off, "--context").calls)


def test_chain_and_stop_below_change_the_questions_of_a_photo(ranked: Ranked) -> None:
    def of(setting: str) -> tuple[int, int]:
        """Return the number of calls with photos, and of those with earlier answers."""
        calls = ranked(*PAPER, "--set", setting).photo_calls
        return len(calls), sum(EARLIER in call.text for call in calls)

    assert (of("decompose.chain=true"), of("decompose.chain=false")) == ((6 * 3, 12), (6 * 3, 0))
    # Red and yellow pass every question, four photos fail the first one with a probability of .1.
    assert of("decompose.stop_below=0.2")[0] == 2 * 3 + 4


def test_together_asks_all_questions_in_one_call(ranked: Ranked) -> None:
    assert any(TOGETHER in call.text for call in ranked("--preset", "paper", "--set", "decompose.together=true").calls)
    assert not any(TOGETHER in call.text for call in ranked("--set", "decompose.together=false").calls)


def mumble_at_blue(call: Call) -> Any:
    if call.images and PROBE not in call.text:
        red, green, blue = Image.open(io.BytesIO(call.images[0])).convert("RGB").resize((1, 1)).getpixel((0, 0))
        if blue > 150 > max(red, green):
            return answered("Hm", Hm=1.0)
    return script(call)


def test_unscored_and_max_unscored_decide_on_missing_answers(ranked: Ranked) -> None:
    as_no = ranked(*PAPER, by=mumble_at_blue)  # 3 of 18 are missing
    assert (as_no.score("1"), as_no.exit_code) == (0, 0)
    mean = (2 * 90 + 3 * 10) / 5
    assert ranked(*PAPER, "--set", "decompose.unscored=mean", by=mumble_at_blue).score("1") == pytest.approx(mean)
    assert ranked(*PAPER, "--set", "decompose.max_unscored=0.1", by=mumble_at_blue).exit_code != 0


def test_questions_by_rule_need_no_model(ranked: Ranked) -> None:
    assert [call for call in ranked("--set", "decompose.questions_by=rule").calls if not call.images] == []
    assert len([call for call in ranked().calls if not call.images]) == 1


def test_reasoning_is_requested_and_shown(ranked: Ranked) -> None:
    def reasoned(call: Call) -> Any:
        if PROBE in call.text or not call.images:
            return script(call)
        yes = answered("Yes", Yes=0.9, No=0.1)
        return replace(yes, text="It is red.\nAnswer: Yes", logprobs=(("It is red.\nAnswer: ", 0.0, ()), *yes.logprobs))

    run = ranked(*PAPER, "--set", "vision.reasons=before", by=reasoned)
    assert all("Answer: Yes" in call.text for call in run.photo_calls)
    assert run.rows[0]["evaluation"].startswith("1. It is red.")


def test_samples_sets_the_replies_per_question_and_an_option_beats_its_setting(ranked: Ranked) -> None:
    direct = ("--no-context", "--set", "decompose.direct=true")
    run = ranked(*direct, "--set", "vision.samples=3", "--samples", "5")
    assert len(run.calls) == 6 * 5 and run.obtained_by == {"logprobs; samples 5/5", "logprobs; samples 0/5"}


def test_without_logprobs_uses_text_or_fallback_samples(ranked: Ranked) -> None:
    direct = ("--no-context", "--set", "decompose.direct=true", "--depth", "2")
    text = ranked(*direct, "--set", "vision.without_logprobs=text", gives_logprobs=False)
    assert text.obtained_by == {"text"} and len(text.calls) == 2
    sampled = ("--set", "vision.without_logprobs=samples")
    assert len(ranked(*direct, *sampled, gives_logprobs=False).calls) == 2 * 5
    assert len(ranked(*direct, *sampled, "--set", "vision.fallback_samples=3", gives_logprobs=False).calls) == 2 * 3


def test_exact_spelling_counts_only_yes_and_no(ranked: Ranked) -> None:
    def small(call: Call) -> Any:
        return answered(" yes", **{" yes": 0.9}) if call.images else questions_reply()

    direct = ("--no-context", "--set", "decompose.direct=true")
    assert ranked(*direct, by=small).exit_code == 0
    assert ranked(*direct, "--set", "vision.spelling=exact", by=small).exit_code != 0


def test_max_side_scales_the_photos(ranked: Ranked) -> None:
    methods: tuple[tuple[str, tuple[str, ...], Any], ...] = (
        ("vision.max_side=30", PAPER, script), ("cotrr.max_side=30", ("--method", "cotrr"), Script()),
    )  # fmt: skip
    for setting, more, by in methods:
        for size, given in ((30, ("--set", setting)), (40, ())):
            run = ranked(*more, *given, by=by)
            assert {max(Image.open(io.BytesIO(call.images[0])).size) for call in run.photo_calls} == {size}, setting


def test_fusion_rrf_adds_reciprocal_ranks(ranked: Ranked) -> None:
    # Two orders of six photos: mean ranks give scores from 1 to 6, reciprocal ranks about 2 / 61 at most.
    assert ranked("--method", "cotrr", by=Script()).rows[0]["score"] == 6
    rrf = ranked("--method", "cotrr", "--set", "cotrr.fusion=rrf", by=Script())
    assert rrf.rows[0]["score"] == pytest.approx(2 / 61, abs=1e-6)


def test_photo_messages_sends_one_message_per_photo(ranked: Ranked) -> None:
    ranking = ("--method", "cotrr", "--set", "cotrr.stages=ranking")
    assert len(ranked(*ranking, by=Script()).calls[0].payload["messages"]) == 7
    one = ranked(*ranking, "--set", "cotrr.photo_messages=false", by=Script())
    assert len(one.calls[0].payload["messages"]) == 1


def test_replies_of_the_authors_are_requested_again_without_a_correction(ranked: Ranked) -> None:
    one_call = ("--method", "cotrr", "--set", "cotrr.form=one-call", "--set", "cotrr.orders=1")
    row_of_numbers = "2, 1, 3, 4, 5, 6"  # our rules accept it, the authors' code does not
    repaired = ranked(*one_call, by=lambda _: row_of_numbers)
    assert (len(repaired.calls), repaired.rows[0]["image_id"]) == (1, "1")
    strict = ranked(*one_call, "--set", "cotrr.replies=authors", by=lambda _: row_of_numbers)
    assert [len(call.payload["messages"]) for call in strict.calls] == [7, 7]
    assert {row["status"] for row in strict.rows} == {"error"}


def test_tries_limits_the_requests_for_one_reply(ranked: Ranked) -> None:
    one_call = ("--method", "cotrr", "--set", "cotrr.form=one-call", "--set", "cotrr.orders=1")
    for given, n in (((), 2), (("--set", "cotrr.tries=4"), 4), (("--set", "cotrr.tries=1"), 1)):
        assert len(ranked(*one_call, *given, by=lambda _: "no list").calls) == n


def test_the_temperature_goes_into_every_request(ranked: Ranked) -> None:
    for given, temperature in (((), 0), (("--set", "cotrr.temperature=0.7"), 0.7)):
        run = ranked("--method", "cotrr", *given, by=Script())
        assert {call.payload["temperature"] for call in run.calls} == {temperature}


@pytest.mark.parametrize(
    ("method", "n_calls"), [(("--method", "cotrr"), 1 + 2 + 2), (("--preset", "paper", "--no-context"), 1 + 3 * 2)]
)
def test_depth_judges_the_first_photos_alone(ranked: Ranked, method: tuple[str, ...], n_calls: int) -> None:
    by = Script() if "cotrr" in method else script
    whole = ranked(*method, by=by)
    run = ranked(*method, "--depth", "2", by=by)
    assert len(run.calls) == n_calls < len(whole.calls)
    assert [row["image_id"] for row in run.rows][2:] == ["2", "3", "4", "5"]
    assert [row["score"] for row in run.rows][2:] == [-3, -4, -5, -6]


def test_step_sets_the_distance_of_windows(ranked: Ranked) -> None:
    window = ("--method", "cotrr", "--set", "cotrr.window=4", "--set", "cotrr.orders=1")
    # One call for the query, one per photo, and one per window: two windows by default, three with a step of one.
    assert len(ranked(*window, by=Script()).calls) == 1 + 6 + 2
    assert len(ranked(*window, "--set", "cotrr.step=1", by=Script()).calls) == 1 + 6 + 3


def test_custom_prompts_are_used(ranked: Ranked, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "direct.md").write_text("Look closely. $question Yes or no?")
    run = ranked("--no-context", "--set", "decompose.direct=true", "--set", f"prompts={tmp_path}/mine")
    assert all(call.text.startswith("Look closely. Does this image show") for call in run.calls)


def test_options_override_the_settings_file(ranked: Ranked) -> None:
    Path("fieldmark.toml").write_text("[rerank.decompose]\ndirect = true\n[rerank.vision]\nsamples = 3\n")
    assert len(ranked("--no-context").calls) == 6 * 3
    assert len(ranked("--no-context", "--samples", "1").calls) == 6
