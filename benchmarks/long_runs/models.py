"""Build from a stand-in wiki and a scripted model."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.long_runs.pages import pages
from benchmarks.long_runs.sampling import Sample
from tests.servers.openai_server import OpenAIServer
from tests.servers.scripted_distiller import slowly

REPLY_S = 2.0  # of the scripted model
AT_ONCE = 32


def models(args: argparse.Namespace, work: Path) -> list[Sample]:
    """Build `n` species from a stand-in wiki and a scripted model."""
    settings = work / "models.toml"
    with OpenAIServer(lambda call: slowly(REPLY_S, call)) as server:
        settings.write_text(
            f'[llm.text]\nmodel = "scripted"\nbase_url = "{server.base_url}"\nprice_in = 0.1\nprice_out = 0.4\n'
            f"max_concurrent = {AT_ONCE}\n"
        )
        more = ("--distiller", "model", "--settings", str(settings))
        return pages(args, work, *more, n_replies=lambda: server.n_calls)
