"""A small, real MediaWiki that a test may edit, with pages of birds in our own words and drawn photos."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from PIL import Image, ImageDraw

from tests.servers.free_port import free_port

# English name as the wiki titles it, scientific name, colours.
BIRDS = (
    ("Common blackbird", "Turdus merula", "black", "yellow"),
    ("European robin", "Erithacus rubecula", "brown", "orange"),
    ("Blue jay", "Cyanocitta cristata", "blue", "white"),
    ("Northern cardinal", "Cardinalis cardinalis", "red", "black"),
    ("Snowy owl", "Bubo scandiacus", "white", "grey"),
    ("Common raven", "Corvus corax", "black", "purple"),
    ("House sparrow", "Passer domesticus", "brown", "grey"),
    ("Great tit", "Parus major", "yellow", "black"),
)


def page_text(name: str, binomial: str, first: str, second: str, *, more: str = "") -> str:
    """Return the wikitext of a bird."""
    file = f"{name}.jpg"
    return (
        f"[[File:{file}|thumb|An adult]]\n'''{name}''' (''{binomial}'') is a species of bird in its family.\n\n"
        f"== Description ==\nThe upperparts are {first} and the throat is {second} with fine dark streaks. "
        f"The bill is {second} and the legs are {first}. {more}\n\n== Voice ==\nIt sings loudly at dawn.\n"
    )


def drawing(path: Path, colour: str, *, size: int = 90) -> Path:
    """Draw a bird of a colour, and return the file."""
    image = Image.new("RGB", (320, 240), "lightgreen")
    ImageDraw.Draw(image).ellipse((160 - size, 120 - size // 2, 160 + size, 120 + size // 2), fill=colour)
    image.save(path, "JPEG", quality=90)
    return path


class OwnWiki:
    """A running wiki at `api_url`, with the actions of an editor."""

    def __init__(self, base: str, state: Path) -> None:
        self.api_url = f"{base}/api.php"
        self.state = state
        self._http = httpx.Client(timeout=60)
        token = self._ask(action="query", meta="tokens", type="login")["query"]["tokens"]["logintoken"]
        self._post(action="login", lgname="admin", lgpassword="Local-wiki-0", lgtoken=token)

    def close(self) -> None:
        self._http.close()

    def edit(self, title: str, text: str) -> None:
        token = self._ask(action="query", meta="tokens")["query"]["tokens"]["csrftoken"]
        answer = self._post(token=token, action="edit", title=title, text=text)
        assert "error" not in answer, answer

    def configure(self, line: str, shows: Callable[[Any], bool]) -> None:
        """Add a line to the settings, and wait until answers to strangers show it."""
        settings, n_new = self.state / "LocalSettings.php", 0
        settings.write_text(f"{settings.read_text()}\n{line}\n")
        while n_new < 30:  # workers read the changed settings after some seconds, each in its own time
            asked = {"action": "query", "meta": "siteinfo", "format": "json"}
            answer = httpx.get(self.api_url, params=asked, timeout=120).json()  # texts may be made anew
            n_new = n_new + 1 if shows(answer) else 0
            time.sleep(0.1)

    def _ask(self, **fields: str) -> Any:
        return self._http.get(self.api_url, params={"format": "json", "formatversion": "2", **fields}).json()

    def _post(self, **fields: str) -> Any:
        return self._http.post(self.api_url, data={"format": "json", **fields}).json()


@contextmanager
def running(
    tools: Path,
    folder: Path,
    *,
    birds: Sequence[tuple[str, str, str, str]] = BIRDS,
    more: Mapping[str, str] | None = None,
) -> Iterator[OwnWiki]:
    """Start a wiki with the tool at `tools`, with further pages (title -> wikitext), and stop it at the end."""
    photos = folder / "photos"
    photos.mkdir()
    pages = [{"title": name, "wikitext": page_text(name, *rest)} for name, *rest in birds]
    pages += [{"title": title, "wikitext": text} for title, text in (more or {}).items()]
    (folder / "pages.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    notes = {}
    for name, _, colour, _ in birds:
        drawing(photos / f"{name}.jpg", colour)
        notes[f"{name}.jpg"] = {
            "LicenseShortName": "CC BY-SA 4.0",
            "LicenseUrl": "https://creativecommons.org/licenses/by-sa/4.0",
            "Artist": "A. Painter",
        }
    (photos / "photos.json").write_text(json.dumps(notes))
    with started(tools, folder) as base:
        wiki = OwnWiki(base, folder / "state")
        try:
            yield wiki
        finally:
            wiki.close()


@contextmanager
def started(tools: Path, folder: Path) -> Iterator[str]:
    """Start a wiki with the pages and photos in a folder, yield its address, and stop it at the end."""
    command, state = [sys.executable, tools / "local_wiki.py"], folder / "state"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FIELDMARK_")}
    port, log = str(free_port()), folder / "start.log"
    with log.open("w") as out:  # a file, not a pipe: the server inherits it and would keep a pipe open
        subprocess.run(
            [*command, "start", "--state", state, "--port", port,
             "--pages", folder / "pages.jsonl", "--photos", folder / "photos"],
            check=True, stdout=out, stderr=subprocess.STDOUT, timeout=600, env=environment,
        )  # fmt: skip
    try:
        yield log.read_text().strip().splitlines()[-1].rstrip("/")
    finally:
        subprocess.run([*command, "stop", "--state", state], check=False, capture_output=True, timeout=60)
