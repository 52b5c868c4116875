"""Markdown tables of the measures, and their common command-line options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click


def table(title: str, header: Sequence[str], rows: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a Markdown table under its title, with the names of `rows` in the first column."""
    return ["", f"## {title}", "", *markdown(header, [(name, *cells) for name, cells in rows.items()])]


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a Markdown table."""
    head, *body = ("".join(f"| {cell} " if cell != "" else "| " for cell in row) + "|" for row in (header, *rows))
    return [head, "|---" * len(header) + "|", *body]


def decimals(value: float) -> str:
    """Return a share with three decimals and no leading zero: `.123`."""
    return f"{value:.3f}".removeprefix("0")


def with_interval(value: float, low: float, high: float) -> str:
    """Return a share with its 95 % interval: `.123 (.100-.150)`."""
    return f"{decimals(value)} ({decimals(low)}-{decimals(high)})"


def study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options `--data` and `--work` to a command."""
    folder = click.Path(path_type=Path, exists=True, file_okay=False)
    command = click.option("--work", type=folder, required=True, help="Folder of the trained models.")(command)
    return click.option("--data", type=folder, required=True, help="Folder of photos.csv.")(command)
