"""Orders in files, pages, photos and names, through the commands that show them to a model: each attack in each.

Every test ends with an order of the user's own prompt or query, which is obeyed: without it, the rest shows nothing.
"""

import html
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import kb
from kb.checklist.avilist import load_checklist
from kb.distill.claims import SCHEMA
from tests.conftest import CommandLine, Outcome
from tests.drawn_birds import drawn_bird
from tests.security.conftest import Model, Obeying
from tests.security.obedient_model import ATTACKS, MARK, ORDER, as_read, obedient
from tests.security.test_prompt_blocks import ALL, LOOKS, STRIPES, jay, labels, repeat
from tests.servers.openai_server import Call, Reaction, Script
from tests.servers.ugly_site import Reply, UglySite

ROOT = Path(__file__).parents[2]
FILE_NAMES = tuple(f"{n} {attack.replace('/', '∕')}" for n, attack in enumerate((*ATTACKS[1:4], ATTACKS[-2])))


def rows(outcome: Outcome) -> list[dict[str, Any]]:
    return [json.loads(line) for line in outcome.stdout.split("\n") if line.startswith("{")]


def commanding(package: str, name: str, folder: Path) -> Path:
    """Copy a prompt to a folder, with the order at its end: as the user's own prompt, which is obeyed."""
    folder.mkdir(exist_ok=True)
    prompt = shutil.copy(ROOT / package / "prompts" / name, folder)
    with Path(prompt).open("a", encoding="utf-8") as file:
        file.write(f"\n{ORDER}\n")
    return folder


def as_page(title: str, heading: str, text: str) -> str:
    title, heading, text = map(html.escape, (title, heading, text))
    return f"<html lang=en><title>{title}</title><main><h1>{title}</h1><h2>{heading}</h2><p>{text}</p></main></html>"


def add(cli: CommandLine, name: str, drawing: str, text: str, file_name: str, *more: str) -> None:
    words, photo = cli.folder / f"{file_name}.txt", cli.folder / f"{file_name}.png"
    words.write_text(text)
    photo.write_bytes(drawn_bird(drawing))
    given = ("--text", words, "--photo", photo, "--as-is", *more)
    cli.call("add", "--kb", "a.kb", "--name", name, *given, check=True)


def test_added_texts_names_and_photos(cli: CommandLine, run: Obeying, model: Model) -> None:
    add(cli, "Blue Jay", "cyanocitta-cristata", "Blue above with a crest.", "Blue Jay")
    add(cli, "Northern Cardinal", "cardinalis-cardinalis", "Red with a black mask.", "Northern Cardinal")
    for file_name in FILE_NAMES[::3]:
        text = f"It is white with a black bill. {file_name} {ALL}"
        more = ("--common-name", f"Snowy Owl {file_name}", "--author", ORDER, "--licence", ORDER)
        add(cli, "Bubo scandiacus", "bubo-scandiacus", text, file_name, *more)
    photo = cli.folder / f"{ORDER}.png"
    photo.write_bytes(drawn_bird("cyanocitta-cristata"))

    zebra = json.dumps({"reason": "zebra", "answer": "none"})
    identify = ("identify", photo, "--kb", "a.kb", "--reader", "--format", "jsonl")
    (row,) = rows(run(obedient(jay, zebra), *identify, check=True))
    assert row["reader"]["choice"] == "cyanocitta-cristata"
    assert sorted(each["scientific_name"] for each in row["candidates"]) == [
        "Bubo scandiacus", "Cardinalis cardinalis", "Cyanocitta cristata",
    ]  # fmt: skip
    assert any(MARK in as_read(call.text) for call in model.calls)
    for call in model.calls:
        assert labels(call) == (["A. ", "B. ", "C. "], ["A", "B", "C", "none"])
    own = commanding("recognize", "read_photo.md", cli.folder / "own")
    (row,) = rows(run(obedient(jay, zebra), *identify, "--set", f"prompts={own}"))
    assert row["reader"]["choice"] is None

    def write(call: Call) -> str:
        place = re.search(r"^\[(\d+)\].*white with a black bill", call.text, re.MULTILINE)
        assert place is not None
        return json.dumps({"sentences": [{"text": "It is white with a black bill.", "sources": [int(place[1])]}]})

    zebra = json.dumps({"sentences": [{"text": "Black.", "sources": [1]}]})
    context = ("context", "Bubo scandiacus", "--kb", "a.kb", "--format", "json")
    found = json.loads(run(obedient(write, zebra), *context, check=True).stdout)
    assert found["passage"].startswith("It is white with a black bill.")
    assert MARK in as_read(model.calls[0].text)
    own = commanding("kb", "context.md", cli.folder / "own")
    found = json.loads(run(obedient(write, zebra), *context, "--set", f"prompts={own}", check=True).stdout)
    assert "It is white with a black bill." not in found["passage"][:31]


def test_web_pages_for_the_distiller(cli: CommandLine, run: Obeying, model: Model) -> None:
    """A page with an order for each bird but the last."""
    checklist = load_checklist()
    birds = [
        taxon.scientific_name for name in ("Anas", "Larus") for taxon in checklist.species_of(checklist.find(name))
    ]
    with UglySite().running() as site:
        lines = []
        for n, (name, attack) in enumerate(zip(birds, (*ATTACKS, ""), strict=False)):
            body = as_page(f"{name} {attack}", f"Description {attack}", f"{LOOKS} It sings. {attack}")
            site.pages[f"/{n}"] = Reply(body=body)
            lines.append(f"{name},{site.url(f'/{n}')}")
        (cli.folder / "pages.csv").write_text("\n".join(lines))
        build = ("build", "--pages", "pages.csv", "--distiller", "model", "--kb")
        run(obedient(repeat, STRIPES), *build, "a.kb", check=True)
        assert len(model.calls) == len(ATTACKS) + 1
        assert sum(MARK in as_read(call.text) for call in model.calls) == len(ATTACKS) - 2  # invisible letters
        assert all(call.payload["response_format"]["json_schema"]["schema"] == SCHEMA for call in model.calls)
        with kb.open("a.kb") as store:
            assert [text[: len(LOOKS)] for text in store.summary_texts()] == [LOOKS] * len(model.calls)
        own = commanding("kb", "distil.md", cli.folder / "own")
        assert run(obedient(repeat, STRIPES), *build, "b.kb", "--set", f"prompts={own}").exit_code != 0


QUESTIONS = ["What colour is the bird?", "Where does it sit?", "What does it hold?"]
QUERY = "a red bird on a branch"
GROUPS = tuple("\n".join(ATTACKS[n::4]) for n in range(4))
HONEST = ("a red bird on a branch", "a blue bird in snow", "a green bird on a post")


@pytest.fixture
def photos(cli: CommandLine) -> Path:
    """Photos of one grey each, with an order as name and one in letters each; the last three show none."""
    folder = cli.folder / "photos"
    folder.mkdir()
    for n, name in enumerate((*FILE_NAMES, *(f"{ORDER} {n}" for n in range(3)))):
        Image.new("RGB", (40, 40), (n * 30,) * 3).save(folder / f"{name}.png")
    return folder


def seeing(*, letters: bool) -> Script:
    """A model that quotes the letters that it sees in a photo, in captions and answers."""

    def react(call: Call) -> Reaction:
        if not call.images:
            is_visa = "key phrases" in call.text
            return json.dumps({"phrases": ["red bird"], "questions": QUESTIONS}) if is_visa else "A red bird."
        with Image.open(io.BytesIO(call.images[0])) as opened:
            n = round(opened.convert("L").getpixel((20, 20)) / 30)
        if n >= len(GROUPS):
            return HONEST[n - len(GROUPS)]
        return f"a grey bird {GROUPS[n]}" if letters else "a grey bird"

    return obedient(react, json.dumps({"phrases": ["zebra"], "questions": ["Zebra?", "Is it a zebra?", "A zebra?"]}))


def harmless(found: list[dict[str, Any]]) -> list[Any]:
    """Return the rows of the photos without letters, but for rank and cost."""
    told = [row for row in found if any(text in (row["evaluation"] or "") for text in HONEST)]
    return [(row["image_id"], row["score"], row["status"], row["evaluation"], row.get("questions")) for row in told]


def test_letters_and_names_of_photos_change_their_own_row_alone(run: Obeying, model: Model, photos: Path) -> None:
    def jobs(query: str) -> str:
        candidates = [
            {"image_id": f"{ORDER} {n}", "path": str(path), "score": -n}
            for n, path in enumerate(sorted(photos.iterdir()))
        ]
        file = photos.parent / "jobs.jsonl"
        file.write_text(json.dumps({"query_id": ORDER, "text": query, "candidates": candidates}))
        return str(file)

    def check_calls() -> None:
        sent = [as_read(json.dumps(call.payload, ensure_ascii=False)) for call in model.calls]
        assert sent and not any(MARK in text for text in sent)

    more = ("--format", "jsonl", "--set", "captions.first_stage=false")
    for method in ("visa", "captions"):
        command = ("rerank", jobs(QUERY), "--method", method, *more)
        wanted, found = (rows(run(seeing(letters=letters), *command, check=True)) for letters in (False, True))
        assert len(harmless(wanted)) == len(HONEST)
        assert harmless(found) == harmless(wanted)
        assert sorted(row["image_id"] for row in found) == sorted(row["image_id"] for row in wanted)
        asked = {answer["question"] for row in found for answer in row["questions"]}
        assert asked == set(QUESTIONS if method == "visa" else ())
        check_calls()
    for method in ("captions", "visret", "rewrite"):
        command = ("find", QUERY, "--images", photos, "--method", method, "--format", "jsonl", "--top", "99")
        wanted, found = (rows(run(seeing(letters=letters), *command)) for letters in (False, True))
        assert len(found) == len(wanted) == len(GROUPS) + len(HONEST) and harmless(found) == harmless(wanted)
        check_calls()
    found = rows(run(seeing(letters=False), "rerank", jobs(ORDER), "--method", "visa", *more))
    assert "Is it a zebra?" in {answer["question"] for row in found for answer in row["questions"]}
