"""Sources opened again from their record in the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager

from kb.addresses import PageSettings
from kb.sources.article_source import ArticleSource

FROM_BUNDLE = "from_bundle"
"""Key of a source that a bundle named: it may not be on this machine or its network. A build of one's own drops it."""


@contextmanager
def reopened(
    origin: Mapping[str, str],
    *,
    contact: str | None = None,
    api_url: str | None = None,
    login: tuple[str, str] | None = None,
    spaces: Sequence[str] = (),
    pages: PageSettings | None = None,
) -> Iterator[ArticleSource]:
    """Open a source from its `ArticleSource.origin`, and close it at the end.

    Args:
        origin: an entry of `KnowledgeBase.origins`.
        contact: contact address for the User-Agent of a wiki.
        api_url: api.php of a wiki that the user names, with its user name and password, which are not recorded.
        login: user name and bot password for `api_url`; a wiki that the knowledge base names gets none.
        spaces: encoder spaces of the vectors of the shipped knowledge.
        pages: pause and limits of requests for web pages.
    """
    with ExitStack() as opened:
        if origin["kind"] == "folder":
            from kb.sources.folder import FolderSource

            yield FolderSource(origin["path"])
        elif origin["kind"] == "starter":
            from kb.sources.starter import StarterSource

            yield StarterSource(spaces=spaces)
        elif origin["kind"] == "web":
            from kb.sources.web_pages import PageClient, WebSource

            client = PageClient(contact=contact, settings=pages or PageSettings())
            yield opened.enter_context(closing(WebSource(client)))
        else:
            from kb.sources.mediawiki.wiki_source import WikipediaSource

            wiki = WikipediaSource(
                api_url or origin["api_url"],
                contact=contact,
                language=origin["language"],
                thumbnail_px=int(origin["thumbnail_px"]),
                allow_any_licence=origin["licences"] == "any",
                login=login if api_url else None,
                public_only=FROM_BUNDLE in origin and not api_url,
            )
            yield opened.enter_context(closing(wiki))
