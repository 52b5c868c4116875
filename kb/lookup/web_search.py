"""Web search by a chat model with citations, such as Perplexity's Sonar."""

from __future__ import annotations

import re
from dataclasses import replace

from data.contracts import ChatModel
from data.event_loop import wait_for
from data.records import ChatMessage, ChatReply, ChatRequest, WebPassage
from kb.distill.sentences import split_sentences

MAX_PASSAGE_CHARACTERS = 4000
_MARK = re.compile(r"\s?\[(\d{1,3})\]")


class ChatWebSearch:
    """A `WebSearch` by a chat model with `citations` or `search_results` in its replies.

    Source:
        Divide and Conquer, section 3.1: context from Perplexity's Sonar. Differs: citations are kept, and sentences
        without one are dropped.

    Args:
        chat: search model, usually a `Connection` of `[llm.search]`, which caches replies.
    """

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    def search(self, question: str, *, n: int = 3) -> list[WebPassage]:
        """Return up to `n` passages, the model's answer first; empty if it cites no source.

        Raises:
            SourceError: if the provider failed.
        """
        request = ChatRequest(messages=(ChatMessage(role="user", text=question),))
        reply = wait_for(self._chat.reply(request))
        return _passages(reply, n)


def _passages(reply: ChatReply, n: int) -> list[WebPassage]:
    """Return the answer by cited source, then the quoted texts of the sources.

    A mark such as [2] cites the second source. An answer without marks is credited to the first source.
    """
    cited = reply.citations
    answers: dict[int, list[str]] = {}  # position of the source -> the sentences that cite it
    for span in split_sentences(reply.text):
        sentence = reply.text[span.start : span.end]
        numbers = [int(number) - 1 for number in _MARK.findall(sentence)]
        known = [number for number in numbers if 0 <= number < len(cited) and cited[number].source.url]
        if known:
            answers.setdefault(known[0], []).append(_MARK.sub("", sentence).strip())
    if not answers and not _MARK.search(reply.text) and cited and cited[0].source.url and reply.text.strip():
        answers[0] = [reply.text.strip()]
    credited = [WebPassage(text=" ".join(texts), source=cited[number].source) for number, texts in answers.items()]
    quoted = [passage for passage in cited if passage.text and passage.source.url]
    return [replace(found, text=found.text[:MAX_PASSAGE_CHARACTERS]) for found in (*credited, *quoted)][:n]
