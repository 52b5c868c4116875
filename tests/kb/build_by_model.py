"""Build of made-up birds with a language model, for tests that kill it: `build_by_model.py DIR URL CACHE N`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import kb
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.reply_cache import ReplyCache
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders

if __name__ == "__main__":
    path, url, cache, n = sys.argv[1:]
    endpoint = Endpoint(model="scripted", base_url=url, price_in=1.0, price_out=1.0, max_concurrent=4)
    with Connection(endpoint, cache=ReplyCache(Path(cache))) as chat:
        kb.build(path, made_up_taxa(int(n)), PageSource(), toy_encoders(), chat=chat)
