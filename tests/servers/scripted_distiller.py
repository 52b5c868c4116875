"""A "model" that distils by a rule: it repeats the numbered sentences of its prompt with a colour word."""

import json
import re

from tests.servers.openai_server import Answer, Call, Reaction, text_of

COLOURS = re.compile(
    r"\b(?:black|white|grey|brown|red|orange|yellow|green|blue|purple|pink|buff|chestnut|rufous|olive)\w*", re.I
)
LINE = re.compile(r"^\[(\d+)\] (.+)$", re.MULTILINE)
N_SENTENCES = 5


def fenced_sentences(call: Call) -> list[tuple[int, str]]:
    """Return the numbered sentences that the first user message holds between its marks."""
    user = next(message for message in call.payload["messages"] if message["role"] == "user")
    opening, *_, closing = text_of(user).splitlines()
    assert opening.startswith("<<<")
    assert closing.startswith("<<<end of ")
    return [(int(number), text) for number, text in LINE.findall(text_of(user))]


def distil(call: Call) -> Reaction:
    """Return the first sentences with a colour word and their numbers; answer "ready" to other prompts."""
    if "<<<" not in call.text:
        return "ready"
    found = [(number, text) for number, text in fenced_sentences(call) if COLOURS.search(text)]
    found = [(number, text) for number, text in found if len(text.split()) <= 40][:N_SENTENCES]
    if "cannot be used" in call.text:  # after a complaint, drop the named statements, or the last one
        wrong = {int(place) for place in re.findall(r"^- statement (\d+)", call.text, re.MULTILINE)} or {len(found)}
        found = [item for place, item in enumerate(found, 1) if place not in wrong]
    return json.dumps({"statements": [{"text": text, "sentences": [number]} for number, text in found]})


def slowly(seconds: float, call: Call) -> Reaction:
    """Return the reaction of `distil` after a delay."""
    reaction = distil(call)
    assert isinstance(reaction, str)
    # About four characters a token, as real providers count English.
    return Answer(text=reaction, after_s=seconds, input_tokens=len(call.text) // 4, output_tokens=len(reaction) // 4)
