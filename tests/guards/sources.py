"""Facts of the source files that the guards check; each file is read and parsed once."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("data", "kb", "recognize", "rerank", "cli")
BESIDE = ("papers", "training", "benchmarks", "docs")  # code that is not in the wheel


class Function(NamedTuple):
    """A function and its text, with the line above it."""

    name: str
    n_lines: int
    text: str


class Call(NamedTuple):
    """A call: its dotted name, and its keywords with their constants (`...`: any other expression)."""

    line: int
    name: str
    keywords: dict[str, object]


class Source(NamedTuple):
    """Facts of one file; imports also inside functions and under TYPE_CHECKING, as (dotted name, line)."""

    name: str
    text: str
    imports: list[tuple[str, int]]
    calls: list[Call]
    functions: list[Function]
    module_docstring: str
    docstrings: list[str]
    strings: frozenset[str]

    @property
    def package(self) -> str:
        """Top folder."""
        return self.name.partition("/")[0]

    @property
    def module(self) -> str:
        """Dotted name; that of a package is its folder's."""
        return self.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Return the facts of all Python files in top folders."""
    if len(folders) > 1:
        return tuple(source for folder in folders for source in sources(folder))
    return tuple(read(path) for path in sorted((ROOT / folders[0]).rglob("*.py")))


def read(path: Path) -> Source:
    return facts_of(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def facts_of(name: str, text: str) -> Source:
    """Return the facts of Python source in one walk of its tree."""
    tree, lines = ast.parse(text), text.splitlines()
    imports: list[tuple[str, int]] = []
    calls, functions, docstrings, strings = [], [], [], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
        elif isinstance(node, ast.Call):
            keywords = {word.arg: word.value.value if isinstance(word.value, ast.Constant) else ...
                        for word in node.keywords if word.arg}  # fmt: skip
            calls.append(Call(node.lineno, dotted(node.func), keywords))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings.add(node.value)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            docstrings.append(ast.get_docstring(node) or "")
            if not isinstance(node, ast.ClassDef):
                first, last = node.lineno, node.end_lineno or node.lineno
                above = min([first, *(each.lineno for each in node.decorator_list)]) - 2
                functions.append(Function(node.name, last - first + 1, "\n".join(lines[max(above, 0) : last])))
    module_docstring = ast.get_docstring(tree) or ""
    return Source(name, text, imports, calls, functions, module_docstring, docstrings, frozenset(strings))


def dotted(node: ast.expr) -> str:
    """Return a dotted name; other expressions have an empty part."""
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else getattr(node, "id", "")
