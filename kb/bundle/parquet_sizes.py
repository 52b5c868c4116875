"""Bytes that the pages of a Parquet file say they unpack to, read without trust in its footer.

A reader takes as much memory as the header of each page states, whatever the footer says of it, and pyarrow aborts the
process at some footers. So footer and headers are read here: structs of Thrift's compact protocol, as field -> value.

Source: parquet.thrift of the Parquet format; Thrift's specification of the compact protocol.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

MAX_FOOTER_BYTES: Final = 1 << 24
MAX_HEADER_BYTES: Final = 1 << 16  # of a page; its statistics may hold the least and the greatest text
MOST_HEADERS_BYTES: Final = 1 << 10  # more are read where these are too few: a table may have a million pages
_END: Final = 8  # the length of the footer, and a mark
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_DEEPEST: Final = 16
# Fields of FileMetaData, RowGroup, ColumnChunk, ColumnMetaData and PageHeader.
_GROUPS, _COLUMNS, _ABOUT, _N_VALUES, _PACKED_BYTES, _DATA_AT, _DICTIONARY_AT = 4, 1, 3, 5, 7, 9, 11
_PAGE_UNPACKED, _PAGE_PACKED, _KIND, _TEXT = 2, 3, 1, 6
_PAGES_OF_VALUES: Final = (5, 8)  # fields of both versions


def bytes_of_groups(path: Path) -> list[int]:
    """Return the bytes that each group of rows takes once it is unpacked, 8 for a number.

    Raises:
        ValueError: if the file is not Parquet.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _END))
        length = int.from_bytes(file.read(4), "little")
        if length > min(MAX_FOOTER_BYTES, size - _END):
            raise ValueError("the footer is cut off or too long")
        file.seek(size - _END - length)
        footer = _Struct(file.read(length)).read()
        groups = [[_about(column) for column in _list(group, _COLUMNS)] for group in _list(footer, _GROUPS)]
        # Else the same pages could be read for each of a million columns.
        if sum(_number(about, _PACKED_BYTES) for group in groups for about in group) > size:
            raise ValueError("its columns are longer than the file")
        return [_bytes_of_group(group, file) for group in groups]


def _about(column: object) -> object:
    return column.get(_ABOUT) if isinstance(column, dict) else None


def _bytes_of_group(group: Sequence[object], file: BinaryIO) -> int:
    total = 0
    for about in group:
        dictionary = _number(about, _DICTIONARY_AT, 0)
        start = min(_number(about, _DATA_AT), dictionary or sys.maxsize)
        n_bytes, n_values = _pages(file, start, start + _number(about, _PACKED_BYTES))
        is_text = _number(about, _KIND) == _TEXT
        total += n_bytes if is_text else max(n_bytes, 8 * max(n_values, _number(about, _N_VALUES)))
    return total


def _pages(file: BinaryIO, start: int, end: int) -> tuple[int, int]:
    """Return the bytes and the values of the pages between two positions."""
    n_bytes, n_values, at = 0, 0, start
    while at < end:
        page, length = _header(file, at, end)
        n_bytes += _number(page, _PAGE_UNPACKED)
        n_values += sum(_number(page[kind], 1) for kind in _PAGES_OF_VALUES if kind in page)
        at += length + _number(page, _PAGE_PACKED)
    return n_bytes, n_values


def _header(file: BinaryIO, start: int, end: int) -> tuple[dict[int, Any], int]:
    """Return the header of a page, and its length."""

    def read(most: int) -> tuple[dict[int, Any], int]:
        file.seek(start)
        header = _Struct(file.read(min(most, end - start)))
        return header.read(), header.at

    try:
        return read(MOST_HEADERS_BYTES)
    except ValueError:
        return read(MAX_HEADER_BYTES)


def _list(struct: object, field: int) -> list[Any]:
    found = struct.get(field) if isinstance(struct, Mapping) else None
    if not isinstance(found, list):
        raise ValueError(f"expected a list as field {field}, got {type(found).__name__}")
    return found


def _number(struct: object, field: int, default: int | None = None) -> int:
    found = struct.get(field, default) if isinstance(struct, Mapping) else None
    if not isinstance(found, int) or found < 0:
        raise ValueError(f"expected a number as field {field}")
    return found


class _Struct:
    """The struct at the start of some bytes; `at` is its end once it is read."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.at = 0

    def read(self, depth: int = 0) -> dict[int, Any]:
        """Return field -> value: whole numbers, lists and structs; None for other values."""
        found: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            found[field] = None if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:  # noqa: ANN401  # JSON-like values
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        if kind in (_I16, _I32, _I64):
            return self._integer()
        if kind == _STRUCT:
            return self.read(depth + 1)
        if kind in (_LIST, _SET):
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._unsigned()
            if n > len(self._content):
                raise ValueError("a list is longer than the file")
            return [self._value(head & 15, depth + 1) for _ in range(n)]
        if kind not in (_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY):
            raise ValueError(f"a value has the unknown type {kind}")
        length = 8 if kind == _DOUBLE else self._unsigned() if kind == _BINARY else 1
        self.at += length  # after the length, which moves it too
        return None

    def _byte(self) -> int:
        if self.at >= len(self._content):
            raise ValueError("it is cut off")
        self.at += 1
        return self._content[self.at - 1]

    def _unsigned(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("a number has no end")

    def _integer(self) -> int:
        number = self._unsigned()
        return number >> 1 ^ -(number & 1)
