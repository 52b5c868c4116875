"""Encounters of `kb identify`: photos that get one answer, by burst or by a column of the list of photos."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from cli.common import output
from cli.common.resumable import Encounter
from data.errors import BadInput, did_you_mean
from data.words import plural

PATH_COLUMN = "path"


def read_photo_list(file: Path, column: str | None) -> dict[str, str]:
    """Return photo -> value of a column (empty without one) from a CSV with the column `path`.

    Paths are relative to the folder of the file. Commas, semicolons or tabs separate its cells.

    Raises:
        BadInput: if the file is unreadable, lacks a column, or puts a photo into two groups.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
        table = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval="")
        heading = list(table.fieldnames or [])
        for name in (PATH_COLUMN, *([column] if column else [])):
            if name not in heading:
                hint = did_you_mean(name, heading) or f"Columns: {', '.join(heading) or 'none'}."
                raise BadInput(f'{file} has no column "{name}".', hint=hint)
        found: dict[str, str] = {}
        for row in table:
            path, group = row[PATH_COLUMN], row[column].strip() if column else ""
            if not path.strip():
                raise BadInput(f"{file}: line {table.line_num}: no path.")
            if found.setdefault(str(file.parent / Path(path).expanduser()), group) != group:
                raise BadInput(f"{file}: line {table.line_num}: {path} is in two groups of {column}.")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or "expected a CSV in UTF-8"
        raise BadInput(f"{file} cannot be read: {why}.") from error
    return found


def find_encounters(
    values: Mapping[str, str], *, burst_s: float | None, by: str | None, quiet: bool
) -> list[Encounter]:
    """Return the encounters of the photos in the order of their first photos, and note their number on stderr.

    Args:
        values: photo -> value of the column `by`.
        burst_s: seconds between two photos of a burst; None for no bursts.
        by: column of the list of photos; without it and bursts, each photo is alone.
        quiet: no note.
    """
    if burst_s is not None:
        return _by_burst(values, burst_s, quiet=quiet)
    if by is not None:
        return _by_column(values, by, quiet=quiet)
    return [Encounter(photos=(photo,)) for photo in values]


def _by_column(values: Mapping[str, str], column: str, *, quiet: bool) -> list[Encounter]:
    """Return the photos in groups of equal values; a photo with a blank value is alone."""
    groups: dict[tuple[str, str], list[str]] = {}
    for photo, value in values.items():
        groups.setdefault((value, "" if value else photo), []).append(photo)
    found = [Encounter(photos=tuple(photos), name=value or None) for (value, _), photos in groups.items()]
    alone = sum(not value for value in values.values())
    _report(len(values), len(found), f"without {column}" if alone else "", alone, quiet=quiet)
    return found


def _by_burst(photos: Iterable[str], seconds: float, *, quiet: bool) -> list[Encounter]:
    """Return the photos in bursts."""
    from data.images.moment import Moment, read_moment
    from recognize.encounters import bursts

    n_without, n = 0, 0

    def moment(photo: str) -> Moment | None:
        nonlocal n_without, n
        found = read_moment(photo)
        n += 1
        n_without += found is None
        return found

    found = [Encounter(photos=burst) for burst in bursts(photos, seconds=seconds, moment=moment)]
    _report(n, len(found), "without a time of exposure (EXIF)", n_without, quiet=quiet)
    return found


def _report(n_photos: int, n_groups: int, without: str, n_without: int, *, quiet: bool) -> None:
    if not quiet:
        alone = f"; {plural(n_without, 'photo')} {without}, each on its own" if n_without else ""
        output.note(f"{plural(n_photos, 'photo')} in {plural(n_groups, 'encounter')}{alone}")
