"""Sources opened again from their record in the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kb.addresses import PageSettings
from kb.sources.article_source import ArticleSource

FROM_BUNDLE = "from_bundle"
"""Key of a source that a bundle named: it may not be on this machine or its network. A build of one's own drops it."""


def reopened(
    origin: Mapping[str, str],
    *,
    contact: str | None = None,
    api_url: str | None = None,
    login: tuple[str, str] | None = None,
    spaces: Sequence[str] = (),
    pages: PageSettings | None = None,
) -> ArticleSource:
    """Return a source from its `ArticleSource.origin`, for the caller to close.

    Args:
        origin: an entry of `KnowledgeBase.origins`.
        contact: contact address for the User-Agent of a wiki.
        api_url: api.php of a wiki that the user names, with its user name and password, which are not recorded.
        login: user name and bot password for `api_url`; a wiki that the knowledge base names gets none.
        spaces: encoder spaces of the vectors of the shipped knowledge.
        pages: pause and limits of requests for web pages.
    """
    if origin["kind"] == "folder":
        from kb.sources.folder import FolderSource

        return FolderSource(origin["path"])
    if origin["kind"] == "starter":
        from kb.sources.starter import StarterSource

        return StarterSource(spaces=spaces)
    if origin["kind"] == "web":
        from kb.sources.web_pages import PageClient, WebSource

        return WebSource(PageClient(contact=contact, settings=pages))
    from kb.sources.mediawiki.wiki_client import WikiClient
    from kb.sources.mediawiki.wiki_source import WikipediaSource

    client = WikiClient(
        api_url or origin["api_url"],
        contact=contact,
        language=origin["language"],
        login=login if api_url else None,
        public_only=FROM_BUNDLE in origin and not api_url,
    )
    return WikipediaSource(client, allow_any_licence=origin["licences"] == "any")
