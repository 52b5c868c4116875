"""A "model" that reads photos by an arbitrary rule, for examples of mechanics, cost and agreement.

Its reply depends only on the bytes of the request, so runs are reproducible. As a program it is a server:
`python tests/servers/scripted_reader.py --port 9010 [--seconds 0.2]`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction

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


def slowly(seconds: float, call: Call) -> Reaction:
    """Return the reaction of `read` after a delay."""
    time.sleep(seconds)
    return read(call)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=9010)
    parser.add_argument("--seconds", type=float, default=0.2, help="seconds per reply")
    options = parser.parse_args()
    with OpenAIServer(lambda call: slowly(options.seconds, call), port=options.port) as server:
        sys.stderr.write(f"{server.base_url}\n")
        try:
            while True:
                time.sleep(1)
        except KeyboardInterrupt:
            pass
