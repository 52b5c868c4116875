"""`kb eval species --reader` against a scripted server: mechanics, not quality."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.drawn_birds import drawn_bird
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction

BIRDS = {
    "Cardinalis cardinalis": "It is red, with a black mask and a tall crest. The bill is orange.",
    "Cyanocitta cristata": "It is blue above and white below. There is a black necklace.",
    "Bubo scandiacus": "It is white with black bars. The eyes are yellow.",
}
FAST = ("--set", "resamples=100", "-q", "--set", "keep_leaks=true", "--set", "vocabulary=open")
LINE = re.compile(r"^([A-Z])\. .*\((\w+ \w+)\)(?:: (.*))?$", re.MULTILINE)


def distil(call: Call) -> Reaction:
    """Distil in two passes: the first keeps all sentences on looks, the second only the first of them."""
    found = [each for each in re.findall(r"^\[(\d+)\] (.+)$", call.text, re.MULTILINE) if "sings" not in each[1]]
    kept = found[:1] if "<<<summary" in call.text else found
    return json.dumps({"statements": [{"text": text, "sentences": [int(number)]} for number, text in kept]})


def script(call: Call) -> Reaction:
    """Choose label A with a margin; without candidates, answer "cardinal" for every photo."""
    if not call.images:
        return distil(call)
    tokens = {"input_tokens": 1000, "output_tokens": 100}
    if not LINE.search(call.text):
        return Answer(text='{"reason": "red", "species": "Northern Cardinal (Cardinalis cardinalis)"}', **tokens)
    text = json.dumps({"reason": "first", "answer": "A"})
    return Answer(text=text, logprobs=(("A", -0.1, (("A", -0.1), ("B", -2.1))),), **tokens)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(script) as running:
        tables = [
            f'[llm.{kind}]\nmodel = "scripted"\nbase_url = "{running.base_url}"\nprice_in = 1.0\nprice_out = 10.0\n'
            for kind in ("text", "vision")
        ]
        (tmp_path / "fieldmark.toml").write_text("".join(tables))
        monkeypatch.chdir(tmp_path)
        yield running


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name in BIRDS:
        taxon_id = name.lower().replace(" ", "-")
        for seed in (1, 2):
            path = tmp_path / "birds" / name / f"{seed}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(drawn_bird(taxon_id, seed))
    return tmp_path / "birds"


@pytest.fixture
def two_pass_kb(cli: Any, tmp_path: Path, server: OpenAIServer) -> Path:
    """Three birds with an article, a first summary, a refined one and an anchor each."""
    for name, text in BIRDS.items():
        page = tmp_path / "pages" / name / "article.txt"
        page.parent.mkdir(parents=True)
        page.write_text(f"## Description\n{text}\n## Behaviour\nIt sings at dawn.\n")
        (page.parent / "anchor.png").write_bytes(drawn_bird(name.lower().replace(" ", "-"), purpose="anchor"))
    (tmp_path / "names.csv").write_text("name\n" + "\n".join(BIRDS) + "\n")
    build = ("build", "--source", "folder:pages", "--names", "names.csv", "--kb", "birds.kb")
    cli.call(*build, "--distiller", "model-two-pass", check=True)
    server.calls.clear()
    return tmp_path / "birds.kb"


def measured(cli: Any, *arguments: str | Path) -> dict[str, Any]:
    outcome = cli.call("eval", "species", *arguments, "--format", "json", *FAST, check=True)
    found: dict[str, Any] = json.loads(outcome.stdout)["readers"]
    return found


def micro(figures: dict[str, Any]) -> dict[str, float]:
    return {measure["name"]: measure["micro"] for measure in figures["measures"]}


def test_choosing_the_first_candidate_has_the_accuracy_of_the_ranking(
    cli: Any, built_kb: Path, folders: Path, server: OpenAIServer
) -> None:
    found = measured(cli, folders, "--kb", built_kb, "--reader", "--preset", "default", "--preset", "vr-rag-v2")
    assert [figures["setup"]["k"] for figures in found["figures"]] == [10, 5]
    for figures in found["figures"]:
        assert micro(figures)["accuracy"] == micro(figures)["first alone"]
        assert micro(figures)["gain"] == 0
        assert (figures["margin"], figures["n_with_margin"]) == (pytest.approx(2.0), 6)
        assert figures["replies"]["cost_usd"] == pytest.approx(6 * (1000 + 10 * 100) / 1e6)
    assert server.n_calls == 12
    assert found["n_samples"] == 1


def test_comparisons_use_each_stored_kind_of_text(
    cli: Any, two_pass_kb: Path, folders: Path, server: OpenAIServer
) -> None:
    found = measured(cli, folders, "--kb", two_pass_kb, "--comparisons")
    setups = [figures["setup"] for figures in found["figures"]]
    reader_setups = [(s["retrieval"] and s["retrieval"]["preset"], s["context"], s["k"]) for s in setups]
    assert reader_setups == [
        ("vr-rag-v1", "refined", 10),
        (None, "refined", 10),
        ("direct-rag", "refined", 10),
        ("vr-rag-v1", "summary", 10),
        ("vr-rag-v1", "chunks", 10),
        ("vr-rag-v1", "article", 10),
        ("vr-rag-v1", "refined", 5),
        ("vr-rag-v1", "refined", 15),
    ]
    texts = {text for call in server.calls for _, name, text in LINE.findall(call.text) if name == "Bubo scandiacus"}
    assert texts == {
        "It is white with black bars.",
        BIRDS["Bubo scandiacus"],
        f"{BIRDS['Bubo scandiacus']} It sings at dawn.",
    }
    alone = found["figures"][1]
    assert alone["replies"]["by_rule"] == {"json": 6}
    assert micro(alone)["accuracy"] == pytest.approx(2 / 6)
    # Repeated questions cost nothing: with three birds, k of 5 and 15 show the same as 10.
    assert [f["replies"]["cached"] for f in found["figures"][-2:]] == [6, 6]


def test_comparisons_without_stored_texts_are_skipped_with_a_warning(
    cli: Any, built_kb: Path, folders: Path, server: OpenAIServer
) -> None:
    """The shipped facts have neither an article nor a first summary."""
    done = cli.call(
        "eval", "species", folders, "--kb", built_kb, "--comparisons", "--format", "json", *FAST, check=True
    )
    contexts = [figures["setup"]["context"] for figures in json.loads(done.stdout)["readers"]["figures"]]
    assert contexts == ["refined", "refined", "refined", "chunks", "refined", "refined"]
    assert "The context summary is left out" in done.stderr
    assert "The context article is left out" in done.stderr


def test_a_warning_names_the_distiller_of_unrefined_summaries(
    cli: Any, two_pass_kb: Path, folders: Path, server: OpenAIServer
) -> None:
    build = ("build", "--source", "folder:pages", "--names", "names.csv", "--kb", "raw.kb")
    cli.call(*build, "--distiller", "article", check=True)
    for kb, is_warned in (("raw.kb", True), (two_pass_kb, False)):
        done = cli.call("eval", "species", folders, "--kb", kb, "--reader", *FAST, check=True)
        assert ("the context refined shows those of article/1" in done.stderr) is is_warned


def test_the_table_shows_setups_costs_and_definitions(
    cli: Any, built_kb: Path, folders: Path, server: OpenAIServer
) -> None:
    sets = ("reader_contexts=names", "reader_candidates=3", "reader_alone=true")
    arguments = ("--kb", built_kb, "--reader", *(word for each in sets for word in ("--set", each)))
    done = cli.call("eval", "species", folders, *arguments, "--set", "reader_samples=2", *FAST, check=True)
    lines = done.stdout.splitlines()
    assert any(
        re.match(r"reader scripted@\S+, 2 samples per photo; 6 photos; mean over photos", line) for line in lines
    )
    row = next(line for line in lines if re.match(r"vr-rag-v1, names, k=3 +12 ", line))
    assert row.endswith("$0.0240")
    assert sum(line.startswith("no retrieval") for line in lines) == 4
    assert any(line.startswith("accuracy of the reader minus that of 'vr-rag-v1, names, k=3'") for line in lines)
    assert any(line.startswith("none of these: share of photos") for line in lines)
    assert all(": " not in call.text.split("A. ")[1].splitlines()[0] for call in server.calls if "A. " in call.text)


def test_samples_without_a_reply_have_a_column(cli: Any, built_kb: Path, folders: Path, server: OpenAIServer) -> None:
    command = ("eval", "species", folders, "--kb", built_kb, "--reader", "--set", "reader_samples=2", *FAST)
    server.script = lambda call: Answer(text=None, refusal="No.") if call.number == 1 else script(call)
    lines = cli.call(*command, check=True).stdout.splitlines()
    (head,) = [line for line in lines if line.endswith("cost")]
    (row,) = [line for line in lines if re.match(r"vr-rag-v1, refined, k=10 +11 ", line)]
    assert head.split()[:4] == ["json", "no", "reply", "failed"]
    assert row.split()[3:6] == ["11", "1", "0"]


def test_a_reader_that_fails_is_a_warning_and_an_exit_code(
    cli: Any, built_kb: Path, folders: Path, server: OpenAIServer
) -> None:
    says = Answer(text="<think>It is red, so", finish="length")
    command = ("eval", "species", folders, "--kb", built_kb, "--reader", *FAST)
    seen: list[str | bytes] = []

    def fail_at_the_first(call: Call) -> Reaction:
        seen.extend(call.images)
        return says if call.images[0] == seen[0] else script(call)

    server.script = fail_at_the_first
    some = cli.call(*command)
    assert "The reader failed for 1 of 6 photos; they count as wrong" in some.stderr
    assert some.exit_code == 7

    server.script = lambda _: says
    none = cli.call(*command, "--set", "reader_candidates=3", "--set", "reader_contexts=names")
    assert "warning: vr-rag-v1, names, k=3: The reader failed for 6 of 6 photos" in none.stderr
    assert none.exit_code == 6
    assert "reader scripted@" in none.stdout, "the figures are printed all the same"


def test_a_named_bird_of_no_species_is_a_wrong_answer_and_no_failure(
    cli: Any, built_kb: Path, folders: Path, server: OpenAIServer
) -> None:
    server.script = lambda call: script(call) if LINE.search(call.text) else '{"species": "Jubjub"}'
    command = ("eval", "species", folders, "--kb", built_kb, "--reader", "--set", "reader_alone=true", *FAST)
    assert cli.call(*command, check=True).stderr == ""


def test_csv_has_rows_for_readers(cli: Any, built_kb: Path, folders: Path, server: OpenAIServer) -> None:
    arguments = ("--kb", built_kb, "--reader", "--set", "reader_alone=true", "--format", "csv")
    done = cli.call("eval", "species", folders, *arguments, *FAST, check=True)
    rows = [row for row in csv.DictReader(io.StringIO(done.stdout)) if row["reader"]]
    assert {row["preset"] for row in rows} == {"vr-rag-v1", "no retrieval"}
    (accuracy,) = [row for row in rows if (row["preset"], row["measure"]) == ("vr-rag-v1", "accuracy")]
    assert (accuracy["reader_context"], accuracy["reader_k"], accuracy["anchors"]) == ("refined", "10", "kb")
    assert float(accuracy["micro_low"]) <= float(accuracy["micro"]) <= float(accuracy["micro_high"])
    (tested,) = [row for row in rows if row["baseline"]]
    assert (tested["preset"], tested["baseline"]) == ("no retrieval", "vr-rag-v1, refined, k=10")


def test_a_cost_limit_exits_with_7_and_the_next_run_resumes(
    cli: Any, built_kb: Path, folders: Path, server: OpenAIServer
) -> None:
    command = ("eval", "species", folders, "--kb", built_kb, "--reader", *FAST)
    stopped = cli.call(*command, "--max-cost", "0.011")
    assert (stopped.exit_code, stopped.stdout) == (7, "")
    n_calls = server.n_calls
    assert 0 < n_calls < 6
    first = cli.call(*command, check=True)
    assert server.n_calls == 6
    assert cli.call(*command, "--offline", check=True).stdout.splitlines()[:8] == first.stdout.splitlines()[:8]
    assert server.n_calls == 6


def test_a_custom_prompt_is_used(cli: Any, built_kb: Path, folders: Path, server: OpenAIServer, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "read_photo.md").write_text("Which bird?\n$candidates\n")
    (tmp_path / "mine" / "read_photo_forced.md").write_text("One of these:\n$candidates\n")
    arguments = (folders, "--kb", built_kb, "--reader", "--set", f"prompts={tmp_path}/mine")
    for given, begins in (((), "One of these"), (("--set", "reader_forced=false"), "Which bird?")):
        n_before = server.n_calls
        measured(cli, *arguments, *given)
        calls = server.calls[n_before:]
        assert calls
        assert all(call.text.startswith(f"{begins}") for call in calls)


def test_readers_use_the_given_vocabulary_and_anchors(
    cli: Any, built_kb: Path, folders: Path, server: OpenAIServer
) -> None:
    arguments = (folders, "--kb", built_kb, "--set", "vocabulary=bounded", "--anchors", "train", "--train", folders)
    for how, n in (("--reader", 1), ("--comparisons", 6)):
        sets = ("--set", "keep_leaks=true", "--set", "resamples=100")
        outcome = cli.call("eval", "species", *arguments, how, "--format", "json", *sets)
        found = json.loads(outcome.stdout)["readers"]["figures"]
        setups = [figures["setup"]["retrieval"] for figures in found]
        assert len(setups) == n
        assert {(s["vocabulary"], s["anchors"]) for s in setups if s} == {("bounded", "train")}
        assert micro(found[0])["listed"] == 1.0  # three species can be the answer, and ten are shown
    names = {name for call in server.calls for _, name, _ in LINE.findall(call.text)}
    assert names == set(BIRDS)


def test_contradictory_options_exit_with_2(cli: Any, built_kb: Path, folders: Path, server: OpenAIServer) -> None:
    for options in (
        ("--set", "reader_candidates=5"),
        ("--set", "reader_alone=true"),
        ("--offline",),
        ("--max-cost", "1"),
        ("--comparisons", "--set", "reader_candidates=5"),
        ("--comparisons", "--preset", "default"),
        ("--comparisons", "--set", "texts=both"),
        ("--reader", "--set", "texts=names", "--set", "reader_contexts=chunks"),
        ("--reader", "--ablation"),
    ):
        assert cli.call("eval", "species", folders, "--kb", built_kb, *options, *FAST).exit_code == 2, options
    assert server.n_calls == 0


def test_a_missing_model_or_text_exits_with_3(
    cli: Any, built_kb: Path, folders: Path, server: OpenAIServer, tmp_path: Path
) -> None:
    command = ("eval", "species", folders, "--kb", built_kb, "--reader", *FAST)
    lacking = cli.call(*command, "--set", "reader_contexts=summary")
    assert (lacking.exit_code, "model-two-pass" in lacking.stderr) == (3, True)
    (tmp_path / "fieldmark.toml").write_text("")
    unset = cli.call(*command)
    assert (unset.exit_code, "[llm.vision]" in unset.stderr) == (3, True)
    assert server.n_calls == 0
