"""Markdown tables of the measures, and the command-line options that name their input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click


def table(title: str, header: Sequence[str], rows: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a Markdown table under its title, with the names of `rows` in the first column."""
    body = [row_of(header), "|---" * len(header) + "|", *(row_of((name, *cells)) for name, cells in rows.items())]
    return ["", f"## {title}", "", *body]


def row_of(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"


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
