"""Open a source again from its record in the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from data.contracts import ArticleSource


@contextmanager
def reopened(
    origin: Mapping[str, str], *, contact: str | None = None, api_url: str | None = None, spaces: Sequence[str] = ()
) -> Iterator[ArticleSource]:
    """Open the source that `ArticleSource.origin` described, and close it in the end.

    Args:
        origin: the record, as `KnowledgeBase.origins` has it.
        contact: the address for the User-Agent of a wiki.
        api_url: replaces the recorded api.php of a wiki.
        spaces: the encoder spaces in which the shipped knowledge gives vectors.
    """
    if origin["kind"] == "folder":
        from kb.sources.folder import FolderSource

        yield FolderSource(origin["path"])
    elif origin["kind"] == "starter":
        from kb.sources.starter import StarterSource

        yield StarterSource(spaces=spaces)
    else:
        from kb.sources.mediawiki.source import WikipediaSource

        wiki = WikipediaSource(
            api_url or origin["api_url"],
            contact=contact,
            language=origin["language"],
            thumbnail_px=int(origin["thumbnail_px"]),
            allow_any_licence=origin["licences"] == "any",
        )
        try:
            yield wiki
        finally:
            wiki.close()
