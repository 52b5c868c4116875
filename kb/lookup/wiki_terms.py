"""Terms of a query from wiki articles, found by title or by the wiki's search."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from data.lexicon.words import WHOLE_WORD, groups
from data.records import Article, FetchedPage, PageRef, Term
from data.words import singulars
from kb.checklist.names import fold
from kb.distill.terms import term_from_article, term_id
from kb.lookup.mentions import groups_in, runs, sense_words
from kb.sources.mediawiki.wiki_client import TITLES_PER_REQUEST
from kb.sources.mediawiki.wiki_pages import WikiPage, WikiPages
from kb.sources.mediawiki.wiki_source import WikipediaSource

MAX_PAGES, N_HITS = 3, 5  # articles fetched for one query, and hits of the wiki's search
MAX_PHRASE_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """Words of a query that may be a name."""

    text: str
    start: int
    end: int


class WikiTerms:
    """Explains words by wiki articles on organisms with their title or redirect; an `Explainer` for `kb.context`."""

    def __init__(self, source: WikipediaSource) -> None:
        self._source = source
        self._pages = WikiPages(source.client)

    def explain(self, query: str, *, known: Collection[str]) -> list[Term]:
        """Return the wiki's terms for words of a query except `known`, in order, each with its page as source.

        This takes one request for all titles (two with a search) and one per page, at most `MAX_PAGES`.
        """
        phrases = phrases_of(query, known=known)
        if not phrases:
            return []
        found = self._by_title(phrases) or self._by_search(query, phrases)
        chosen: list[tuple[Phrase, WikiPage]] = []
        for phrase, page in sorted(found, key=lambda pair: (pair[0].start - pair[0].end, pair[0].start)):
            is_free = all(phrase.end <= other.start or other.end <= phrase.start for other, _ in chosen)
            if len(chosen) < MAX_PAGES and is_free:
                chosen.append((phrase, page))
        terms = [self._term(phrase, page) for phrase, page in sorted(chosen, key=lambda pair: pair[0].start)]
        return list({term.term_id: term for term in terms if term is not None}.values())

    def _by_title(self, phrases: Sequence[Phrase]) -> list[tuple[Phrase, WikiPage]]:
        tries = {phrase: _titles(phrase.text) for phrase in phrases}
        titles: dict[str, None] = {}
        for listed in tries.values():
            if len(titles) + len(listed) <= TITLES_PER_REQUEST:
                titles |= dict.fromkeys(listed)
        pages = self._pages.look_up(list(titles))
        firsts = (
            (phrase, [pages[title] for title in listed if title in pages][:1]) for phrase, listed in tries.items()
        )
        return [(phrase, page) for phrase, first in firsts for page in first if _is_article(page)]

    def _by_search(self, query: str, phrases: Sequence[Phrase]) -> list[tuple[Phrase, WikiPage]]:
        """Return the first search hits with a title, without qualifier, in the query."""
        by_name = {fold(form): phrase for phrase in reversed(phrases) for form in _titles(phrase.text)}
        hits = {
            title: by_name[key]
            for title, redirect in self._pages.search(query, N_HITS)
            for key in (fold(_bare_title(title)), fold(_bare_title(redirect or "")))
            if key in by_name
        }
        pages = self._pages.look_up(list(hits)) if hits else {}
        known = [(phrase, pages[title]) for title, phrase in hits.items() if title in pages]
        return [(phrase, page) for phrase, page in known if _is_article(page)]

    def _term(self, phrase: Phrase, page: WikiPage) -> Term | None:
        name = _bare_title(page.title)
        ref = PageRef(subject_id=term_id(name), title=page.title, revision=page.revision)
        for _, fetched in self._source.fetch([ref]):
            if isinstance(fetched, FetchedPage):
                article = self._source.parse(fetched)
                term = term_from_article(name, article)
                if term is not None and _is_about_life(article, term):
                    aliases = dict.fromkeys((*term.aliases, phrase.text.lower()))
                    return replace(term, aliases=tuple(alias for alias in aliases if fold(alias) != fold(name)))
        return None


def phrases_of(query: str, *, known: Collection[str]) -> list[Phrase]:
    """Return possible names in a query, longest first, without stop words and `known` words."""
    masked = query
    for text in known:
        masked = masked.replace(text, "|" * len(text))
    words = list(WHOLE_WORD.finditer(masked))
    places = {i for i, word in enumerate(words) if word[0].lower() not in groups()["stop"] and not word[0].isdigit()}
    found = [
        Phrase(text=masked[words[i].start() : words[j].end()], start=words[i].start(), end=words[j].end())
        for first, last in runs(masked, words, places)
        for i in range(first, last + 1)
        for j in range(i, min(i + MAX_PHRASE_WORDS, last + 1))
    ]
    specific = [phrase for phrase in found if phrase.text.lower() not in sense_words("too-general")]
    return sorted(specific, key=lambda phrase: (-len(phrase.text.split()), phrase.start))


def _titles(text: str) -> list[str]:
    """Return possible page titles of a name, also with the last word in the singular."""
    bare = text.removesuffix("'s").removesuffix("’s")
    *before, last = bare.split(" ")
    forms = [" ".join([*before, form]) for form in singulars(last)]
    cased = [form for name in forms for form in (name[:1].upper() + name[1:].lower(), name[:1].upper() + name[1:])]
    return list(dict.fromkeys(cased))


def _bare_title(title: str) -> str:
    return re.sub(r"\s*\([^)]*\)$", "", title)


def _is_article(page: WikiPage) -> bool:
    return page.namespace == 0 and not page.clues.is_disambiguation


def _is_about_life(article: Article, term: Term) -> bool:
    box = article.infobox
    if box is not None and (box.binomial or box.classification):
        return True
    words = WHOLE_WORD.findall(term.definition)
    return bool(groups_in(words) or sense_words("life") & {word.lower() for word in words})
