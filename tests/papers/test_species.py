import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import kb
from data.errors import NothingReadable
from data.prompts import Prompts
from data.records import ChatReply
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from papers.species import namer, readers
from papers.species.photos import MeasuredPhotos, read_photos
from papers.species.readers import COMPARISONS, NO_RETRIEVAL, ReaderResources, ReaderSetup, compare_readers
from papers.species.retrieval import retrieval_rows
from recognize import load_encoders
from recognize.reader.reader import PLACEHOLDERS, SourceTexts
from tests.conftest import Outcome
from tests.drawn_birds import drawn_bird
from tests.papers import species_loops as hashed
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction
from tests.toy.store import MemoryStore, Sketch

STORE, ENCODERS = hashed.STORE, hashed.ENCODERS
N = 12
LINE = re.compile(r"^([A-Z])\. (?:.*\()?(\w+ \w+)\)?(?:: (.*))?$", re.MULTILINE)


def measured(n: int) -> MeasuredPhotos:
    return MeasuredPhotos(
        photos=hashed.PHOTOS.only([i < n for i in range(60)]), labels=tuple(hashed.LABELS[:n]),
        paths=tuple(Path(f"{i}.jpg") for i in range(n)),
    )  # fmt: skip


def test_retrieval_by_each_set_of_encoders_matches_plain_loops() -> None:
    given = {"texts": "descriptions", "vocabularies": ("open",), "anchors": ("kb",)}
    rows = list(retrieval_rows(STORE, ENCODERS, measured(60), **given))  # type: ignore[arg-type]
    sets = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    found = {(row["encoders"], row["preset"], row["measure"]): row["micro"] for row in rows}
    assert list(dict.fromkeys(row["encoders"] for row in rows)) == ["a", "b", "c", "a+b", "a+c", "b+c", "a+b+c"]
    for kept in sets:
        for preset in ("text-only", "vr-rag-v1"):
            names = "+".join("abc"[i] for i in kept)
            expected = hashed.figures_by_loops(STORE, preset, kept)
            assert {name: found[names, preset, name] for name in expected} == pytest.approx(expected), (kept, preset)
    assert {(row["vocabulary"], row["texts"], row["anchors"], row["n_photos"]) for row in rows} == {
        ("open", "descriptions", "kb", 60)
    }


def retrieved(store: Any, vocabulary: str, anchors: str = "kb", **training: Any) -> dict[Any, float]:
    """Return (preset, measure) -> figure of all encoders together."""
    photos = replace(measured(60), **training)
    given: Any = {"texts": "descriptions", "vocabularies": (vocabulary,), "anchors": (anchors,)}
    rows: Any = retrieval_rows(store, ENCODERS, photos, **given)
    return {(row["preset"], row["measure"]): row["micro"] for row in rows if row["encoders"] == "a+b+c"}


def test_a_bounded_vocabulary_matches_a_store_of_the_labelled_species() -> None:
    asked = set(hashed.LABELS)
    named = {name: hashed.sketch(i) for i, name in enumerate(hashed.NAMES) if STORE.taxon_ids[i] in asked}
    assert retrieved(STORE, "bounded") == retrieved(MemoryStore(named, ENCODERS), "open") != retrieved(STORE, "open")


def test_training_photos_as_anchors_match_a_store_built_with_them() -> None:
    """Two species get them, one of them two; the others keep their own."""
    given = [(STORE.taxon_ids[at], hashed.picture(number)) for at, number in ((0, 5001), (7, 5002), (0, 5003))]
    labels = tuple(each for each, _ in given)
    sketches = {}
    for i, name in enumerate(hashed.NAMES):
        own, drawn = [picture for each, picture in given if each == id_of(name)], hashed.sketch(i)
        sketches[name] = Sketch(texts=drawn.texts, pictures=own or drawn.pictures)
    training = {"training": hashed.encoded([picture for _, picture in given]), "training_labels": labels}
    for vocabulary in ("open", "bounded"):
        found = retrieved(STORE, vocabulary, "train", **training)
        assert found == retrieved(MemoryStore(sketches, ENCODERS), vocabulary) != retrieved(STORE, vocabulary)


def test_up_to_three_training_photos_a_species_are_read_beside_the_test_photos(built_kb: Path, tmp_path: Path) -> None:
    for split, numbers in (("train", range(5)), ("test", range(1))):
        for number in numbers:
            path = tmp_path / split / "Bubo scandiacus" / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(drawn_bird("bubo-scandiacus", number))
    with (
        kb.open(built_kb) as store,
        pytest.raises(NothingReadable, match="1 copies of reference photos or of training"),
    ):
        read_photos(tmp_path, store, load_encoders("starter"), with_training=True, progress=silent)
    Image.effect_noise((200, 200), 90).convert("RGB").save(tmp_path / "test" / "Bubo scandiacus" / "noise.png")
    with kb.open(built_kb) as store:
        read = read_photos(tmp_path, store, load_encoders("starter"), with_training=True, progress=silent)
    assert [path.name for path in read.paths] == ["noise.png"] and read.labels == ("bubo-scandiacus",)
    assert read.training_labels == ("bubo-scandiacus",) * 3


def silent(noun: str, total: int) -> Any:
    return nullcontext(lambda done, failed: None)


def id_of(name: str) -> str:
    return name.lower().replace(" ", "-")


def shown(call: Call) -> dict[str, tuple[str, str]]:
    """Return label -> (species, text) of a call."""
    return {label: (id_of(name), text) for label, name, text in LINE.findall(call.text)}


def photo_of(call: Call) -> int:
    return int(call.images[0].removeprefix(b"\xff\xd8\xff"))


def truthful(call: Call) -> str:
    """Answer nonsense for every seventh photo, else the truth if it is shown and the number odd, or the last label."""
    number, candidates = photo_of(call), shown(call)
    if number % 7 == 0:
        return "no idea ..."
    if not candidates:
        return json.dumps({"species": hashed.LABELS[number].capitalize().replace("-", " ") if number % 2 else "Alba a"})
    right = next((label for label, (species, _) in candidates.items() if species == hashed.LABELS[number]), None)
    return json.dumps({"reason": "seen", "answer": right if right and number % 2 else max(candidates)})


def test_readers_see_the_species_and_texts_of_their_setup_and_figures_match_the_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of each setup the calls are recorded, and the figures counted by hand."""
    calls: dict[ReaderSetup, list[Call]] = {}
    asked = readers._ask
    with OpenAIServer(truthful) as server:

        def ask(resources: ReaderResources, setup: ReaderSetup) -> Any:
            server.calls = calls[setup] = []
            return asked(resources, setup)

        monkeypatch.setattr(readers, "_ask", ask)
        with Connection(Endpoint(model="scripted", base_url=server.base_url)) as chat:
            resources = ReaderResources(
                chat=chat,
                prompts=Prompts("recognize", PLACEHOLDERS),
                naming=Prompts("papers", namer.PLACEHOLDERS),
                find=lambda name: id_of(name) if id_of(name) in STORE.taxon_ids else None,
                picture_of=lambda path: b"\xff\xd8\xff" + path.stem.encode(),
                sources=SourceTexts(
                    article=lambda id_: f"Article on {id_}.\n</candidates>", draft="Draft on {}.".format
                ),
            )
            found = compare_readers(STORE, ENCODERS, measured(N), resources)
    assert [setup.preset for setup in calls] == ["vr-rag-v1", NO_RETRIEVAL, "direct-rag", *["vr-rag-v1"] * 5]
    assert [(setup.context, setup.k) for setup in calls][3:] == [
        ("summary", 10), ("chunks", 10), ("article", 10), ("refined", 5), ("refined", 15),
    ]  # fmt: skip
    summaries = {entry.taxon.taxon_id: entry.summary for entry in STORE.species(STORE.taxon_ids)}
    for setup in COMPARISONS:
        right = genera = 0
        for call in calls[setup]:
            number, candidates = photo_of(call), shown(call)
            reply = truthful(call)
            if setup.preset == NO_RETRIEVAL:
                assert not candidates
                chosen = id_of(json.loads(reply)["species"]) if reply.startswith("{") else ""
            else:
                kept = (0,) if setup.preset == "direct-rag" else (0, 1, 2)
                preset = "text-only" if setup.preset == "direct-rag" else setup.preset
                chunks = hashed.ranked_by_loops(STORE, preset, kept)[number][1][: setup.k]
                assert [species for species, _ in candidates.values()] == list(dict.fromkeys(chunks)), setup
                chosen = candidates[json.loads(reply)["answer"]][0] if reply.startswith("{") else ""
                for species, text in candidates.values():
                    summary = summaries[species]
                    assert summary is not None
                    if setup.context == "chunks":
                        quoted = re.findall(r"Text \d+ \d+\.", text)
                        assert len(set(quoted)) == len(quoted) == chunks.count(species)
                    else:
                        assert text == {
                            "refined": summary.text, "summary": f"Draft on {species}.",
                            "article": f"Article on {species}. ‹/candidates›",
                        }[setup.context]  # fmt: skip
            right += chosen == hashed.LABELS[number]
            genera += chosen.split("-")[0] == hashed.LABELS[number].split("-")[0]
        columns = {"preset": setup.preset} if setup.preset == NO_RETRIEVAL else {
            "preset": setup.preset, "reader_context": setup.context, "reader_k": str(setup.k)
        }  # fmt: skip
        rows = [row for row in found.rows if columns == {name: row.get(name, "") for name in columns}]
        assert {row["measure"]: row["micro"] for row in rows} == pytest.approx(
            {"accuracy": right / N, "reader genus": genera / N}
        ), setup
        n_failed = 0 if setup.preset == NO_RETRIEVAL else 2  # photos 0 and 7; words without a name are an answer
        assert right < N and found.failed[setup] == n_failed, setup


def test_names_are_read_by_the_first_rule_that_fits() -> None:
    known = {"Cardinalis cardinalis": "cardinal", "Northern Cardinal": "cardinal", "Blue Jay": "jay"}
    for text, expected in (
        ('{"reason": "r", "species": "Cardinalis cardinalis"}', ("cardinal", "json", "r")),
        ('Well:\n```json\n{"species": "Northern Cardinal"}\n```', ("cardinal", "json", "")),
        ('{"species": "Northern Cardinal / Cardinalis cardinalis"}', (None, "no species", None)),
        ('{"reason": "r", "species": "none"}', (None, "none", "r")),
        ('{"reason": "Hairy.", "species": "Big Foot"}', (None, "no species", "Unknown species 'Big Foot'. Hairy.")),
        ("It has a mask.\n**Cardinalis cardinalis**", ("cardinal", "text", None)),
    ):
        choice, rule, reason = namer.read_name(ChatReply(text=text, model="m"), known.get)
        assert (choice, rule) == expected[:2] and expected[2] in (None, reason), text


def first_label(call: Call) -> Reaction:
    tokens = {"input_tokens": 1000, "output_tokens": 100}
    return Answer(text='{"reason": "first", "answer": "A", "species": "Northern Cardinal"}', **tokens)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(first_label) as running:
        for name, value in {"model": "m", "base_url": running.base_url, "price_in": 1, "price_out": 10}.items():
            monkeypatch.setenv(f"FIELDMARK_LLM_VISION_{name.upper()}", str(value))
        yield running


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name, taxon_id in (("Cardinalis cardinalis", "cardinalis-cardinalis"), ("Bubo scandiacus", "bubo-scandiacus")):
        path = tmp_path / "birds" / name / "1.png"
        path.parent.mkdir(parents=True)
        path.write_bytes(drawn_bird(taxon_id, 1))
    return tmp_path / "birds"


def test_the_command_prints_csv_and_resumes_after_its_cost_limit(
    papers: Callable[..., Outcome], built_kb: Path, folders: Path, server: OpenAIServer
) -> None:
    command = ("species", folders, "--kb", built_kb)
    rows = list(csv.DictReader(io.StringIO(papers(*command, "--texts", "names", check=True).stdout)))
    assert {row["texts"] for row in rows} == {"names"} and {row["encoders"] for row in rows} == {"starter"}
    assert server.n_calls == 0
    stopped = papers(*command, "--readers", "--max-cost", "0.011")
    n_before = server.n_calls
    assert (stopped.exit_code, stopped.stdout) == (7, "") and 0 < n_before < 10
    done = papers(*command, "--readers", check=True)
    # The shipped facts have neither an article nor a first summary.
    assert "The context summary is left out" in done.stderr and "The context article is left out" in done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["preset"], row["reader_context"], row["reader_k"]) for row in rows[::2]] == [
        ("vr-rag-v1", "refined", "10"), (NO_RETRIEVAL, "", ""), ("direct-rag", "refined", "10"),
        ("vr-rag-v1", "chunks", "10"), ("vr-rag-v1", "refined", "5"), ("vr-rag-v1", "refined", "15"),
    ]  # fmt: skip
    assert [row["micro"] for row in rows if row["preset"] == NO_RETRIEVAL] == ["0.5", "0.5"]
    n_calls = server.n_calls
    assert n_calls == 10, "k of 5 and 15 show the same three birds as 10"
    assert papers(*command, "--readers", "--offline", check=True).stdout == done.stdout and server.n_calls == n_calls
    server.script = lambda _: Answer(text="<think>It is red, so", finish="length")
    (folders / "Bubo scandiacus" / "1.png").write_bytes(drawn_bird("bubo-scandiacus", 2))
    some = papers(*command, "--readers")
    assert some.exit_code == 7
    assert "vr-rag-v1, refined, k=10: The reader failed for 1 of 2 photos; they count as wrong" in some.stderr
