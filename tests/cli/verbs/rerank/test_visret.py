"""`kb rerank --method visret` and its baselines, with scripted models; tests/rerank/recorded has rows and requests."""

import base64
import io
import json
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.errors import MissingDependency
from kb.endpoints import images
from tests.cli.verbs.rerank.conftest import COLOURS, jobs_file
from tests.servers.openai_server import Call, OpenAIServer, Raw, Reaction, Status

REFUSED = Status(status=400, error={"message": "Rejected by the safety system.", "code": "content_policy_violation"})
QUESTIONS = ("What colour is the bird?", "Where does it sit?", "What does it hold?")


def served(call: Call) -> Reaction:
    """Rewrite a query, draw its colour, write questions, caption a photo by its colour, or answer about it."""
    if call.path.endswith("/images/generations"):
        data = []
        for colour in ("yellow", "yellow", "red")[: call.payload["n"]]:
            out = io.BytesIO()
            Image.new("RGB", (40, 40), colour).save(out, "PNG")
            data.append({"b64_json": base64.b64encode(out.getvalue()).decode()})
        return Raw(body=json.dumps({"data": data}).encode(), media_type="application/json")
    if not call.images:
        is_visa = "key phrases" in call.text
        return json.dumps({"phrases": ["red bird"], "questions": QUESTIONS}) if is_visa else '"A yellow bird."'
    seen = Image.open(io.BytesIO(call.images[0])).convert("RGB").resize((1, 1)).getpixel((0, 0))
    known = {name: Image.new("RGB", (1, 1), name).getpixel((0, 0)) for name in COLOURS}
    colour = min(known, key=lambda name: sum(abs(a - b) for a, b in zip(known[name], seen, strict=True)))
    if "caption of this photo" in call.text:
        return f"a {colour} bird"
    if QUESTIONS[0] in call.text:
        return f"The bird is {colour}."
    return "Uncertain." if QUESTIONS[1] in call.text else REFUSED


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(served) as running:
        yield running


@pytest.fixture
def ranked(cli: Any, photos: Path, endpoint: Callable[..., None], server: OpenAIServer) -> Callable[..., Any]:
    """Return a function that ranks the photos by a method with settings; `kinds` are the models that are set."""
    file = jobs_file(photos, n=2)

    def rank(method: str, *sets: str, more: Any = (), n: int = 1, kinds: Any = ("image", "text", "vision")) -> Any:
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:n]))
        for kind in kinds:
            endpoint(server, kind=kind, **({"price_per_request": 0.04} if kind == "image" else {}))
        settings = [word for each in sets for word in ("--set", each)]
        run = cli.call("rerank", file, "--method", method, "--format", "jsonl", *settings, *more)
        return run, [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]

    return rank


def named(rows: list[dict[str, Any]]) -> list[str]:
    return [sorted(COLOURS)[int(row["image_id"])] for row in rows]


def test_drawings_are_paid_once_and_settings_change_requests_and_scores(ranked: Any, server: OpenAIServer) -> None:
    run, rows = ranked("visret")
    assert run.exit_code == 0 and "3 drawings" in run.stderr and "$0.13" in run.stderr, run.stderr
    drawn = {"model": "m", "prompt": "Generate a small image of a yellow bird", "n": 3, "response_format": "b64_json"}
    assert server.calls[1].payload == drawn
    assert named(ranked("visret", more=["--offline"])[1]) == named(rows) and server.n_calls == 2
    ranked("visret", "visret.prompt=feature")
    assert "Question: a red bird, 0" in server.calls[-1].text
    ranked("visret", "visret.images=1", "visret.template=A photo of {instruction}")
    sent = server.calls[-1].payload
    assert (sent["n"], sent["prompt"]) == (1, "A photo of a yellow bird")
    seen = [[row["score"] for row in rows]]
    for each in ("visret.damping=60", "visret.fusion=mean-similarity", "visret.fusion=with-text", "visret.sample=3"):
        seen.append([row["score"] for row in ranked("visret", each)[1]])
        assert seen[-1] not in seen[:-1], each
    for more in (["--preset", "paper"], ["--set", "visret.tidy=false", "--no-cache"]):
        ranked("visret", more=more)
        assert server.calls[-1].payload["prompt"] == 'Generate a small image of the "A yellow bird."'


def test_drawings_come_from_a_folder_by_query_id(ranked: Any, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name in ("q0-1.png", "q0-2.png"):
        Image.new("RGB", (40, 40), "red").save(tmp_path / "d" / name)
    run, rows = ranked("visret", "visret.drawings=d", "visret.images=2", n=2, kinds=())
    assert rows[0]["evaluation"] == "drawings: q0-1.png, q0-2.png"
    assert rows[6]["evaluation"].startswith("not drawn: no drawing q1.png or q1-1.png in ")
    assert run.exit_code == 7 and "2 drawings" in run.stderr and "instead: q1" in run.stderr
    for setting, said in (
        ("visret.generator=folder", "expected drawings=DIR together with generator=folder"),
        ("visret.drawings=gone", "No folder of drawings"),
    ):
        wrong, _ = ranked("visret", setting, kinds=())
        assert wrong.exit_code == 2 and said in wrong.stderr


def test_anchors_of_the_named_species_replace_drawings(
    ranked: Any, photos: Path, birds: Path, monkeypatch: Any
) -> None:
    import kb

    with kb.open(birds) as store:
        name, other = (taxon.common_name for taxon in store.taxa())
    monkeypatch.setenv("FIELDMARK_KB", str(birds))
    file = photos.parent / "jobs.jsonl"
    file.write_text(file.read_text().replace("a red bird, 0", f"{name} with raised wings"))
    run, rows = ranked("visret", "visret.generator=anchors", n=2, kinds=())
    assert rows[0]["evaluation"].startswith(f"anchors of {name}, no drawing: ") and other not in rows[0]["evaluation"]
    assert "names no species with an anchor" in rows[6]["evaluation"]
    assert run.exit_code == 7 and "1 query could not be drawn" in run.stderr and "no drawings" in run.stderr


def test_a_local_model_draws_by_its_settings(ranked: Any, photos: Path, monkeypatch: Any) -> None:
    """`tests/kb/endpoints/test_diffusion.py` has the model itself."""
    made: dict[str, Any] = {}

    def recorded(model: str, **others: Any) -> None:
        made.update(others, model=model)
        raise MissingDependency("diffusers", extra="draw")

    monkeypatch.setattr(images, "PipelineImages", recorded)
    sets = ("visret.generator=diffusers", "visret.model=green", "visret.seed=3", 'visret.pipeline={"shade": 100}')
    run, _ = ranked("visret", *sets)
    assert run.exit_code == 3 and "diffusers is not installed" in run.stderr and "'.[draw]'" in run.stderr
    assert (made["model"], made["seed"], made["arguments"]) == ("green", 3, {"shade": 100})
    stored = made["cache"].put("m", "a bird", 0, next(photos.glob("*.*")).read_bytes())
    for more, found in (((), [stored]), (["--no-cache"], [])):
        ranked("visret", *sets, more=more)
        assert made["cache"].get("m", "a bird", 1) == found


def test_text_baselines_connect_their_models(ranked: Any, server: OpenAIServer, cli: Any, photos: Path) -> None:
    run, rows = ranked("rewrite")
    assert run.exit_code == 0 and "1 rewritten query" in run.stderr, run.stderr
    given = ("--query", "a yellow bird", "--method", "similarity", "--format", "jsonl")
    plain = cli.call("rerank", photos, *given, check=True).stdout.splitlines()
    assert [row["score"] for row in rows] == [json.loads(line)["score"] for line in plain]
    assert (rows[0]["evaluation"], server.n_calls) == ("instruction: a yellow bird", 1)
    run, rows = ranked("captions", more=["--depth", "4"])
    assert run.exit_code == 0 and "4 captions, compared with the query by starter-words" in run.stderr, run.stderr
    assert rows[0]["evaluation"] == f"caption: a {named(rows)[0]} bird"
    alone = ranked("captions", "captions.first_stage=false", more=["--depth", "4"])[1]
    assert server.n_calls == 1 + 4, "captions are kept"
    assert named(alone)[0] == "red" and [row["score"] for row in alone] != [row["score"] for row in rows]
    run, rows = ranked("visa")
    assert run.exit_code == 7 and "18 answers; 12 uncertain answers" in run.stderr, run.stderr
    assert server.n_calls == 1 + 4 + 1 + 2 + 6 * 3, "four captions are kept"
    assert [answer["question"] for answer in rows[0]["questions"]] == list(QUESTIONS)


def test_local_models_that_cannot_be_loaded_name_their_extra_or_themselves(ranked: Any) -> None:
    said = "photos cannot be loaded" if find_spec("transformers") else "'.[models]'"
    for setting in ("captions.captioner=photos", "captions.scorer=photos"):
        run, _ = ranked("captions", setting)
        assert run.exit_code == 3 and said in run.stderr, setting
