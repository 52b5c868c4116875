"""Plain English: noun phrases and verbs in docstrings, and no convoluted phrases."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("data", "kb", "recognize", "rerank", "cli", "training", "benchmarks", "docs", "tests")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if "generated" not in page.parts)]
CLAUSE = re.compile(r"(What|How|Which|Who|Whom|Whose)\b")
MODULE_CLAUSE = re.compile(r"(What|How|Which|Who|Whom|Whose|Whether|Where|When)\b")
CONVOLUTED = re.compile(
    r"\b(those that|of what|as it is|whom|passed over|what was|whose is|one of what|the like|may be so)\b",
    re.IGNORECASE,
)
# English words in lists, this file itself, and a line of a prompt.
EXEMPT = {
    "tests/guards/test_plain_english.py",
    "tests/cli/verbs/rerank/test_settings.py",
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def words_of(source: str) -> list[str]:
    """Return the comments and strings of a module, each in one line."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [" ".join(token.string.split()) for token in tokens if token.type in kinds]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_docstring_opens_with_a_noun_or_a_verb(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not MODULE_CLAUSE.match(ast.get_docstring(tree) or "")
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    opened = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented)]
    assert [text.splitlines()[0] for text in opened if CLAUSE.match(text)] == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_comments_and_strings_have_no_convoluted_phrases(path: Path) -> None:
    if name_of(path) not in EXEMPT:
        assert [text for text in words_of(path.read_text(encoding="utf-8")) if CONVOLUTED.search(text)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_no_convoluted_phrases(page: Path) -> None:
    assert CONVOLUTED.findall(page.read_text(encoding="utf-8")) == []
