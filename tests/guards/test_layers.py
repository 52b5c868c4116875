"""Imports point one way: cli -> {kb, recognize, rerank} -> data; exchangeable libraries are imported in one place."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {
    "data": {"data"},
    "kb": {"kb", "data"},
    "recognize": {"recognize", "data"},
    "rerank": {"rerank", "data"},
    "cli": {"cli", "kb", "recognize", "rerank", "data"},
    "training": {"training", "kb", "recognize", "data"},
}
MODULES = sorted(path for package in ALLOWED for path in (ROOT / package).rglob("*.py"))

# A library that could be replaced is imported in one module or package, and where it is compared with; no signature has
# its types.
DOORS = {
    "chromadb": {"kb/store/chroma/", "cli/verbs/bench/peers.py"},  # the latter compares with a bare Chroma
    "openai": {"kb/endpoints/openai_client.py"},
    "wikipediaapi": {"kb/sources/mediawiki/client/wiki_client.py"},
    "ray": {"data/engines/ray_team.py"},
    "birdnames": set(),  # its tables are read, the package is not imported
}
# Training code is run by hand and may import any library.
FREE = ("training/",)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def imported(path: Path) -> tuple[tuple[str, int], ...]:
    """Return `(dotted module, line)` of every import, also inside functions and under TYPE_CHECKING."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno} imports relatively; we write the whole name"
            found.append((str(node.module), node.lineno))
    return tuple(found)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_imports_only_lower_layers(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    wrong = [
        f"line {line}: {module}"
        for module, line in imported(path)
        if (top := module.split(".")[0]) in ALLOWED and top not in ALLOWED[package]
    ]
    assert wrong == []


@pytest.mark.parametrize("library", DOORS)
def test_a_replaceable_library_is_imported_in_one_place(library: str) -> None:
    importers = {
        name_of(path)
        for path in MODULES
        if not name_of(path).startswith(FREE) and any(module.split(".")[0] == library for module, _ in imported(path))
    }
    assert {name for name in importers if not name.startswith(tuple(DOORS[library]))} == set()


def test_torch_is_imported_only_by_encoders() -> None:
    importers = {
        name_of(path)
        for path in MODULES
        for module, _ in imported(path)
        if module.split(".")[0] in {"torch", "open_clip", "timm", "sentence_transformers", "transformers"}
    }
    outside = {name for name in importers if not name.startswith(("recognize/encoders/", *FREE))}
    assert outside == set()


def test_test_folders_are_not_packages() -> None:
    """`tests/kb/__init__.py` would make `import kb` find the tests."""
    assert sorted(name_of(path) for path in (ROOT / "tests").rglob("__init__.py")) == []


def test_no_module_calls_print() -> None:
    """Output goes through `cli.common.output`; a stray print would break `--format json`."""
    printing = {
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        if not name_of(path).startswith(FREE)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert printing == set()
