"""Unfiltered texts of an article, for comparison: the whole article, or plain runs of words.

Source: VR-RAG, Table 5: a reader that gets raw articles or plain chunks of them names fewer birds than one that gets
summaries.
"""

from __future__ import annotations

import re

from data.records import Article, Span, Statement, Summary, Taxon
from kb.distill.fencing import numbered_article, one_line

WORDS_A_CHUNK = 50  # the paper gives no size; as many fit into CLIP's 77 tokens, most of the time
_WORD = re.compile(r"\S+")


class ArticleDistiller:
    """Takes the whole article, sentence by sentence, without galleries, references and sounds."""

    name = "article/1"

    def distil(self, article: Article, taxon: Taxon) -> Summary | None:
        """Return every sentence as a statement, or None for an article without any."""
        statements = tuple(
            Statement(text=sentence.text, evidence=sentence.spans) for sentence in numbered_article(article)
        )
        return _raw(statements, self.name)


class ChunksDistiller:
    """Cuts the article into runs of words of one length, wherever a sentence ends."""

    name = "chunks/1"

    def distil(self, article: Article, taxon: Taxon) -> Summary | None:
        """Return runs of 50 words as statements, or None for an article without any word."""
        words = [found.span() for found in _WORD.finditer(article.text)]
        runs = [words[i : i + WORDS_A_CHUNK] for i in range(0, len(words), WORDS_A_CHUNK)]
        spans = [Span(start=run[0][0], end=run[-1][1]) for run in runs]
        texts = [(one_line(article.text[span.start : span.end]), span) for span in spans]
        return _raw(tuple(Statement(text=text, evidence=(span,)) for text, span in texts if text), self.name)


def _raw(statements: tuple[Statement, ...], name: str) -> Summary | None:
    if not statements:
        return None
    return Summary(statements=statements, stage="summary", scope="article", distiller=name)
