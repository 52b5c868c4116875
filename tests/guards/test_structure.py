"""Structure of the packages: no import cycles between modules or folders, and small folders."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("data", "kb", "recognize", "rerank", "cli", "training")
FOLDERS = sorted(file.parent for package in PACKAGES for file in (ROOT / package).rglob("__init__.py"))
MOST_FILES = 16  # without `__init__.py`


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def modules() -> dict[str, Path]:
    """Return dotted name -> file of all modules; packages have the names of their folders."""
    found = {}
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            parts = file.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@cache
def imports() -> dict[str, set[str]]:
    """Return module -> modules of ours that it imports, also inside functions and under TYPE_CHECKING."""
    ours = modules()
    edges: dict[str, set[str]] = {}
    for name, file in ours.items():
        found: set[str] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    found.add(whole if whole in ours else str(node.module))
        edges[name] = (found & set(ours)) - {name}
    return edges


def cycle(edges: Mapping[str, set[str]]) -> list[str]:
    """Return the nodes of a cycle, or an empty list."""
    done: set[str] = set()
    for start in sorted(edges):
        path, stack = [], [(start, iter(sorted(edges.get(start, ()))))]
        on_path = {start}
        path.append(start)
        while stack:
            node, rest = stack[-1]
            following = next((n for n in rest if n not in done), None)
            if following is None:
                stack.pop()
                path.pop()
                on_path.discard(node)
                done.add(node)
            elif following in on_path:
                return [*path[path.index(following) :], following]
            else:
                on_path.add(following)
                path.append(following)
                stack.append((following, iter(sorted(edges.get(following, ())))))
    return []


def test_the_search_finds_a_cycle() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_modules_have_no_import_cycle() -> None:
    assert cycle(imports()) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_a_folder_has_no_cycle_between_its_parts(folder: Path) -> None:
    """Within a folder each file counts by itself, and each folder as one."""
    prefix = name_of(folder).replace("/", ".") + "."
    depth = prefix.count(".")
    between: dict[str, set[str]] = defaultdict(set)
    for module, imported in imports().items():
        if module.startswith(prefix):
            part = module.split(".")[depth]
            between[part] |= {name.split(".")[depth] for name in imported if name.startswith(prefix)} - {part}
    assert cycle(between) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_a_folder_has_few_modules(folder: Path) -> None:
    files = [file.name for file in folder.glob("*.py") if file.name != "__init__.py"]
    has_folders = any(each.is_dir() and (each / "__init__.py").exists() for each in folder.iterdir())
    assert has_folders or len(files) <= MOST_FILES


def test_pytest_collects_every_test_folder(pytestconfig: pytest.Config) -> None:
    skipped = pytestconfig.getini("norecursedirs")
    folders = {folder.name for folder in (ROOT / "tests").rglob("*") if folder.is_dir() and folder.name[0] != "."}
    assert {name for name in folders if any(fnmatch(name, pattern) for pattern in skipped)} == set()
