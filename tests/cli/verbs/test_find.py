"""`kb find`: rankings, forms of output, species by name, queries that mean nothing, and methods with models."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.conftest import CommandLine
from tests.servers.openai_server import Call, OpenAIServer, Reaction

pytestmark = pytest.mark.usefixtures("drawn_knowledge")
RED = "a red bird with a black face"


def rows(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def photos(drawings: Path) -> Path:
    """Four drawings, one of them twice, a colour, and a broken file with signs of HTML in its name."""
    shutil.copy(drawings / "cardinalis-cardinalis.png", drawings / "a b.png")
    Image.new("RGB", (40, 40), "blue").save(drawings / "<i>blue&.png")
    (drawings / "broken.jpg").write_bytes(b"no photo")
    return drawings


@pytest.mark.usefixtures("toy_paper_profile")
def test_the_order_is_that_of_rerank_similarity_with_the_encoder_given(cli: CommandLine, photos: Path) -> None:
    ranked = cli.call("rerank", photos, "--query", RED, "--method", "similarity", "--format", "jsonl")
    found = cli.call("find", RED, "--images", photos, "--format", "jsonl", check=True)
    expected = [(row["image_id"], row["score"]) for row in rows(ranked.stdout) if row["status"] == "ok"]
    assert [(row["image_id"], row["score"]) for row in rows(found.stdout)] == expected
    twice = [image_id for image_id, _ in expected if image_id in ("a%20b.png", "cardinalis-cardinalis.png")]
    assert twice == ["a%20b.png", "cardinalis-cardinalis.png"] and "1 photo cannot be read" in found.stderr
    run = cli.call("find", "azure", "--images", photos, "--encoder", "paper", "--format", "jsonl", check=True)
    assert "<i>blue&.png" in [row["image_id"] for row in rows(run.stdout)[:2]]
    assert cli.call("find", "azure", "--images", photos, "--encoder", "none").exit_code == 2
    unseen = cli.call("find", "xyzzy " * 500, "--images", photos)
    assert (unseen.exit_code, "can see nothing of" in unseen.stderr, len(unseen.stderr) < 800) == (3, True, True)


def test_a_photo_finds_its_likes_and_text_and_photo_are_combined(cli: CommandLine, photos: Path) -> None:
    jay = photos / "cyanocitta-cristata.png"
    alone = rows(cli.call("find", "--photo", jay, "--images", photos, "--format", "jsonl", check=True).stdout)
    assert alone[0]["path"] == str(jay) and alone[0]["score"] == pytest.approx(1, abs=1e-5)
    both = cli.call("find", *RED.split(), "--photo", jay, "--images", photos, "--top", "2", "--format", "jsonl")
    assert len(rows(both.stdout)) == 2 and rows(both.stdout)[0]["score"] < 0.99


def test_every_form_has_the_same_photos(cli: CommandLine, photos: Path) -> None:
    command = ("find", RED, "--images", photos)
    found = rows(cli.call(*command, "--format", "jsonl", check=True).stdout)
    table = cli.call(*command, check=True).stdout
    assert [line.split()[0] for line in table.splitlines()[2:]] == [str(row["rank"]) for row in found]
    run = cli.call(*command, "--format", "trec", check=True).stdout
    assert [line.split()[2] for line in run.splitlines()] == [row["image_id"] for row in found]
    cli.call(*command, "--format", "html", "--output", "found.html", check=True)
    page = (cli.folder / "found.html").read_text(encoding="utf-8")
    assert page.count("<img ") == page.count('src="data:image/jpeg;base64,') == len(found)
    assert "&lt;i&gt;blue&amp;.png" in page and "<i>" not in page and "http" not in page.replace("http-equiv", "")


def test_a_species_is_judged_by_the_recognizer_of_the_knowledge_base(
    cli: CommandLine, photos: Path, built_kb: Path
) -> None:
    run = cli.call(
        "find", "Snowy Owl", "--images", photos, "--kb", built_kb, "--top", "3", "--format", "jsonl", check=True
    )
    best, *rest = rows(run.stdout)
    assert best["image_id"] == "bubo-scandiacus.png" and best["score"] > 2 * rest[0]["score"]
    assert best["questions"][0]["obtained_by"] == "recognizer" and "judged by the recognizer" in run.stderr
    assert "no photo is likely" not in run.stderr
    (photos / "bubo-scandiacus.png").unlink()
    run = cli.call("find", "Snowy Owl", "--images", photos, "--kb", built_kb, "--format", "jsonl", check=True)
    assert "no photo is likely to show it: " in run.stderr and rows(run.stdout)[0]["score"] < 50
    run = cli.call("find", "Snowy Owl", "--images", photos, "--kb", cli.folder / "none.kb")
    assert run.exit_code == 3 and "none.kb" in run.stderr


def test_a_name_that_the_query_excludes_is_not_searched_for(cli: CommandLine, photos: Path, built_kb: Path) -> None:
    run = cli.call("find", "a red bird, not a Snowy Owl", "--images", photos, "--format", "jsonl", check=True)
    assert 'cannot exclude "Snowy Owl"; kb rerank can' in run.stderr and "judged by the recognizer" not in run.stderr
    command = ("feedback", "a red bird, not a Snowy Owl", "--images", str(photos), "--session", "s.json")
    run = cli.call(*command, stdin="q\n", check=True)
    assert 'cannot exclude "Snowy Owl"' in run.stderr and "Searched by reference photos" not in run.stderr


def served(call: Call) -> Reaction:
    return "a bird on a branch, seen from the side" if call.images else "a blue bird with spread wings"


@pytest.fixture
def find(cli: CommandLine, drawings: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Return a function that searches the drawings by a method, with models behind a server."""
    Image.new("RGB", (40, 40), "blue").save(drawings / "blue.png")
    with OpenAIServer(served) as server:
        for kind in ("TEXT", "VISION", "IMAGE"):
            monkeypatch.setenv(f"FIELDMARK_LLM_{kind}_MODEL", "m")
            monkeypatch.setenv(f"FIELDMARK_LLM_{kind}_BASE_URL", server.base_url)
            for price in ("IN", "OUT"):
                monkeypatch.setenv(f"FIELDMARK_LLM_{kind}_PRICE_{price}", "0")
        monkeypatch.setenv("FIELDMARK_LLM_IMAGE_PRICE_PER_REQUEST", "0.04")

        def run(query: str, method: str, *more: str, toml: str = "") -> Any:
            Path("fieldmark.toml").write_text(toml)
            called = cli.call("find", query, "--images", drawings, "--method", method, "--format", "jsonl", *more)
            return called, rows(called.stdout), server

        yield run


def test_a_collection_is_searched_by_drawings(find: Any) -> None:
    run, found, server = find("a red bird", "visret", "--top", "2")
    assert run.exit_code == 0, run.stderr
    assert [call.payload.get("n") for call in server.calls] == [None, 3] and len(found) == 2
    assert server.calls[1].payload["prompt"] == "Generate a small image of a blue bird with spread wings"
    assert found[0]["evaluation"].startswith("instruction: a blue bird with spread wings; drawings: ")
    assert found[0]["evaluation"] in run.stderr and "3 drawings; 2 model calls" in run.stderr
    assert find("a red bird", "visret", "--offline", "--top", "2")[1] == [row | {"cost_usd": 0.0} for row in found]
    run, _, _ = find("a red bird", "visret", "--max-cost", "0.01", toml="[rerank.visret]\nimages = 4\n")
    assert run.exit_code == 7 and "Cost limit reached" in run.stderr
    assert find("a blue bird", "visret", "--offline")[0].exit_code == 3 and server.n_calls == 2


def test_captions_of_the_collection_are_written_once(find: Any) -> None:
    run, found, server = find("a bird on a branch", "captions")
    n = server.n_calls
    assert run.exit_code == 0 and n == len(found) and found[0]["evaluation"].startswith("caption: a bird on a branch")
    assert f"{n} captions, compared with the query by" in run.stderr and f"captions {n} of {n}" in run.stderr
    assert find("a red bird", "captions")[2].n_calls == n
