"""Facts of the source files that the guards check; each file is read and parsed once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("data", "kb", "recognize", "rerank", "cli")
BESIDE = ("papers", "training", "benchmarks", "docs")
"""Code that is not in the wheel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function and its text, with the line above it."""

    name: str
    n_lines: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call: its dotted name, and its keywords with their constants (`...`: any other expression)."""

    line: int
    name: str
    keywords: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Facts of one file; imports also inside functions and under TYPE_CHECKING, as (dotted name, line)."""

    name: str
    text: str
    imports: tuple[tuple[str, int], ...]
    calls: tuple[Call, ...]
    functions: tuple[Function, ...]
    module_docstring: str
    docstrings: tuple[str, ...]
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
    """Return the facts of a file."""
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
            keywords = {word.arg: value_of(word.value) for word in node.keywords if word.arg}
            calls.append(Call(line=node.lineno, name=".".join(dotted(node.func)), keywords=keywords))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings.add(node.value)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            docstrings.append(ast.get_docstring(node) or "")
            if not isinstance(node, ast.ClassDef):
                first, last = node.lineno, node.end_lineno or node.lineno
                above = min([first, *(each.lineno for each in node.decorator_list)]) - 2
                text = "\n".join(lines[max(above, 0) : last])
                functions.append(Function(name=node.name, n_lines=last - first + 1, text=text))
    return Source(
        name=name,
        text=text,
        imports=tuple(imports),
        calls=tuple(calls),
        functions=tuple(functions),
        module_docstring=ast.get_docstring(tree) or "",
        docstrings=tuple(docstrings),
        strings=frozenset(strings),
    )


def value_of(node: ast.expr) -> object:
    """Return a constant, or `...`."""
    return node.value if isinstance(node, ast.Constant) else ...


def dotted(node: ast.expr) -> Iterator[str]:
    """Yield the parts of a dotted name; other expressions have an empty part."""
    if isinstance(node, ast.Attribute):
        yield from dotted(node.value)
        yield node.attr
    else:
        yield node.id if isinstance(node, ast.Name) else ""
