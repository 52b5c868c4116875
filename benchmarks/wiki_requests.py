"""Requests of a build of a whole wiki, counted by a proxy, without faults and with random faults.

python -m benchmarks.wiki_requests http://127.0.0.1:8099/api.php --seeds 8
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import kb
from kb.checklist.avilist import load_checklist
from kb.checklist.selection import select
from kb.http import RetryPolicy, Timeouts
from kb.sources.mediawiki.wiki_client import WikiClient
from kb.sources.mediawiki.wiki_source import WikipediaSource
from tests.servers.wiki_proxy import Rates, WikiProxy
from tests.toy.encoders import toy_encoders

FAULTS = Rates(busy=0.10, cut=0.05, stall=0.02, html=0.03, retry_after_s=(0, 0, 0, 1))


def build(proxy: WikiProxy, path: Path, *, is_hurried: bool = False) -> tuple[str, int, float]:
    """Return the digest, number of species and seconds of a build of all birds."""
    began = time.monotonic()
    waits = Timeouts(read_s=1.5, total_s=30) if is_hurried else None
    retry = RetryPolicy(first_wait_s=0.02) if is_hurried else None
    source = WikipediaSource(WikiClient(proxy.api_url, contact="you@example.org", timeouts=waits, retry=retry))
    birds = select(load_checklist(), "Aves")
    status = kb.build(path, birds, source, toy_encoders(), terms=[("Amplexus", None)])
    source.close()
    if status.failures:
        sys.stdout.write(f"{len(status.failures)} failures; the first: {status.failures[0]}\n")
    return kb.verify(path).digest, status.species, time.monotonic() - began


def counted(proxy: WikiProxy) -> str:
    """Return the proxy's counts, one per line."""
    api = [request for request in proxy.requests if request.kind == "api"]
    photos = [request for request in proxy.requests if request.kind == "photo"]
    agents = Counter(request.headers.get("User-Agent") for request in proxy.requests)
    titles = sorted((request.n_titles for request in api if request.n_titles > 1), reverse=True)
    lines = {
        "requests": f"{len(proxy.requests)}: {len(api)} to the API, {len(photos)} for photos",
        "most at once": proxy.most_at_once,
        "429 with Retry-After": proxy.faults()["busy"],
        "too early after a 429": len(proxy.too_early),
        "User-Agent": "; ".join(f"{agent} ({n})" for agent, n in agents.items()),
        "bodies": f"{len(proxy.bodies())}, fetched twice: {sum(n > 1 for n in proxy.bodies().values())}",
        "widths": dict(Counter(request.width_px for request in proxy.requests if request.width_px is not None)),
        "titles per call": titles,
        "maxlag": dict(Counter(request.fields.get("maxlag") for request in api)),
        "gzip accepted": sum("gzip" in request.headers.get("Accept-Encoding", "") for request in proxy.requests),
    }
    return "\n".join(f"{name:<21} {value}" for name, value in lines.items())


def main() -> None:
    """Print the counts, then a line for each seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("api_url", help="API of the wiki")
    parser.add_argument("--seeds", type=int, default=0, help="number of builds with random faults")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, WikiProxy(args.api_url).running() as proxy:
        proxy.begin(busy_at=frozenset({30, 200, 240}))
        digest, _, seconds = build(proxy, Path(folder, "whole.kb"))
        sys.stdout.write(f"{counted(proxy)}\nbuilt in              {seconds:.0f} s\n")
        for seed in range(args.seeds):
            proxy.begin(rates=FAULTS, seed=seed)
            found, species, seconds = build(proxy, Path(folder, f"{seed}.kb"), is_hurried=True)
            faults = ", ".join(f"{name} {n}" for name, n in sorted(proxy.faults().items()))
            sys.stdout.write(
                f"seed {seed}: {len(proxy.requests)} requests, {faults}; {species} species in {seconds:.0f} s,"
                f" digest {'equal' if found == digest else 'DIFFERENT'}, too early {len(proxy.too_early)}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
