"""A "model" that reads photos by a rule that has nothing to do with birds, for examples of mechanics, cost and votes.

What it says depends on the bytes that it is sent alone, so a run can be done again. Run by itself it is a server:
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
    """Return mostly the first label, at times the second, none, or nothing that can be read; a name without labels."""
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
    """Return what `read` does, `seconds` later."""
    time.sleep(seconds)
    return read(call)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=9010)
    parser.add_argument("--seconds", type=float, default=0.2, help="what each reply takes")
    options = parser.parse_args()
    with OpenAIServer(lambda call: slowly(options.seconds, call), port=options.port) as server:
        sys.stderr.write(f"{server.base_url}\n")
        try:
            while True:
                time.sleep(1)
        except KeyboardInterrupt:
            pass
