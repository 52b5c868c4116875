"""Free photos of wiki articles: what the wiki states of a file, author, licence and bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from PIL.Image import Image

from data.batches import grouped, grouped_by_size
from data.errors import BadImage, MalformedAnswer, PageNotFound, SourceError, TooLarge
from data.files import sha256_hex
from data.images.decode import read_image
from data.images.header import media_type_of
from data.records import Anchor, AnchorImage, Article, Failure, Figure, LeftOut
from kb import reasons
from kb.licences import licence_freedom, short_licence
from kb.sources.article_source import MAX_PIXELS, SMALLEST_SIDE_PX, AnchorBatch
from kb.sources.mediawiki.figures import Pictures, pictures_of
from kb.sources.mediawiki.wiki_client import (
    MAX_PHOTO_BYTES,
    TITLES_PER_REQUEST,
    Json,
    ask_all,
    check_redirect,
    number,
    record,
    records,
    text,
)
from kb.sources.mediawiki.wiki_pages import WikiPages, is_title
from kb.sources.plain_text import remove_hidden, soup_of

THUMBNAIL_PX = 960  # Wikimedia's servers refuse other widths than 20, 40, 60, 120, 250, 330, 500, 960, 1280
MOST_DAMAGED = 4  # tries for an image that arrives damaged in different ways
PHOTO_TYPES = frozenset({"image/jpeg", "image/png", "image/webp", "image/gif", "image/tiff"})


_Shown = tuple[str, Article, Pictures, dict[str, Json] | SourceError]
"""Id and article of a species, its pictures, and what the wiki states of their files, or why it does not."""


def _version(info: Json) -> str:
    """Return a hash of all that the wiki states of a file, which changes with photo, author and licence."""
    return sha256_hex(json.dumps(info, sort_keys=True))[:16] if info else ""


def _plain(value: str) -> str:
    """Return a text of a wiki without HTML and extra spaces."""
    if "<" not in value and "&" not in value:
        return " ".join(value.split())
    soup = soup_of(value)
    remove_hidden(soup)
    return " ".join(soup.get_text(" ").split())[:300]


class _Skipped(Exception):
    """A photo is skipped, with the reason."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


class PhotoFinder:
    """Finds the free photos of articles; with `allow_any_licence`, all photos."""

    def __init__(self, pages: WikiPages, *, allow_any_licence: bool) -> None:
        self._pages = pages
        self.allows_any_licence = allow_any_licence
        self._stored: Mapping[str, Anchor] = {}
        self._has_seen_a_picture = False

    def fetch_anchors(
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        """Yield up to `limit` free photos for each `(subject_id, article)`: lead image, galleries, then the text's.

        Raises:
            MissingContact: for photos on a Wikimedia host without a contact.
        """
        return ask_all("photos", partial(self._photos_of, limit=limit), self._described(articles))

    def _described(self, articles: Sequence[tuple[str, Article]]) -> Iterator[_Shown]:
        shown = [(key, article, pictures_of(article)) for key, article in articles]
        for group in grouped_by_size(shown, lambda each: len(each[2].usable), TITLES_PER_REQUEST):
            files = dict.fromkeys(figure.file for _, _, pictures in group for figure in pictures.usable)
            found: dict[str, Json] | SourceError
            try:
                found = self._describe([*filter(is_title, files)])
            except SourceError as error:
                found = error
            yield from ((*each, found) for each in group)

    def photo_versions(self, files: Sequence[str]) -> dict[str, str]:
        """Return file -> a hash of photo, author and licence; empty for a missing file.

        Raises:
            SourceError: if the wiki is not available.
        """
        found = self._describe([file for file in dict.fromkeys(files) if is_title(file)])
        return {file: _version(found.get(file, {})) for file in files}

    def reuse_photos(self, anchors: Mapping[str, Anchor]) -> None:
        """Reuse these anchors, by version of the photo, instead of downloading the photo again."""
        self._stored = anchors

    def _describe(self, files: Sequence[str]) -> dict[str, Json]:
        """Return the wiki's `imageinfo` of each existing file, by file name."""
        found: dict[str, Json] = {}
        for group in grouped(files, TITLES_PER_REQUEST):
            answer = self._pages.client.query_titles(
                [f"File:{file}" for file in group],
                {
                    "prop": "imageinfo",
                    "iiprop": "url|size|mime|sha1|extmetadata",
                    "iiurlwidth": THUMBNAIL_PX,
                    "iiextmetadatafilter": "Artist|Attribution|LicenseShortName|LicenseUrl|License|UsageTerms|NonFree",
                    "iiextmetadatalanguage": "en",
                },
            )
            by_title = {page["title"]: info for page in answer.pages for info in records(page, "imageinfo")[:1]}
            for file in group:
                if info := by_title.get(answer.end_of(f"File:{file}")):
                    found[file] = info
        return found

    def _photos_of(self, shown: _Shown, limit: int) -> tuple[str, AnchorBatch | Failure]:
        key, article, pictures, found = shown
        try:
            if isinstance(found, SourceError):
                raise found
            return key, self._take(key, pictures, found, limit)
        except SourceError as error:
            return key, Failure(taxon=article.source.title or key, stage="anchor", reason=str(error))

    def _take(self, key: str, pictures: Pictures, found: Mapping[str, Json], limit: int) -> AnchorBatch:
        images: list[AnchorImage] = []
        skipped: list[LeftOut] = []
        versions: dict[str, str] = {}
        for figure in pictures.usable:
            if len(images) >= limit:
                break
            if images and figure in pictures.drawings:
                skipped.append(LeftOut(name=figure.file, reason=reasons.DRAWING))
                continue
            info = found.get(figure.file, {})
            versions[figure.file] = _version(info)
            try:
                image = self._take_one(key, figure, info)
                if any(image.anchor.sha256 == other.anchor.sha256 for other in images):
                    raise _Skipped(reasons.DUPLICATE_PHOTO)
                images.append(image)
            except _Skipped as skip:
                skipped.append(LeftOut(name=figure.file, reason=skip.reason, detail=skip.detail))
        if len(images) < limit:
            skipped += pictures.others
        if not images and not self._has_seen_a_picture:
            # A captive portal, an error page or a ban answers every image request: nothing is known of these photos.
            for item in skipped:
                if item.reason == reasons.NOT_AN_IMAGE:
                    raise MalformedAnswer(item.detail)
        return AnchorBatch(images=tuple(images), skipped=tuple(skipped), versions=versions)

    def _take_one(self, key: str, figure: Figure, info: Json) -> AnchorImage:
        """Return the photo of a figure, reused or downloaded; `SourceError` if another run may succeed."""
        anchor = self._credited(key, figure, info)
        if stored := self._stored.get(_version(info)):
            return AnchorImage(
                anchor=replace(anchor, anchor_id=stored.anchor_id, sha256=stored.sha256, media_type=stored.media_type)
            )
        is_small = (number(info, "width") or 0) <= THUMBNAIL_PX
        url = text(info, "url") if is_small else text(info, "thumburl") or text(info, "url")
        try:
            check_redirect(url, origin=self._pages.client.api_url)
        except MalformedAnswer as error:
            raise _Skipped(reasons.BLOCKED_HOST, str(error)) from error
        try:
            content, picture = self._fetched_picture(url)
        except PageNotFound as error:
            raise _Skipped(reasons.NO_FILE, str(error)) from error
        except MalformedAnswer as error:
            raise _Skipped(reasons.NOT_AN_IMAGE, str(error)) from error
        except (TooLarge, BadImage) as error:
            raise _Skipped(reasons.UNREADABLE, str(error)) from error
        self._has_seen_a_picture = True
        if min(picture.size) < SMALLEST_SIDE_PX:
            raise _Skipped(reasons.TOO_SMALL, f"{picture.width} x {picture.height}")
        sha256, media_type = sha256_hex(content), media_type_of(content) or anchor.media_type
        return AnchorImage(
            anchor=replace(anchor, anchor_id=sha256, sha256=sha256, media_type=media_type), content=content
        )

    def _fetched_picture(self, url: str) -> tuple[bytes, Image]:
        """Return a photo as bytes and decoded; a damaged one is downloaded again until two downloads are equal.

        Servers sometimes truncate a body at a random place; an image that is damaged on the wiki arrives equal.
        """
        seen: set[str] = set()
        while True:
            content = self._pages.client.fetch_photo(url)
            try:
                return content, read_image(content, max_pixels=MAX_PIXELS, max_bytes=MAX_PHOTO_BYTES)
            except BadImage as error:
                if media_type_of(content) is None:
                    raise MalformedAnswer(f"Expected an image from {url}, got other content") from error
                if (digest := sha256_hex(content)) in seen or len(seen) == MOST_DAMAGED:
                    raise
                seen.add(digest)

    def _credited(self, key: str, figure: Figure, info: Json) -> Anchor:
        """Return the anchor of a free photo with its credit, still without the hash of its image."""
        if not text(info, "url"):
            raise _Skipped(reasons.NO_FILE)
        if (media_type := text(info, "mime")) not in PHOTO_TYPES:
            raise _Skipped(reasons.NOT_A_PHOTO, media_type)
        width, height = number(info, "width") or 0, number(info, "height") or 0
        if min(width, height) < SMALLEST_SIDE_PX:
            raise _Skipped(reasons.TOO_SMALL, f"{width} x {height}")
        stated = record(info, "extmetadata")
        metadata = {key: _plain(str(record(stated, key).get("value", ""))) for key in stated}
        name = metadata.get("LicenseShortName") or metadata.get("UsageTerms") or metadata.get("License") or ""
        url = metadata.get("LicenseUrl", "")
        is_marked_unfree = metadata.get("NonFree", "").lower() in ("true", "1", "yes")
        freedom = licence_freedom(name, url, is_marked_unfree=is_marked_unfree)
        if freedom != "free" and not self.allows_any_licence:
            raise _Skipped(reasons.LICENCE_UNKNOWN if freedom == "unknown" else reasons.LICENCE_NOT_FREE, name)
        return Anchor(
            anchor_id="",
            subject_id=key,
            file=figure.file,
            page_url=text(info, "descriptionurl") or None,
            author=metadata.get("Attribution") or metadata.get("Artist") or None,
            # The non-free mark becomes part of the licence name, so that credits show it.
            licence=f"{name or 'licence unknown'} (non-free)" if is_marked_unfree else name or short_licence("", url),
            licence_url=url or None,
            caption=figure.caption,
            media_type=media_type,
        )
