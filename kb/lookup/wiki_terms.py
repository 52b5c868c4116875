"""Terms of a query from wiki articles, found by title or by the wiki's search."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from data.lexicon.words import WHOLE_WORD, groups
from data.records import Article, FetchedPage, PageRef, Term
from data.words import singulars, without_qualifier
from kb.checklist.names import fold
from kb.distill.terms import term_from_article, term_id
from kb.lookup.mentions import Mention, groups_in, runs, sense_words
from kb.sources.mediawiki.wiki_client import TITLES_PER_REQUEST
from kb.sources.mediawiki.wiki_pages import WikiPage, WikiPages
from kb.sources.mediawiki.wiki_source import WikipediaSource

MAX_PAGES, N_HITS = 3, 5  # articles fetched for one query, and hits of the wiki's search
MAX_PHRASE_WORDS = 4


class WikiTerms:
    """Explains words by wiki articles on organisms with their title or redirect."""

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
        titles: dict[Mention, list[str]] = {}
        for phrase in phrases:
            if sum(map(len, titles.values())) + len(listed := _titles(phrase.text)) <= TITLES_PER_REQUEST:
                titles[phrase] = listed
        found = self._articles(titles) or self._articles(self._hits(query, phrases))
        chosen: list[tuple[Mention, WikiPage]] = []
        for phrase, page in sorted(found, key=lambda pair: (-len(pair[0].text), pair[0].start)):
            (start, end), taken = phrase.span, [other.span for other, _ in chosen]
            if len(chosen) < MAX_PAGES and all(end <= first or last <= start for first, last in taken):
                chosen.append((phrase, page))
        terms = [self._term(phrase, page) for phrase, page in sorted(chosen, key=lambda pair: pair[0].start)]
        return list({term.term_id: term for term in terms if term is not None}.values())

    def _articles(self, titles: Mapping[Mention, Sequence[str]]) -> list[tuple[Mention, WikiPage]]:
        """Return the first article with one of its titles for each phrase."""
        pages = self._pages.look_up([title for listed in titles.values() for title in listed])
        articles = {t: page for t, page in pages.items() if page.namespace == 0 and not page.clues.is_disambiguation}
        named = ((phrase, [articles[t] for t in listed if t in articles]) for phrase, listed in titles.items())
        return [(phrase, found[0]) for phrase, found in named if found]

    def _hits(self, query: str, phrases: Sequence[Mention]) -> dict[Mention, list[str]]:
        """Return the first hits of a search whose title, without qualifier, is in the query."""
        by_name = {fold(form): phrase for phrase in reversed(phrases) for form in _titles(phrase.text)}
        hits: dict[Mention, list[str]] = {}
        for title, redirect in self._pages.search(query, N_HITS):
            for name in (title, redirect or ""):
                if (phrase := by_name.get(fold(without_qualifier(name)))) is not None:
                    hits.setdefault(phrase, []).append(title)
        return hits

    def _term(self, phrase: Mention, page: WikiPage) -> Term | None:
        name = without_qualifier(page.title)
        ref = PageRef(subject_id=term_id(name), title=page.title, revision=page.revision)
        for _, fetched in self._source.fetch([ref]):
            if isinstance(fetched, FetchedPage):
                article = self._source.parse(fetched)
                term = term_from_article(name, article)
                if term is not None and _is_about_life(article, term):
                    aliases = dict.fromkeys((*term.aliases, phrase.text.lower()))
                    return replace(term, aliases=tuple(alias for alias in aliases if fold(alias) != fold(name)))
        return None


def phrases_of(query: str, *, known: Collection[str]) -> list[Mention]:
    """Return possible names in a query, longest first, without stop words and `known` words."""
    masked = query
    for text in known:
        masked = masked.replace(text, "|" * len(text))
    words = list(WHOLE_WORD.finditer(masked))
    places = {i for i, word in enumerate(words) if word[0].lower() not in groups()["stop"] and not word[0].isdigit()}
    found = [
        Mention(kind="term", text=masked[words[i].start() : words[j].end()], ids=(), start=words[i].start())
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


def _is_about_life(article: Article, term: Term) -> bool:
    box = article.infobox
    if box is not None and (box.binomial or box.classification):
        return True
    words = WHOLE_WORD.findall(term.definition)
    return bool(groups_in(words) or sense_words("life") & {word.lower() for word in words})
