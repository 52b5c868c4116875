"""Kinds of servers and models: some think first, some refuse forms of requests or ignore parts of them.

A kind changes the reactions of a script, so that every method can be tried with every kind.
"""

import json
import math
import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from tests.servers.openai_server import Answer, Call, Reaction, Script, Status

Thinking = Literal["", "tags", "closing tag", "field", "reasoning field", "hidden", "hidden, stop"]
Token = tuple[str, float, tuple[tuple[str, float], ...]]

# Drafts of answers that no parser may take for the answer.
DRAFT = 'Perhaps the answer is A. Or {"ranking": [9, 9], "answer": "A", "probability": 1}? 1. No 2. No Answer: No\n'


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of server."""

    name: str
    thinking: Thinking = ""
    """Where the thoughts are: in the text between tags, of which a template may open the first, in a field, or only in
    the count of tokens; `stop` is the reason to finish even where they leave no tokens for the answer."""
    n_thoughts: int = 600
    roles_alternate: bool = False
    system: Literal["anywhere", "first", "alternates", "never"] = "anywhere"
    """Where a system message is accepted; `alternates`: it breaks the alternation of user and assistant."""
    ignores_schema: bool = False
    ignores_logprobs: bool = False


KINDS = (
    Kind(name="plain"),
    *(Kind(name=f"thinks: {place}", thinking=place) for place in ("tags", "closing tag", "field", "reasoning field")),
    Kind(name="thinks hidden", thinking="hidden"),
    Kind(name="thinks hidden, stops", thinking="hidden, stop"),
    Kind(name="thinks long", thinking="tags", n_thoughts=2_500),
    Kind(name="roles alternate", roles_alternate=True),
    Kind(name="system message first", system="first"),
    Kind(name="no system message", system="never", roles_alternate=True),
    Kind(name="user and assistant alternate", system="alternates", roles_alternate=True),
    Kind(name="schema ignored", ignores_schema=True),
    Kind(name="logprobs ignored", ignores_logprobs=True),
    Kind(
        name="all at once", thinking="closing tag", n_thoughts=2_500, roles_alternate=True, system="never",
        ignores_schema=True, ignores_logprobs=True,
    ),
)  # fmt: skip


def as_kind(script: Script, kind: Kind) -> Script:
    """Return a script that reacts as a server of a kind."""

    def react(call: Call) -> Reaction:
        if problem := _refused(call.payload["messages"], kind):
            return Status(status=400, error={"message": problem})
        reaction = script(call)
        if isinstance(reaction, str):
            reaction = Answer(text=reaction)
        return _said(reaction, call, kind) if isinstance(reaction, Answer) else reaction

    return react


def _refused(messages: list[dict[str, Any]], kind: Kind) -> str:
    roles = [message["role"] for message in messages]
    if kind.system == "never" and "system" in roles:
        return "System role not supported"
    if kind.system == "first" and "system" in roles[1:]:
        return "System message must be at the beginning."
    if kind.system == "alternates" and any(role != ("user", "assistant")[i % 2] for i, role in enumerate(roles)):
        return "Conversation roles must alternate user/assistant/user/assistant/..."
    if kind.roles_alternate and any(one == other for one, other in pairwise(roles)):
        return "Conversation roles must alternate user/assistant/user/assistant/..."
    return ""


def _said(answer: Answer, call: Call, kind: Kind) -> Answer:
    """Return the answer after thoughts, cut off at the limit of the request."""
    text, tokens = answer.text or "", list(answer.logprobs)
    if kind.ignores_schema and _is_json(text):
        text, tokens = f"Here you are:\n```json\n{text}\n```\nI hope that this helps.", []
    tokens = tokens or _tokens(text)
    thoughts = _tokens(_thoughts(kind)) if kind.thinking else []
    n_all = len(thoughts) + len(tokens)
    limit = call.payload.get("max_tokens", call.payload.get("max_completion_tokens", n_all))
    before, after = thoughts[:limit], tokens[: max(0, limit - len(thoughts))]
    thought, said = ("".join(token for token, _, _ in part) for part in (before, after))
    if len(after) == len(tokens):
        said = text
    in_field = kind.thinking in ("field", "reasoning field")
    is_hidden = kind.thinking.startswith("hidden")
    usage = {"prompt_tokens": len(call.text.split()), "completion_tokens": min(n_all, limit)}
    details = {"completion_tokens_details": {"reasoning_tokens": len(before)}}
    name = {"field": "reasoning_content", "reasoning field": "reasoning"}.get(kind.thinking, "")
    return replace(
        answer,
        text=said if is_hidden else (said or None) if in_field else thought + said,
        finish="length" if n_all > limit and kind.thinking != "hidden, stop" else answer.finish,
        logprobs=() if kind.ignores_logprobs else tuple(after if is_hidden else before + after),
        output_tokens=min(n_all, limit),
        message={name: thought} if in_field else {},
        more={"usage": usage | details} if is_hidden else answer.more,
    )


def _thoughts(kind: Kind) -> str:
    words = (DRAFT * (kind.n_thoughts // len(DRAFT.split()) + 1)).split(" ")
    thoughts = " ".join(words[: kind.n_thoughts])
    if kind.thinking in ("field", "reasoning field"):
        return thoughts
    return f"{'<think>' if kind.thinking == 'tags' else ''}{thoughts} </think>\n\n"


def _tokens(text: str) -> list[Token]:
    words = re.findall(r"\s*\S+\s*$|\s*\S+", text)
    return [(word, math.log(0.9), ((word, math.log(0.9)),)) for word in words]


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
