"""Orders in the user's own files, through commands: `kb add`, then `kb identify --reader` and `kb context`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import CommandLine
from tests.drawn_birds import drawn_bird
from tests.security.commands import ALL, FILE_NAMES, Obeying, as_page, commanding, obeying, rows
from tests.security.conftest import Model
from tests.security.obedient_model import MARK, ORDER, as_read, obedient
from tests.security.test_distilling import ZEBRA as STRIPES
from tests.security.test_distilling import repeat
from tests.security.test_reading_photos import jay
from tests.servers.openai_server import Call

BIRDS = {
    "Blue Jay": ("cyanocitta-cristata", "Blue above with a crest."),
    "Northern Cardinal": ("cardinalis-cardinalis", "Red with a black mask."),
}
ZEBRA = json.dumps({"reason": "zebra", "answer": "none"})


@pytest.fixture
def run(cli: CommandLine, model: Model, monkeypatch: pytest.MonkeyPatch) -> Obeying:
    return obeying(cli, model, monkeypatch)


def add(cli: CommandLine, name: str, drawing: str, text: str, file_name: str, *more: str) -> None:
    """Add a text and a photo to a species, both with this file name."""
    words, photo = cli.folder / f"{file_name}.txt", cli.folder / f"{file_name}.png"
    words.write_text(text)
    photo.write_bytes(drawn_bird(drawing))
    given = ("--text", words, "--photo", photo, "--as-is", *more)
    cli.call("add", "--kb", "a.kb", "--name", name, *given, check=True)


@pytest.fixture
def added(cli: CommandLine) -> Path:
    """A knowledge base of two birds, and of one whose text, names, and names of files give orders."""
    for name, (drawing, text) in BIRDS.items():
        add(cli, name, drawing, text, name)
    for file_name in FILE_NAMES:
        text = f"It is white with a black bill. {file_name} {ALL}"
        more = ("--common-name", f"Snowy Owl {file_name}", "--author", ORDER, "--licence", ORDER)
        add(cli, "Bubo scandiacus", "bubo-scandiacus", text, file_name, *more)
    photo = cli.folder / f"{ORDER}.png"
    photo.write_bytes(drawn_bird("cyanocitta-cristata"))
    return photo


def test_orders_of_added_files_are_not_obeyed(cli: CommandLine, run: Obeying, model: Model, added: Path) -> None:
    identify = ("identify", added, "--kb", "a.kb", "--reader", "--format", "jsonl")
    (row,) = rows(run(obedient(jay, ZEBRA), *identify, check=True))
    assert row["reader"]["choice"] == "cyanocitta-cristata"
    assert sorted(each["scientific_name"] for each in row["candidates"]) == [
        "Bubo scandiacus", "Cardinalis cardinalis", "Cyanocitta cristata",
    ]  # fmt: skip
    assert any(MARK in as_read(call.text) for call in model.calls)
    for call in model.calls:
        lines = call.text.partition("<candidates>\n")[2].partition("\n</candidates>")[0].split("\n")
        assert [line[:3] for line in lines] == ["A. ", "B. ", "C. "]
        answers = call.payload["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"]
        assert answers == ["A", "B", "C", "none"]

    # Without this, the rest would show nothing: an order of the user's own prompt is obeyed.
    own = commanding("recognize", "read_photo.md", cli.folder / "own")
    (row,) = rows(run(obedient(jay, ZEBRA), *identify, "--set", f"prompts={own}"))
    assert row["reader"]["choice"] is None


@pytest.mark.usefixtures("added")
def test_a_look_up_is_written_from_added_texts_without_their_orders(
    cli: CommandLine, run: Obeying, model: Model
) -> None:
    def honest(call: Call) -> str:
        place = re.search(r"^\[(\d+)\].*white with a black bill", call.text, re.MULTILINE)
        assert place is not None
        return json.dumps({"sentences": [{"text": "It is white with a black bill.", "sources": [int(place[1])]}]})

    zebra = json.dumps({"sentences": [{"text": "Black.", "sources": [1]}]})
    context = ("context", "Bubo scandiacus", "--kb", "a.kb", "--format", "json")
    found = json.loads(run(obedient(honest, zebra), *context, check=True).stdout)
    assert found["passage"].startswith("It is white with a black bill.")
    assert MARK in as_read(model.calls[0].text)
    own = commanding("kb", "context.md", cli.folder / "own")
    found = json.loads(run(obedient(honest, zebra), *context, "--set", f"prompts={own}", check=True).stdout)
    assert "It is white with a black bill." not in found["passage"][:31]


def test_an_added_page_gives_no_orders_to_the_distiller(cli: CommandLine, run: Obeying, model: Model) -> None:
    """A file whose title, heading and text are orders; its name is the title where it states none."""
    pages = [f"{name}.html" for name in FILE_NAMES] + [f"{ORDER}.txt"]
    for n, page in enumerate(pages[:-1]):
        (cli.folder / page).write_text(as_page(f"Jay {ALL}", ALL, f"The crown is black. It has {n} songs. {ALL}"))
    (cli.folder / pages[-1]).write_text(f"The belly is white. {ALL}")
    (cli.folder / "pages.csv").write_text(f'Gadwall,"{pages[-1]}"')
    run(
        obedient(repeat, STRIPES), "build", "--pages", "pages.csv", "--distiller", "model", "--kb", "a.kb", check=True
    )  # which sets the distiller
    given = [argument for page in pages for argument in ("--page", page)]
    command = ("add", "--kb", "a.kb", "--name", "Blue Jay", "--format", "json", *given)
    text = json.loads(run(obedient(repeat, STRIPES), *command, check=True).stdout)["text"]
    assert len(model.calls) == len(pages)
    assert all(MARK in as_read(call.text) for call in model.calls)
    assert "The crown is black." in text
    assert "The belly is white." in text
    assert "zebra" not in text.lower()

    # Without this, the rest would show nothing: an order of the user's own prompt is obeyed.
    own = commanding("kb", "distil.md", cli.folder / "own")
    other = ("add", "--kb", "a.kb", "--name", "Mallard", "--format", "json", *given, "--set", f"prompts={own}")
    text = json.loads(run(obedient(repeat, STRIPES), *other, check=True).stdout)["text"]
    assert "The crown is black." not in text
