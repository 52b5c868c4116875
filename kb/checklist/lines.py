"""Lines of a table with any line ends, and quoted cells that span several of them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import islice
from typing import BinaryIO, cast

HEAD_BYTES = 2**16
CHUNK_BYTES = 2**16
MAX_SPAN = 20  # lines of one cell

Line = tuple[int, str]
"""Number and text."""


def raw_lines(stream: BinaryIO, max_bytes: int) -> Iterator[bytes]:
    """Yield the lines of a file, of at most `max_bytes` + 1 each; they may end with a carriage return alone."""
    head = cast(io.BufferedReader, stream).peek(HEAD_BYTES)
    if b"\n" in head or b"\r" not in head[:-1]:
        while line := stream.readline(max_bytes + 1):
            yield line
        return
    rest = b""
    while chunk := stream.read(CHUNK_BYTES):
        *lines, rest = (rest + chunk).split(b"\r")
        yield from (line.removeprefix(b"\n") + b"\n" for line in lines)
        if len(rest) > max_bytes:
            yield rest
            return
    if rest:
        yield rest


def split_rows(lines: Iterator[Line], delimiter: str, warn: Callable[[int], None]) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row of a table without quotes around cells, as most tables with tabs are.

    A quotation mark that opens a cell and is closed on a later line joins the lines, if the row then has as many cells
    as the first one. `warn` gets the lines of other rows with an open quotation mark.
    """
    n_cells = 0
    ahead: list[Line] = []
    while True:
        number, line = ahead.pop(0) if ahead else next(lines, (0, ""))
        if not number:
            return
        if not line.strip():
            continue
        cells = line.rstrip("\r\n").split(delimiter)
        n_cells = n_cells or len(cells)
        if '"' in line:
            if len(cells) <= n_cells and any(_is_open(cell) for cell in cells):
                ahead += islice(lines, MAX_SPAN - len(ahead))
                joined = _joined(cells, ahead, delimiter, n_cells)
                if joined is None:
                    warn(number)
                else:
                    cells, n_used = joined
                    del ahead[:n_used]
            cells = [_unquoted(cell) for cell in cells]
        yield number, cells


def _joined(cells: list[str], ahead: list[Line], delimiter: str, n_cells: int) -> tuple[list[str], int] | None:
    """Return the cells of a row with its further lines, and their number."""
    found = cells
    for n, (_, line) in enumerate(ahead, 1):
        first, *others = line.rstrip("\r\n").split(delimiter)
        found = [*found[:-1], f"{found[-1]} {first}", *others]
        if len(found) == n_cells and not any(_is_open(cell) for cell in found):
            return found, n
        if len(found) > n_cells or not _is_open(found[len(cells) - 1]):
            return None
    return None


def _is_open(cell: str) -> bool:
    return cell.startswith('"') and cell.count('"') % 2 == 1


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell
