"""Reader that queries a knowledge base until a file appears: `read_pages.py DIR PHOTO STOP`.

The first line on stdout appears once reading has started. JSON follows: for each kind of query, every distinct answer
with its count, and the answers of a newly opened knowledge base.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import kb
import recognize
from data.contracts import Encoders
from kb.store.knowledge_base import KnowledgeBase
from tests.toy.encoders import toy_encoders

LONGEST_S = 1200


def queries_of(store: KnowledgeBase, encoders: Encoders, photo: str) -> dict[str, Callable[[], object]]:
    recognizer = recognize.Recognizer(store, encoders)
    space = store.info.text_image[0]
    return {
        "context": lambda: kb.context(store, "Bird 003 in amplexus", encoders.sentence).passage,
        "search": lambda: [
            (match.taxon_id, round(match.score, 4))
            for match in kb.search(store, "red crown and blue back", encoders.sentence, n=5)
        ],
        "identify": lambda: [
            (candidate.taxon_id, round(candidate.score, 4))
            for candidate in next(iter(recognizer.identify([photo]))).candidates
        ],
        "texts": lambda: store.chunk_texts(store.chunk_vectors(space).ids[:5]),
        "species": lambda: [entry.taxon.taxon_id for entry in store.species(store.taxon_ids)],
    }


def main(path: str, photo: str, stop: Path) -> None:
    encoders = toy_encoders()
    seen: dict[str, Counter[str]] = {}
    with kb.open(path) as store:
        query_functions = queries_of(store, encoders, photo)
        end = time.monotonic() + LONGEST_S
        while time.monotonic() < end:
            is_last = stop.exists()
            for kind, query in query_functions.items():
                seen.setdefault(kind, Counter())[json.dumps(query())] += 1
            if sum(seen["context"].values()) == 1:
                sys.stdout.write("reading\n")
                sys.stdout.flush()
            if is_last:
                break
    with kb.open(path) as store:
        again = {kind: json.dumps(query()) for kind, query in queries_of(store, encoders, photo).items()}
    sys.stdout.write(json.dumps({"seen": seen, "again": again}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
