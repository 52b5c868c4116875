"""Output formats of `kb identify` in one table, and documents made of all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, Literal, get_args

from cli.common import output
from data.errors import UsageError
from data.files import write_atomic

if TYPE_CHECKING:
    from data.records import Identification
    from recognize.exports.document import Document, Facts

Form = Literal["table", "csv", "jsonl", "parquet", "camtrap-dp", "megadetector", "inaturalist", "ebird"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """An output format: rows that are written one by one, or a document that is made of all of them at the end."""

    suffixes: tuple[str, ...] = ()
    """Extensions of --output that mean it."""
    has_columns: bool = False
    """Whether --rows and --columns choose its rows."""
    needs: str = ""
    """`file` or `folder` that it needs; empty if stdout will do."""
    document: str = ""
    """`module:function` that makes the document of all rows."""
    needs_place: bool = False
    """Whether each row needs a place and a time."""


FORMATS: Final[Mapping[Form, Format]] = {
    "table": Format(),
    "csv": Format(suffixes=(".csv",), has_columns=True),
    "jsonl": Format(suffixes=(".jsonl", ".ndjson")),
    "parquet": Format(suffixes=(".parquet", ".pq"), has_columns=True, needs="file"),
    "camtrap-dp": Format(needs="folder", document="recognize.exports.camera_traps:camtrap_dp", needs_place=True),
    "megadetector": Format(document="recognize.exports.camera_traps:megadetector"),
    "inaturalist": Format(document="recognize.exports.observations:inaturalist"),
    "ebird": Format(document="recognize.exports.observations:ebird", needs_place=True),
}
NAMES: Final[tuple[Form, ...]] = get_args(Form)


def form_for(form: Form | None, file: Path | None) -> Form:
    """Return the given format, else the one of the file's extension.

    Raises:
        UsageError: for a format without the --output that it needs, a table in a file, or an unknown extension.
    """
    if file is None:
        form = form or "table"
        if needs := FORMATS[form].needs:
            raise UsageError(f"--format {form} needs --output {'DIR' if needs == 'folder' else 'FILE'}.")
        return form
    if form == "table":
        raise UsageError("--output takes no tables.", hint="Use --format csv, jsonl or parquet.")
    form = form or next((name for name, each in FORMATS.items() if file.suffix.lower() in each.suffixes), None)
    if form is None:
        raise UsageError(
            f"Unknown format of --output {file}.",
            hint="Add --format csv, jsonl or parquet, or use one of these extensions.",
        )
    return form


class Documents:
    """The files of a document; `Packed` for `ResumableOutput`."""

    def __init__(self, form: Form, output_path: Path, facts: Facts) -> None:
        names = ("datapackage.json", "deployments.csv", "media.csv", "observations.csv")
        is_folder = FORMATS[form].needs == "folder"
        self.files: Sequence[Path] = [output_path / name for name in names] if is_folder else [output_path]
        self._form: Form = form
        self._facts = facts

    def pack(self, rows: Iterable[str], parameters: Mapping[str, object]) -> None:
        """Write the files from rows (lines of JSON)."""
        made = document_of(self._form, rows, self._facts)
        for path, text in zip(self.files, made.files.values(), strict=True):
            write_atomic(path, text.encode("utf-8", "replace"))


def document_of(form: Form, rows: Iterable[str], facts: Facts) -> Document:
    """Return the document of rows (lines of JSON), with its notes written to stderr."""
    from data.codec import loads
    from data.records import Identification

    make: Callable[[Iterable[Identification], Facts], Document] = resolve_name(FORMATS[form].document)
    made = make((loads(Identification, _readable(line)) for line in rows), facts)
    for text in made.notes:
        output.warn(text)
    return made


def _readable(line: str) -> str:
    """Return a line in UTF-8; other bytes in names of files become U+FFFD."""
    return line.encode("utf-8", "replace").decode()


def check_place_and_time(form: Form, photos: Iterable[str], facts: Facts) -> None:
    """Raise `BadInput` before any work if a format needs place and time, and no readable photo has both."""
    if not FORMATS[form].needs_place or (facts.place and facts.date):
        return
    from data.errors import BadImage
    from data.images.decode import read_photo
    from recognize.exports.document import refuse_without

    lacks: dict[str, bool] = {}
    for name in photos:
        with suppress(BadImage):  # a row with an error
            photo = read_photo(name, min_side=1)
            found = {"place": facts.place or photo.place, "time": facts.date or photo.date}
            if all(found.values()):
                return
            lacks = {what: lacks.get(what, True) and not value for what, value in found.items()}
    if lacks:
        raise refuse_without([what for what, is_missing in lacks.items() if is_missing], form)
