"""`kb feedback` by typed lines: marks, edits, undo, resuming, files, settings, bad input."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.cli.verbs.feedback.conftest import QUERY

pytestmark = pytest.mark.usefixtures("drawn_knowledge")
TWO_TURNS = "1 3\n\n1-2\n\nq\n"  # numbers, then Enter for the query
K = ("--set", "k=5")


def shown(session: Any) -> list[list[str]]:
    return [[image["image_id"] for image in turn["shown"]] for turn in session["turns"]]


def test_a_session_lists_marks_grows_and_resumes_where_it_stopped(converse: Any, models: Any, own_home: Path) -> None:
    done, session = converse(TWO_TURNS, *K)
    assert done.exit_code == 0, done.stderr
    assert session["method"] == "cot" and len(session["turns"]) == 3
    seen = [image_id for ids in shown(session) for image_id in ids]
    assert len(set(seen)) == 15 and [session["turns"][0]["relevant"], session["turns"][1]["relevant"]] == [
        [seen[0], seen[2]], seen[5:7],
    ]  # fmt: skip
    captions = [caption["text"] for caption in session["turns"][0]["captions"]]
    assert session["turns"][1]["query"] == f"{QUERY}. {' '.join(captions)}"
    assert session["turns"][2]["query"] == session["turns"][1]["captions"][-1]["text"].rstrip(".") + "."
    assert "Caption of " in done.stderr and f"Query: {QUERY}. A " in done.stderr
    assert "3 turns, 4 relevant photos, 4 captions, 1 denoised query, 5 model calls, cost $0.000" in done.stderr
    page = Path("s-turn2.html").read_text()
    assert page.count("data:image/jpeg;base64,") == 5 and shown(session)[2][4] in page
    for number, typed in enumerate(("1 3\n", "\n1-2\n", "\nq\n")):
        done, parts = converse(typed, *K, file="parts.json")
        assert done.exit_code == 0 and ("Resuming turn" in done.stderr) is (number > 0), done.stderr
    assert [turn["query"] for turn in parts["turns"]] == [turn["query"] for turn in session["turns"]]
    assert shown(parts) == shown(session)  # only the costs differ: the second session paid nothing


def test_undo_edit_wrong_numbers_and_the_end_of_the_photos(converse: Any) -> None:
    done, session = converse("0\n9-2\nred\n1\nu\n2\na blue bird\nu\n3\n\nq\n", *K)
    assert done.exit_code == 0
    assert done.stderr.count('Expected numbers from 1 to 5, got "') == 3
    ids = shown(session)[0]
    assert session["turns"][0]["relevant"] == [ids[2]] and len(session["turns"]) == 2
    _, edited = converse("2\na blue bird\nq\n", *K, file="e.json")
    assert edited["turns"][1]["query"] == "a blue bird" and edited["turns"][1]["is_edited"]
    refused, _ = converse("2\nzzz\n\nq\n", *K, file="r.json")
    assert 'knows no word of the query "zzz"' in refused.stderr
    done, session = converse("\n" * 8, "--set", "k=15", file="all.json")
    assert [len(ids) for ids in shown(session)] == [15, 15, 10] and session["turns"][2]["query"] == QUERY
    assert "All 40 photos have been shown." in done.stderr


def test_the_marks_are_exported_as_a_job(converse: Any, cli: Any) -> None:
    converse(TWO_TURNS, *K, "--export", "marks.jsonl")
    job = json.loads(Path("marks.jsonl").read_text())
    assert job["text"] == QUERY and len(job["candidates"]) == 10 and len(job["relevant"]) == 4
    done, _ = converse("q\n", *K, "--export", "none.jsonl", file="n.json")
    assert "none.jsonl was not written" in done.stderr and not Path("none.jsonl").exists()
    cli.call("rerank", "marks.jsonl", "--method", "similarity", check=True)


@pytest.mark.usefixtures("plain_encoders")
def test_a_changed_collection_is_said_and_another_one_refused(cli: Any, coloured: Path, tmp_path: Path) -> None:
    photos = shutil.copytree(coloured, tmp_path / "own")
    arguments = ["feedback", QUERY, "--images", photos, *K]  # the same command resumes, without a session file
    for typed, said in (("1\n", "Turn 0"), ("\nq\n", "Resuming turn 0")):
        assert said in cli.call(*arguments, stdin=typed, check=True).stderr
    arguments += ["--session", "s.json"]
    cli.call(*arguments, stdin="1 2\n", check=True)
    before = json.loads(Path("s.json").read_text())
    (photos / before["turns"][0]["shown"][0]["image_id"]).unlink()
    Image.new("RGB", (40, 40), "red").save(photos / "new.png")
    done = cli.call(*arguments, stdin="\nq\n", check=True)
    assert "40 photos then, 40 now; 1 of the 5 photos shown are gone" in done.stderr
    assert "new.png" in shown(json.loads(Path("s.json").read_text()))[1]
    Path("other").mkdir()
    Image.new("RGB", (40, 40), "red").save("other/new2.png")
    done = cli.call("feedback", QUERY, "--images", "other", "--session", "s.json", *K, stdin="q\n")
    assert done.exit_code == 2 and f"is of photos in {photos}; none of them is in this folder" in done.stderr


def test_a_setting_changes_the_session(converse: Any, models: Any) -> None:
    def told(method: str, *sets: str) -> Any:  # without costs: later replies come from the cache, for nothing
        arguments = [part for each in sets for part in ("--set", each)]
        typed, file = "1 2 4\n\n1 3 5\n\n2 3 4\n\nq\n", f"{method} {' '.join(sets)}.json"
        done, session = converse(typed, "--method", method, *K, *arguments, file=file)
        assert done.exit_code == 0, done.stderr
        return [(turn["query"], [(shown["image_id"], shown["score"]) for shown in turn["shown"]],
                 [each["text"] for each in turn["captions"]]) for turn in session["turns"]]  # fmt: skip

    for method, settings in (
        ("cot", ("captioned=1",)),
        ("captions", ("seed=5", "max_tokens=3")),
        ("keywords", ("prefix=Photo of",)),
        ("rocchio-and-text", ("text=captions",)),
        ("rocchio", ("alpha=9", "beta=9", "gamma=9", "rocchio_relevant=sampled", "rocchio_from=previous")),
    ):
        usual = told(method)
        for setting in settings:
            assert told(method, setting) != usual, (method, setting)


def test_captions_of_the_phrases_of_a_knowledge_base(converse: Any, models: Any, folder_kb: str) -> None:
    def grown(*more: str, file: str) -> str:
        arguments = ("--method", "captions", "--captioner", "phrases", "--kb", folder_kb, *K, *more)
        done, session = converse("1\n\nq\n", *arguments, file=file)
        assert done.exit_code == 0, done.stderr
        return str(session["turns"][1]["query"]).removeprefix(f"{QUERY}. ")

    assert set(grown(file="a.json").split(", ")) == {"white plumage", "white underparts"}
    assert grown("--set", "phrases=1", file="b.json").count(", ") == 0
    assert models.calls == []


def test_costs_and_cached_replies(converse: Any, models: Any, own_home: Path) -> None:
    done, _ = converse("1\n\nq\n", *K, "--max-cost", "0.0000001")
    assert done.exit_code == 7 and models.calls == []
    converse("\nq\n", *K)
    n = models.n_calls
    assert n == 1
    _, again = converse("1\n\nq\n", *K, "--offline", file="again.json")
    assert models.n_calls == n and len(again["turns"]) == 2
    done, _ = converse("2\n\nq\n", *K, "--offline", file="other.json")
    assert done.exit_code == 3 and "cache" in done.stderr


def test_bad_input(converse: Any, cli: Any, coloured: Path) -> None:
    def fails(*arguments: str, said: str) -> None:
        done = cli.call("feedback", *arguments)
        assert done.exit_code in (2, 3, 5) and said in done.stderr, done.stderr

    here = ("--images", str(coloured))
    fails("a red bird", said="needs a query and --images")
    fails("a red bird", "--images", "nowhere", said="does not exist")
    Path("empty").mkdir()
    fails("a red bird", "--images", "empty", said="No photo found")
    fails("a red bird", *here, "--captioner", "phrases", said="for methods that write text")
    fails("a red bird", *here, "--method", "captions", "--captioner", "vision", said="No model set")
    Path("s.json").write_text("{}")
    fails("--session", "s.json", said="is not a feedback session")
    Path("s.json").unlink()
    converse("1\n\nq\n", *K)  # a session keeps its query, method and settings
    for more, said in (
        (("--method", "none"), 'the method "rocchio", not "none"'),
        (("--set", "k=6"), "the k 5, not 6"),
        (("--preset", "paper", *K), "max_tokens None, not 77"),
    ):
        done, _ = converse("q\n", *more)
        assert done.exit_code == 2 and said in done.stderr
    assert 'the query "a red bird with a white belly", not "a blue bird"' in converse("", query="a blue bird")[0].stderr


def test_a_named_species_is_searched_by_reference_photos_unless_names_are_text(cli: Any, drawings: Path) -> None:
    for file, more, species in (
        ("a", (), "Snowy Owl"), ("b", ("--preset", "paper"), ""), ("c", ("--set", "names=text"), ""),
    ):  # fmt: skip
        command = ("feedback", "Snowy Owl", "--session", file, "--images", drawings, *more)
        done = cli.call(*command, stdin="q\n", check=True)
        turn = json.loads(Path(file).read_text())["turns"][0]
        assert turn["species"] == species
        assert ("Searched by reference photos and descriptions: Snowy Owl" in done.stderr) is bool(species)
        assert not species or turn["shown"][0]["image_id"] == "bubo-scandiacus.png"
