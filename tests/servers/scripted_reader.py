"""A "model" that reads photos by an arbitrary rule; its reply depends only on the bytes of the request."""

from __future__ import annotations

import hashlib
import json
import re

from tests.servers.openai_server import Answer, Call, Reaction

LABEL = re.compile(r"^([A-Z])\. ", re.MULTILINE)
IMAGE_TOKENS = 400


def read(call: Call) -> Reaction:
    """Return mostly the first label, sometimes the second, none or an unreadable reply; without labels, a name."""
    labels = LABEL.findall(call.text)
    number = int.from_bytes(hashlib.sha256(call.text.encode() + b"".join(call.images)).digest()[:4], "big")
    tokens = {"input_tokens": len(call.text) // 4 + IMAGE_TOKENS * len(call.images), "output_tokens": 30}
    if not labels:
        species = ("Corvus corax", "none", "Big Foot")[number % 3]
        return Answer(text=json.dumps({"reason": "by a rule", "species": species}), **tokens)
    if number % 20 == 0:
        return Answer(text="?", **tokens)
    answer = "none" if number % 20 == 1 else labels[number % 5 == 2 and len(labels) > 1]
    top = ((answer, -0.2), *((label, -2.0 - place) for place, label in enumerate(labels[:4]) if label != answer))
    return Answer(text=json.dumps({"reason": "by a rule", "answer": answer}), logprobs=((answer, -0.2, top),), **tokens)
