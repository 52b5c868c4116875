"""Free photos of wiki articles, with author, licence and bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from bs4 import BeautifulSoup
from PIL.Image import Image

from data.contracts import AnchorBatch
from data.errors import BadImage, MalformedAnswer, MissingContact, PageNotFound, SourceError, TooLarge
from data.files import sha256_hex
from data.images.decode import read_image
from data.records import Anchor, AnchorImage, Article, Failure, Figure, LeftOut
from kb import reasons
from kb.sources.licences import licence_freedom, short_licence
from kb.sources.mediawiki.client.hosts import check_redirect
from kb.sources.mediawiki.client.wiki_client import MAX_PHOTO_BYTES, TITLES_PER_REQUEST, Json
from kb.sources.mediawiki.client.workers import wiki_workers
from kb.sources.mediawiki.html.figures import is_photo, shows_something_else
from kb.sources.mediawiki.pages.wiki_pages import WikiPages, is_title

# Wikimedia's file servers refuse other widths since 2026.
THUMBNAIL_WIDTHS_PX = (20, 40, 60, 120, 250, 330, 500, 960, 1280, 1920, 3840)
SMALLEST_SIDE_PX = 64  # smaller images are useless to a model
MAX_PIXELS = 50_000_000
MOST_DAMAGED = 4  # tries for an image that arrives damaged in different ways
FIGURES_PER_ARTICLE = 20  # limits look-ups for pages with hundreds of images
PHOTO_TYPES = frozenset({"image/jpeg", "image/png", "image/webp", "image/gif", "image/tiff"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """Metadata of a file on the wiki."""

    url: str
    page_url: str | None
    media_type: str
    author: str | None
    licence: str | None
    licence_url: str | None


class PhotoFinder:
    """Finds the free photos of articles; `allow_any_licence` takes all, with their licence on record.

    Raises:
        ValueError: if Wikimedia does not serve the thumbnail width.
    """

    def __init__(self, pages: WikiPages, *, thumbnail_px: int, allow_any_licence: bool) -> None:
        if thumbnail_px not in THUMBNAIL_WIDTHS_PX:
            raise ValueError(f"expected a thumbnail width of {THUMBNAIL_WIDTHS_PX}, got {thumbnail_px}")
        self._pages = pages
        self.thumbnail_px = thumbnail_px
        self.allows_any_licence = allow_any_licence
        self._held: Mapping[str, Anchor] = {}
        self._has_seen_a_picture = False

    def fetch(
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        """Yield the first `limit` free photos of each article, in the order of the articles.

        Raises:
            MissingContact: for photos on a Wikimedia host without a contact.
        """
        with wiki_workers("photos") as pool:
            for group in _groups(articles):
                titles = list(dict.fromkeys(f.file for _, figures, _ in group for f in figures if is_title(f.file)))
                try:
                    found = self._describe(titles)
                except SourceError as error:
                    yield from ((key, _failure(key, article, error)) for key, _, article in group)
                    continue
                running = [
                    (key, article, pool.submit(self._take, key, figures, found, limit))
                    for key, figures, article in group
                ]
                for key, article, future in running:
                    yield key, _result(key, article, future)

    def versions(self, files: Sequence[str]) -> dict[str, str]:
        """Return file -> a text that changes with the photo or its credit; empty for a missing file.

        Raises:
            SourceError: if the wiki is not available.
        """
        asked = [file for file in dict.fromkeys(files) if is_title(file)]
        found = self._describe(asked)
        return {file: _version(found.get(file)) for file in files}

    def reuse(self, held: Mapping[str, Anchor]) -> None:
        """Reuse these anchors, by version of the photo, instead of downloading the photo again."""
        self._held = held

    def _describe(self, files: Sequence[str]) -> dict[str, Json]:
        """Return the wiki's metadata of each existing file, by file name."""
        found: dict[str, Json] = {}
        prefix = "File:"
        for i in range(0, len(files), TITLES_PER_REQUEST):
            answer = self._pages.client.query_titles(
                [prefix + file for file in files[i : i + TITLES_PER_REQUEST]],
                {
                    "prop": "imageinfo",
                    "iiprop": "url|size|mime|sha1|extmetadata",
                    "iiurlwidth": self.thumbnail_px,
                    "iiextmetadatafilter": "Artist|Attribution|LicenseShortName|LicenseUrl|License|UsageTerms|NonFree",
                    "iiextmetadatalanguage": "en",
                },
            )
            renamed = {step["from"]: step["to"] for key in ("normalized", "redirects") for step in answer.get(key, ())}
            by_title = {page["title"]: page["imageinfo"][0] for page in answer["pages"] if page.get("imageinfo")}
            for file in files[i : i + TITLES_PER_REQUEST]:
                title = prefix + file
                for _ in range(3):  # normalised, then a redirect, perhaps normalised again
                    title = renamed.get(title, title)
                if title in by_title:
                    found[file] = by_title[title]
        return found

    def _take(self, key: str, figures: Sequence[Figure], found: dict[str, Json], limit: int) -> AnchorBatch:
        images: list[AnchorImage] = []
        skipped: list[LeftOut] = []
        versions: dict[str, str] = {}
        for figure in figures:
            if len(images) >= limit:
                break
            taken = self._judge(figure, found.get(figure.file))
            versions[figure.file] = _version(found.get(figure.file))
            if isinstance(taken, _File):
                kept = self._held.get(versions[figure.file])
                image = _again(kept, key, figure, taken) if kept else self._download(key, figure, taken)
                if isinstance(image, AnchorImage) and any(image.anchor.sha256 == held.anchor.sha256 for held in images):
                    image = LeftOut(name=figure.file, reason=reasons.DUPLICATE_PHOTO)
            else:
                image = taken
            if isinstance(image, LeftOut):
                skipped.append(image)
            else:
                images.append(image)
        if not images and not self._has_seen_a_picture:
            # A captive portal, an error page or a ban answers for every image, so nothing is known of this one.
            for item in skipped:
                if item.reason == reasons.NOT_AN_IMAGE:
                    raise MalformedAnswer(item.detail)
        return AnchorBatch(images=tuple(images), skipped=tuple(skipped), versions=versions)

    def _judge(self, figure: Figure, info: Json | None) -> _File | LeftOut:
        if not is_photo(figure.file):
            return LeftOut(name=figure.file, reason=reasons.NOT_A_PHOTO)
        if shows_something_else(figure.file, figure.caption):
            return LeftOut(name=figure.file, reason=reasons.MAP_OR_SIGN)
        if info is None or not info.get("url"):
            return LeftOut(name=figure.file, reason=reasons.NO_FILE)
        media_type = str(info.get("mime") or "")
        if media_type not in PHOTO_TYPES:
            return LeftOut(name=figure.file, reason=reasons.NOT_A_PHOTO, detail=media_type)
        if min(int(info.get("width") or 0), int(info.get("height") or 0)) < SMALLEST_SIDE_PX:
            return LeftOut(
                name=figure.file, reason=reasons.TOO_SMALL, detail=f"{info.get('width')} x {info.get('height')}"
            )
        said = _metadata(info)
        name = said.get("LicenseShortName") or said.get("UsageTerms") or said.get("License") or ""
        url = said.get("LicenseUrl", "")
        is_marked_unfree = said.get("NonFree", "").lower() in ("true", "1", "yes")
        freedom = licence_freedom(name, url, is_marked_unfree=is_marked_unfree)
        if freedom != "free" and not self.allows_any_licence:
            reason = reasons.LICENCE_UNKNOWN if freedom == "unknown" else reasons.LICENCE_NOT_FREE
            return LeftOut(name=figure.file, reason=reason, detail=name)
        is_narrow = int(info.get("width") or 0) <= self.thumbnail_px
        return _File(
            url=str(info["url"] if is_narrow else info.get("thumburl") or info["url"]),
            page_url=info.get("descriptionurl") or None,
            media_type=media_type,
            author=said.get("Attribution") or said.get("Artist") or None,
            # The non-free mark becomes part of the licence name, so that credits show it.
            licence=f"{name or 'licence unknown'} (non-free)" if is_marked_unfree else name or short_licence("", url),
            licence_url=url or None,
        )

    def _download(self, key: str, figure: Figure, file: _File) -> AnchorImage | LeftOut:
        """Return the photo, or why it is skipped.

        Raises:
            SourceError: if another run may succeed.
        """
        try:
            check_redirect(file.url, origin=self._pages.client.api_url)
        except MalformedAnswer as error:
            return LeftOut(name=figure.file, reason=reasons.BLOCKED_HOST, detail=str(error))
        try:
            content, picture = self._fetched_picture(file.url)
        except PageNotFound as error:
            return LeftOut(name=figure.file, reason=reasons.NO_FILE, detail=str(error))
        except TooLarge as error:
            return LeftOut(name=figure.file, reason=reasons.UNREADABLE, detail=str(error))
        except MalformedAnswer as error:
            return LeftOut(name=figure.file, reason=reasons.NOT_AN_IMAGE, detail=str(error))
        except BadImage as error:
            return LeftOut(name=figure.file, reason=reasons.UNREADABLE, detail=str(error))
        self._has_seen_a_picture = True
        if min(picture.size) < SMALLEST_SIDE_PX:
            return LeftOut(name=figure.file, reason=reasons.TOO_SMALL, detail=f"{picture.width} x {picture.height}")
        sha256 = sha256_hex(content)
        return AnchorImage(
            anchor=Anchor(
                anchor_id=sha256,
                subject_id=key,
                sha256=sha256,
                file=figure.file,
                page_url=file.page_url,
                author=file.author,
                licence=file.licence,
                licence_url=file.licence_url,
                caption=figure.caption,
                media_type=media_type_of(content) or file.media_type,
            ),
            content=content,
        )

    def _fetched_picture(self, url: str) -> tuple[bytes, Image]:
        """Return a photo as bytes and decoded; a damaged one is downloaded again until two downloads are equal.

        Servers sometimes truncate a body at a random place. An image that is damaged on the wiki itself arrives equal
        each time.

        Raises:
            PageNotFound: if there is no such file.
            TooLarge: if it exceeds the size limit.
            MalformedAnswer: if the response is not an image: a web page, a rejection, a redirect to a blocked host.
            BadImage: if the image is damaged.
        """
        seen: set[str] = set()
        while True:
            content = self._pages.client.fetch_photo(url)
            if content[:500].lstrip()[:14].lower().startswith((b"<!doctype html", b"<html")):
                raise MalformedAnswer(f"expected an image from {url}, got an HTML page")
            try:
                return content, read_image(content, max_pixels=MAX_PIXELS, max_bytes=MAX_PHOTO_BYTES)
            except BadImage:
                digest = sha256_hex(content)
                if digest in seen or len(seen) == MOST_DAMAGED:
                    raise
                seen.add(digest)


def _version(info: Json | None) -> str:
    """Return a hash of the metadata of a file; empty without metadata."""
    return sha256_hex(json.dumps(info, sort_keys=True))[:16] if info else ""


def _again(held: Anchor, key: str, figure: Figure, file: _File) -> AnchorImage:
    """Return a stored photo with the caption and credit of this article."""
    return AnchorImage(
        anchor=replace(
            held,
            subject_id=key,
            file=figure.file,
            page_url=file.page_url,
            author=file.author,
            licence=file.licence,
            licence_url=file.licence_url,
            caption=figure.caption,
        )
    )


def media_type_of(content: bytes) -> str | None:
    """Return the media type of an image by its first bytes (a TIFF thumbnail is a JPEG), or None.

    Example:
        >>> media_type_of(b"GIF89a...")
        'image/gif'
    """
    for start, kind in (
        (b"\xff\xd8\xff", "jpeg"),
        (b"\x89PNG", "png"),
        (b"GIF8", "gif"),
        (b"II*\x00", "tiff"),
        (b"MM\x00*", "tiff"),
    ):
        if content.startswith(start):
            return f"image/{kind}"
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


def _groups(articles: Sequence[tuple[str, Article]]) -> Iterator[list[tuple[str, tuple[Figure, ...], Article]]]:
    """Yield groups of articles; the files of a group fit into one request."""
    group: list[tuple[str, tuple[Figure, ...], Article]] = []
    files: set[str] = set()
    for key, article in articles:
        figures = article.figures[:FIGURES_PER_ARTICLE]
        fresh = {figure.file for figure in figures}
        if group and len(files | fresh) > TITLES_PER_REQUEST:
            yield group
            group, files = [], set()
        group.append((key, figures, article))
        files |= fresh
    if group:
        yield group


def _result(key: str, article: Article, future: Future[AnchorBatch]) -> AnchorBatch | Failure:
    try:
        return future.result()
    except MissingContact:
        raise
    except SourceError as error:
        return _failure(key, article, error)


def _failure(key: str, article: Article, error: SourceError) -> Failure:
    return Failure(taxon=article.source.title or key, stage="anchor", reason=str(error))


def _metadata(info: Json) -> dict[str, str]:
    """Return the metadata as plain text, without HTML and extra spaces."""
    found = info.get("extmetadata") or {}
    return {key: _plain(str(item.get("value", ""))) for key, item in found.items() if isinstance(item, dict)}


def _plain(value: str) -> str:
    if "<" not in value and "&" not in value:
        return " ".join(value.split())
    soup = BeautifulSoup(value, "html.parser")
    for hidden in soup.select('[style*="display:none"], [style*="display: none"], script, style'):
        hidden.decompose()
    return " ".join(soup.get_text(" ").split())[:300]
