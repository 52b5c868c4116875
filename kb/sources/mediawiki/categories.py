"""Pages of a category and its subcategories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from data.errors import BadInput
from kb.sources.mediawiki.api_answers import usable
from kb.sources.mediawiki.lookup_journal import LookupJournal
from kb.sources.mediawiki.wiki_client import WikiClient, wiki_workers

MEMBERS_PER_REQUEST: Final = 500
MOST_CATEGORIES: Final = 5_000
"""Each costs a request; more are a sign of a group that is better chosen in another way."""
SHOWN_FROM: Final = 20
"""Categories from which the walk shows its progress."""


def members_below(
    client: WikiClient,
    category: str,
    *,
    depth: int,
    journal: LookupJournal,
    report: Callable[[str, int, int], None],
) -> list[str]:
    """Return the article titles in a category (with namespace) and in its subcategories down to `depth`.

    The order is that of the wiki, level by level. Three categories are requested at a time.

    Raises:
        BadInput: for more than `MOST_CATEGORIES` subcategories, as soon as that is known.
    """
    level, seen, n_done = [category], {category}, 0
    titles: dict[str, None] = {}
    for below in range(depth + 1):
        following: list[str] = []
        for pages, subcategories in _level(client, level, journal):
            n_done += 1
            titles |= dict.fromkeys(pages)
            if below < depth:
                fresh = [each for each in subcategories if each not in seen]
                seen.update(fresh)
                following += fresh
            if len(seen) >= SHOWN_FROM:
                report("categories", n_done, len(seen))
            if len(seen) > MOST_CATEGORIES:
                raise _too_many(category, client.host)
        level = following
    return list(titles)


def _level(client: WikiClient, categories: list[str], journal: LookupJournal) -> Iterator[tuple[list[str], list[str]]]:
    """Yield pages and subcategories of each category, in this order."""

    def ask(category: str) -> tuple[list[str], list[str]]:
        found = journal.answer(
            ["members", category], lambda: _members(client, category), keep=lambda found: not found[2]
        )
        return found[0], found[1]

    if len(categories) == 1:  # a dead wiki gets a single request
        yield ask(categories[0])
    elif categories:
        with wiki_workers("categories") as pool:
            yield from pool.map(ask, categories)


def _members(client: WikiClient, category: str) -> tuple[list[str], list[str], int]:
    """Return pages, subcategories, and how many members are unusable."""
    n_unusable = 0
    pages: list[str] = []
    subcategories: list[str] = []
    for part in client.query(
        {
            "list": "categorymembers",
            "cmtitle": category,
            "cmlimit": MEMBERS_PER_REQUEST,
            "cmtype": "page|subcat",
            "cmprop": "title|type",
        }
    ):
        members, n_dropped = usable(part.get("categorymembers", []), texts=("title",), where=category)
        n_unusable += n_dropped
        for member in members:
            if member.get("type") == "subcat" or member.get("ns") == 14:
                subcategories.append(member["title"])
            elif member.get("ns") == 0:
                pages.append(member["title"])
    return pages, subcategories, n_unusable


def _too_many(category: str, host: str) -> BadInput:
    return BadInput(
        f"{category} on {host} has more than {MOST_CATEGORIES:,} subcategories, one request each.",
        hint="Choose smaller groups, such as families (--taxon may be repeated), or add --checklist FILE: its names "
        "are looked up 50 per request.",
    )
