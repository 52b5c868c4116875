"""A user's own texts and photos: a folder of them as a source of articles, and single additions.

    my-birds/
      Northern Cardinal/        named by common or scientific name of the species
        article.txt             *.txt, *.md or *.html, with any name; several are joined, sorted by name
        male.jpg  female.jpg    photos, used as anchors in the order of their names
        credits.csv             optional: file,author,licence,url (any of the last three may be empty)
      Terms/Amplexus/           optional: the meaning of a term

Texts or photos alone are enough. Photos without a line in `credits.csv` have no author and licence: they are your own.
Headings of plain texts are Markdown headings (`## Description`) and capitalised lines that end with a colon. HTML is
read like a wiki page.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from data.contracts import Checklist
from data.errors import BadImage, BadInput
from data.files import sha256_hex
from data.images import IMAGES, RAW
from data.images.decode import read_image
from data.images.find import FileNames, is_hidden
from data.images.header import media_type_of
from data.records import (
    Anchor,
    AnchorImage,
    Article,
    Failure,
    FetchedPage,
    Figure,
    LeftOut,
    PageRef,
    Source,
    Taxon,
)
from data.tables import open_table, read_text
from kb import reasons
from kb.checklist.names import fold
from kb.distill.terms import term_id
from kb.sources.article_source import MAX_PIXELS, SMALLEST_SIDE_PX, AnchorBatch, ArticleSource, left_out

_log = logging.getLogger(__name__)
ARTICLE_SUFFIXES = (".txt", ".md", ".html", ".htm")
TERMS_FOLDER = "terms"
CREDITS = "credits.csv"
CREDIT_HEADINGS = {
    "file": ("file", "file name", "photo", "image"),
    "author": (
        "author", "photographer", "creator", "credit", "rights holder", "copyright holder", "copyright", "artist",
        "owner", "fotograf", "urheber", "autor", "auteur", "photographe", "fotografo", "autore",
    ),
    "licence": ("licence", "license", "rights", "lizenz", "licencia", "licenza", "licenca", "licentie", "licens"),
    "url": ("url", "source", "link"),
}  # fmt: skip
"""Column -> its headings in `credits.csv`."""
EMPTY = 0
"""Revision of a folder without text and photos."""
MAX_PHOTO_BYTES = 100_000_000


class FolderSource(ArticleSource):
    """A folder with one folder for each species.

    Raises:
        BadInput: if the folder does not exist or has no subfolder.
    """

    parser = "folder-text/1"

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise BadInput(f"Folder not found: {self.folder}", hint="Give a folder with one subfolder per species.")
        if not _subfolders(self.folder):
            hint = f"Make one subfolder per species, such as {self.folder}/Mallard/article.txt."
            raise BadInput(f"No subfolders in {self.folder}", hint=hint)
        self._by_name = _folders_by_name(self.folder)
        self._named: dict[str, Taxon] = {}  # folder -> its species in the checklist
        self._folder_of_id: dict[str, Path] = {}

    @property
    def name(self) -> str:
        """Name of the folder, without its path, so that a moved folder is the same source."""
        return f"folder {self.folder.resolve().name}"

    @property
    def origin(self) -> Mapping[str, str]:
        """Settings that open the source again."""
        return {"kind": "folder", "path": str(self.folder.resolve())}

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        """Yield the folder of each taxon; of several, that of the preferred name."""
        taken: dict[str, Taxon] = {}
        for taxon in taxa:
            path = self.folder_of(taxon)
            if path is None:
                yield taxon, left_out(taxon, reasons.NO_PAGE)
            elif (revision := _revision(path)) == EMPTY:
                detail = f"{path.name}: no article.txt and no photos"
                yield taxon, LeftOut(name=taxon.scientific_name, reason=reasons.NO_PAGE, detail=detail)
            elif path.name in taken:
                yield taxon, left_out(taxon, reasons.DUPLICATE, path.name)
            else:
                taken[path.name] = taxon
                yield taxon, PageRef(subject_id=taxon.taxon_id, title=path.name, revision=revision)

    def unclaimed(self, taxa: Sequence[Taxon]) -> list[LeftOut]:
        """Return the folders that match no taxon, and further folders of a species that has another one."""
        taxon_of = {fold(name): taxon for taxon in taxa for name in reversed(taxon.all_names)}
        found = []
        for path in _subfolders(self.folder):
            taxon = taxon_of.get(fold(path.name)) or self._named.get(path.name)
            if path.name.lower() == TERMS_FOLDER:
                continue
            if taxon is None:
                found.append(LeftOut(name=path.name, reason=reasons.NOT_IN_CHECKLIST))
            elif (used := self.folder_of(taxon)) is not None and used != path:
                detail = f"{used.name} is used"
                found.append(LeftOut(name=path.name, reason=reasons.DUPLICATE, detail=detail))
        return found

    def match(self, checklist: Checklist) -> list[Taxon]:
        """Return the species named by the folders; `folder_of` then finds names in all languages of the checklist."""
        found = {path.name: checklist.find(path.name) for path in self._by_name.values()}
        self._named = {name: taxon for name, taxon in found.items() if taxon is not None and taxon.rank == "species"}
        self._folder_of_id = {taxon.taxon_id: self.folder / name for name, taxon in reversed(self._named.items())}
        return list({taxon.taxon_id: taxon for taxon in self._named.values()}.values())

    def folder_of(self, taxon: Taxon) -> Path | None:
        """Return the folder of a taxon, that of the preferred name if there are several."""
        named = next((self._by_name[fold(name)] for name in taxon.all_names if fold(name) in self._by_name), None)
        return named or self._folder_of_id.get(taxon.taxon_id)

    def newest(
        self, known: Sequence[tuple[Taxon | str, PageRef]]
    ) -> Iterator[tuple[Taxon | str, PageRef | LeftOut | Failure]]:
        """Yield the current folder of each taxon or term; names in other languages are known by the folder so far."""
        folders = {path.name: path for path in self._by_name.values()}
        for subject, page in known:
            if isinstance(subject, Taxon) and page.title in folders:
                self._folder_of_id.setdefault(subject.taxon_id, folders[page.title])
        yield from super().newest(known)

    def term_page(self, name: str, title: str | None) -> PageRef | None:
        """Return the folder of a term in `Terms`, by its title or name."""
        inside = [path for path in _subfolders(self.folder) if path.name.lower() == TERMS_FOLDER]
        path = _folders_by_name(inside[0]).get(fold((title or name).rpartition("/")[2])) if inside else None
        if path is None or (revision := _revision(path, needs_text=True)) == EMPTY:
            return None
        return PageRef(subject_id=term_id(name), title=f"{inside[0].name}/{path.name}", revision=revision)

    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        """Yield the text of each folder; an unreadable text is a failure, a missing folder is left out."""
        for page in pages:
            try:
                yield page, self._read(page)
            except (OSError, BadInput) as error:
                yield page, Failure(taxon=page.title, stage="fetch", reason=f"{page.title}: {error}")

    def parse(self, fetched: FetchedPage) -> Article:
        """Return the article in a body, with the photos that the folder had when it was read."""
        files = [name for name in fetched.properties.get("photos", "").split("\n") if name]
        figures = tuple(Figure(file=name) for name in files)
        if fetched.media_type == "text/html":
            from kb.sources.mediawiki.article_parser import parse_article

            article = parse_article(fetched.body, source=fetched.source)
            return replace(article, figures=figures, is_disambiguation=False)
        return replace(super().parse(fetched), figures=figures)

    def fetch_anchors(
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        """Yield the first `limit` readable photos of each `(subject_id, article)`."""
        for key, article in articles:
            try:
                yield key, self._anchors(key, article, limit)
            except (OSError, BadInput) as error:
                yield key, Failure(taxon=article.source.title, stage="anchor", reason=str(error))

    def _read(self, page: PageRef) -> FetchedPage | LeftOut:
        path = self.folder / page.title
        files, photos, _ = _contents(path)
        if not files and not photos:
            return LeftOut(name=page.title, reason=reasons.NO_PAGE, detail="missing, or without text and photos")
        body = "\n\n".join(map(read_text, files))
        if not body.strip() and not any(map(_is_readable, photos)):
            return LeftOut(name=page.title, reason=reasons.NO_PAGE, detail=f"{page.title}: no readable text or photo")
        return FetchedPage(
            page=page,
            body=body,
            media_type="text/html" if files and _is_html(files[0]) else "text/plain",
            source=Source(title=page.title, url=None, revision=page.revision, licence=None),
            properties={"photos": "\n".join(file.name for file in photos)},
        )

    def _anchors(self, key: str, article: Article, limit: int) -> AnchorBatch:
        path = self.folder / article.source.title
        images: list[AnchorImage] = []
        files, photos, others = _contents(path)
        credit_of, uncredited = _by_file(_read_credits(path), [file.name for file in (*files, *photos)])
        skipped = [LeftOut(name=n, reason=reasons.NOT_A_PHOTO, detail="not used as a text either") for n in others]
        skipped += [LeftOut(name=name, reason=reasons.NO_FILE, detail=f"named in {CREDITS}") for name in uncredited]
        for figure in article.figures:
            if len(images) >= limit:
                detail = f"{limit} per species; --set anchors_per_species=N changes it"
                skipped.append(LeftOut(name=figure.file, reason=reasons.BEYOND_LIMIT, detail=detail))
                continue
            credit = credit_of.get(figure.file, {})
            try:
                anchor, content, (width, height) = read_own_photo(
                    path / Path(figure.file).name,
                    key,
                    url=credit.get("url") or None,
                    author=credit.get("author") or None,
                    licence=credit.get("licence") or None,
                )
            except (BadImage, OSError) as error:
                skipped.append(LeftOut(name=figure.file, reason=reasons.UNREADABLE, detail=str(error)))
                continue
            if min(width, height) < SMALLEST_SIDE_PX:
                skipped.append(LeftOut(name=figure.file, reason=reasons.TOO_SMALL, detail=f"{width} x {height}"))
            elif any(image.anchor.sha256 == anchor.sha256 for image in images):
                skipped.append(LeftOut(name=figure.file, reason=reasons.DUPLICATE_PHOTO))
            else:
                images.append(AnchorImage(anchor=anchor, content=content))
        return AnchorBatch(images=tuple(images), skipped=tuple(skipped))


def _read_credits(folder: Path) -> list[dict[str, str]]:
    """Return the credits of the `credits.csv` in a folder, in any case; empty if it does not exist."""
    path = next(filter(_is_credits, folder.iterdir()), None)
    if path is None:
        return []
    table = open_table(path, CREDIT_HEADINGS, needed=lambda found: "file" in found and len(found) > 1)
    if table.heading_line is None:
        got = ", ".join(table.first) or "an empty file"
        raise table.refused(f"expected the columns file,author,licence,url, got {got}", line=table.first_line)
    column_of = {meaning: columns[0] for meaning, columns in table.columns.items()}
    rows = table.frame.to_dict("records")
    unused = table.unused({column for columns in table.columns.values() for column in columns})
    for note in filter(None, (*table.notes, unused)):
        _log.warning("%s: %s", path, note)
    found = [{meaning: row[column] for meaning, column in column_of.items()} for row in rows]
    return [credit for credit in found if credit["file"]]


def _is_credits(file: Path) -> bool:
    return file.name.lower() == CREDITS


def _by_file(rows: Iterable[dict[str, str]], files: Sequence[str]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return file -> its row, and the names in rows that are no file; other Unicode forms and cases are found.

    Raises:
        BadInput: if two rows mean one file.
    """
    names, found, others = FileNames(files), dict[str, dict[str, str]](), list[str]()
    for row in rows:
        file = names.find(row["file"])
        if file is None:
            others.append(row["file"])
        elif found.get(file, row) != row:
            raise BadInput(f"{CREDITS}: two lines for {file}.")
        else:
            found[file] = row
    return found, others


def _subfolders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not is_hidden(path.name))


def _folders_by_name(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in _subfolders(folder):
        if path.name.lower() != TERMS_FOLDER:
            found.setdefault(fold(path.name), path)
    return found


def _contents(path: Path) -> tuple[list[Path], list[Path], list[str]]:
    """Return texts, either HTML or plain by the kind of the first, photos, and names of all else but the credits."""
    shown = sorted(each for each in path.iterdir() if not is_hidden(each.name)) if path.is_dir() else []
    files = [file for file in shown if file.suffix.lower() in ARTICLE_SUFFIXES and file.is_file()]
    files = [file for file in files if _is_html(file) == _is_html(files[0])]
    photos = [file for file in shown if file.suffix.lower() in IMAGES and file.is_file()]
    return files, photos, [each.name for each in shown if each not in (*files, *photos) and not _is_credits(each)]


def _is_html(file: Path) -> bool:
    return file.suffix.lower().startswith(".htm")


def _is_readable(photo: Path) -> bool:
    try:
        read_image(photo, max_pixels=MAX_PIXELS, max_bytes=MAX_PHOTO_BYTES)
    except (BadImage, OSError):
        return False
    return True


def _revision(path: Path, *, needs_text: bool = False) -> int | None:
    """Return a hash of texts, photos and credits; `EMPTY` without content, None for an unreadable folder."""
    try:
        files, photos, _ = _contents(path)
    except OSError:
        return None  # fetching reports why
    digests = "\n".join(
        f"{file.name} {_digest(file)}" for file in (*files, *photos, *filter(_is_credits, path.iterdir()))
    )
    return int(sha256_hex(digests)[:12], 16) if files or (photos and not needs_text) else EMPTY


def _digest(file: Path) -> str:
    try:
        return sha256_hex(file.read_bytes())
    except OSError as error:
        return str(error.strerror)


class OwnSource(ArticleSource):
    """A source without pages."""

    name = "own additions"
    parser = "plain-text/1"

    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        """Yield for each page that it does not exist."""
        return ((page, LeftOut(name=page.title, reason=reasons.NO_PAGE)) for page in pages)


def read_own_photo(
    file: Path, subject_id: str, *, url: str | None, author: str | None, licence: str | None
) -> tuple[Anchor, bytes, tuple[int, int]]:
    """Return a photo of the user as an anchor, with its bytes, and its width and height in pixels.

    Raises:
        BadImage: if it is not an image, or too large.
        OSError: if it cannot be read.
    """
    if file.suffix.lower() in RAW:
        raise BadImage(f"{file} is a RAW photo: save it as a JPEG")
    size = read_image(file, max_pixels=MAX_PIXELS, max_bytes=MAX_PHOTO_BYTES).size
    content = file.read_bytes()
    sha256 = sha256_hex(content)
    anchor = Anchor(
        anchor_id=sha256,
        subject_id=subject_id,
        sha256=sha256,
        file=file.name,
        page_url=url,
        author=author,
        licence=licence,
        media_type=media_type_of(content) or "application/octet-stream",
    )
    return anchor, content, size
