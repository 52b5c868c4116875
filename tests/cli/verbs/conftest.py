"""A knowledge base built from a folder of articles."""

import re
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kb.store.ledger import Ledger
from tests.made_once import made_once


def write_bird(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "article.txt").write_text(text)


def fields(text: str) -> dict[str, str]:
    """Return the `name  value` lines of a report."""
    return dict(line for line in (re.split(r"\s{2,}", row, maxsplit=1) for row in text.splitlines()) if len(line) == 2)


def build_folder(articles: Path, path: Path) -> None:
    """Build a knowledge base of the species that have a folder in `articles`."""
    import kb
    import recognize
    from kb.checklist.avilist import load_checklist
    from kb.sources.folder import FolderSource

    taxa = [taxon for folder in sorted(articles.iterdir()) if (taxon := load_checklist().find(folder.name)) is not None]
    kb.build(path, taxa, FolderSource(articles), recognize.load_encoders("starter"))


@pytest.fixture(scope="module")
def built_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `birds` of two birds, and `my.kb` built from it; tests copy it."""

    def make(root: Path) -> None:
        write_bird(root / "birds", "Snowy Owl", "It has white plumage with dark bars and yellow eyes.")
        write_bird(root / "birds", "Blue Jay", "It has a blue crest and white underparts.")
        build_folder(root / "birds", root / "my.kb")

    return made_once(tmp_path_factory, "folder", make)


@pytest.fixture
def folder_kb(cli: Any, built_folder: Path, tmp_path: Path) -> str:
    """A copy of that knowledge base in the working folder."""
    shutil.copytree(built_folder / "my.kb", tmp_path / "my.kb")
    return "my.kb"


ARTICLE = """## Description

The male has a green head, a yellow bill and a grey body. The female is mottled brown with an orange bill.
It is 50 to 65 cm long.
"""


@pytest.fixture(scope="session")
def built_mallard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(root: Path) -> None:
        write_bird(root / "notes", "Mallard", ARTICLE)
        build_folder(root / "notes", root / "mallard.kb")

    return made_once(tmp_path_factory, "mallard", make) / "mallard.kb"


@pytest.fixture
def mallard(cli: Any, built_mallard: Path, tmp_path: Path) -> Path:
    """A knowledge base of one species, built from a folder of articles."""
    return shutil.copytree(built_mallard, tmp_path / "mallard.kb")


def replace_in_summaries(kb: Path, old: str, new: str) -> Path:
    """Replace text in the summaries without running a distiller."""
    with closing(Ledger(kb / "ledger.sqlite")) as ledger, ledger.transaction():
        ledger.publish([entry._replace(record=entry.record.replace(old, new)) for entry in ledger.entries()])
    return kb


@pytest.fixture
def faulty_kb(mallard: Path) -> Path:
    """The same, with a colour in its summary that the article does not mention."""
    return replace_in_summaries(mallard, "a green head", "a purple head")
